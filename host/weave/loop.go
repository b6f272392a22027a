// SPDX-License-Identifier: Apache-2.0

package weave

// loop opens a loop. A call in a loop, however rare, makes the loop slow: so
// the next slice begins outside of the loop, which is then entered again at its
// head, where it pays anew:
//
//	block $done
//	  loop $again
//	    block $slow
//	      loop
//	        fuel -= units; br_if $slow (fuel < 0)
//	        …
//	      end
//	      br $done
//	    end
//	    fuel = yield(fuel) + units
//	    br $again
//	  end
//	end
//
// A loop that takes values from the stack cannot be entered again like this; and
// in a function of very many loops it would take the engine long to compile.
func (w *rewriter) loop(in *instruction, raw []byte) {
	head := w.charges[0] // each loop has one
	w.charges = w.charges[1:]
	if w.p.loops > maxOutside {
		head.carry = nil
	}
	if w.p.loops > maxOutside || in.block >= 0 && len(w.m.types[in.block].params) > 0 {
		w.open(raw)
		w.frames = append(w.frames, label{depth: w.depth})
		w.charge(head)
		return
	}
	done := append([]byte{opBlock}, raw[1:]...)
	w.open(done, []byte{opLoop, blockEmpty}, []byte{opBlock, blockEmpty}, raw)
	w.frames = append(w.frames, label{depth: w.depth, slow: &head})
	c := &w.out
	w.get()
	c.i64(head.units)
	c.op(opI64Sub)
	c.with(opLocalTee, w.fuel)
	c.i64(0)
	c.op(opI64LtS)
	c.with(opBrIf, 1)
}

// endLoop is what follows the end of a loop that was opened with its slow path outside.
func (w *rewriter) endLoop(head *charge) {
	c := &w.out
	c.with(opBr, 2)
	w.close()
	for _, l := range head.carry {
		w.carry(l)
	}
	// Giving the units back before the call would hide that they weren't covered.
	w.get()
	c.with(opCall, w.a.yield)
	c.i64(head.units)
	c.op(opI64Add)
	w.set()
	c.with(opBr, 0)
	w.close()
	c.op(opUnreachable)
	w.close()
}

// carry makes a local a new value before a call. What it held is then not alive
// over the call: wazero would otherwise store every local that changes from one
// iteration to the next into the stack frame in each iteration, since the rare
// call might need it [measured: a loop over bytes took twice the time].
func (w *rewriter) carry(l uint32) {
	c := &w.out
	switch w.p.types[l] {
	case typeI32:
		c.local(l)
		c.i32(0)
		c.op(opI32Or)
	case typeI64:
		c.local(l)
		c.i64(0)
		c.op(opI64Or)
	case typeF32:
		c.local(l)
		c.local(l, opF32Copysign)
	case typeF64:
		c.local(l)
		c.local(l, opF64Copysign)
	default:
		return
	}
	c.with(opLocalSet, l)
}
