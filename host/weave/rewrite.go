// SPDX-License-Identifier: Apache-2.0

package weave

// rewriter writes one function anew. Where the fuel is kept depends on the function:
//
//   - with loops or bulk instructions, in a local, which is spilled to the
//     global before each call and at the exit, and reloaded after each call;
//   - else in the global itself.
//
// The inserted code leaves the operand stack as it found it, so a function is
// valid after weaving if and only if it was before, given that its indices have
// been compared with the module as given. A block around the body takes the
// place of the function's label, which makes every way out pass the exit code.
type rewriter struct {
	a       *added
	m       *module
	p       *plan
	out     code
	charges []charge // still to come
	local   bool     // fuel is in a local
	stack   bool     // stack is accounted for: the function calls
	weight  int64    // bytes of stack
	fuel    uint32   // the local with the fuel
	length  uint32   // the local for a length or the stack
	depth   uint32   // blocks open within the function or the block around its body
	frames  []label  // of the blocks that the function itself opens
}

// label is where a block of the module as given went.
type label struct {
	depth uint32  // of the block, the function's own being 0
	slow  *charge // of a loop with the look outside
}

func (m *module) rewrite(i uint32, p *plan, a *added) []byte {
	body := m.bodies[i]
	w := &rewriter{
		a: a, m: m, p: p, charges: p.charges,
		out:    make(code, 0, len(body)+len(body)/4+64),
		local:  p.loops > 0 || p.bulk,
		stack:  p.calls,
		weight: frameBytes + 8*int64(p.locals) + int64(len(body))/4,
		fuel:   p.locals,
		length: p.locals,
	}
	t := m.types[m.funcs[i]]
	w.declarations(body)
	w.enter(t.results, m)
	w.instructions(body)
	w.leave()
	return w.out
}

func (w *rewriter) declarations(body []byte) {
	groups := w.p.groups
	var more []byte
	if w.local {
		groups++
		more = append(more, 1, typeI64)
		w.length++
	}
	if w.stack || w.p.bulk {
		groups++
		more = append(more, 1, typeI32)
	}
	w.out = appendU32(w.out, groups)
	w.out.op(body[w.p.groupsOff:w.p.code]...)
	w.out.op(more...)
}

// wrapped reports whether something must happen at the function's exit.
func (w *rewriter) wrapped() bool { return w.local || w.stack }

func (w *rewriter) enter(results []byte, m *module) {
	c := &w.out
	if w.stack {
		c.with(opGlobalGet, w.a.stack)
		c.i32(w.weight)
		c.op(opI32Sub)
		c.with(opLocalTee, w.length)
		c.with(opGlobalSet, w.a.stack)
		c.local(w.length)
		c.i32(0)
		c.op(opI32LtS, opIf, blockEmpty, opUnreachable, opEnd)
	}
	if w.local {
		c.with(opGlobalGet, w.a.fuel)
		c.with(opLocalSet, w.fuel)
	}
	if w.wrapped() {
		c.op(opBlock)
		w.out = m.blockType(w.out, results)
	}
}

func (w *rewriter) leave() {
	c := &w.out
	if w.wrapped() {
		c.op(opEnd)
		if w.local {
			w.spill()
		}
		if w.stack {
			c.with(opGlobalGet, w.a.stack)
			c.i32(w.weight)
			c.op(opI32Add)
			c.with(opGlobalSet, w.a.stack)
		}
	}
	c.op(opEnd)
}

// instructions copies everything but the function's last end.
func (w *rewriter) instructions(body []byte) {
	r := &reader{data: body, off: w.p.code}
	c := &w.out
	w.frames = append(w.frames, label{})
	var in instruction
	for {
		for len(w.charges) > 0 && w.charges[0].offset == r.off {
			w.charge(w.charges[0])
			w.charges = w.charges[1:]
		}
		r.next(&in)
		raw := body[in.start:in.end]
		switch in.op {
		case opLoop:
			w.loop(&in, raw)
		case opBlock, opIf:
			w.open(raw)
			w.frames = append(w.frames, label{depth: w.depth})
		case opEnd:
			last := len(w.frames) - 1
			f := w.frames[last]
			w.frames = w.frames[:last]
			if last == 0 {
				return
			}
			w.close()
			if f.slow != nil {
				w.endLoop(f.slow)
			}
		case opBr, opBrIf:
			c.with(in.op, w.label(in.index))
		case opBrTable:
			c.with(in.op, uint32(len(in.targets)-1))
			for _, t := range in.targets {
				*c = appendU32(*c, w.label(t))
			}
		case opReturn:
			if w.wrapped() {
				c.with(opBr, w.depth)
			} else {
				c.op(raw...)
			}
		case opCall, opCallInd:
			if w.local {
				w.spill()
			}
			c.op(raw...)
			if w.local {
				c.with(opGlobalGet, w.a.fuel)
				c.with(opLocalSet, w.fuel)
			}
		default:
			if shift, ok := in.bulk(); ok {
				w.bulk(&in, raw, shift)
			} else {
				c.op(raw...)
			}
		}
	}
}

func (w *rewriter) open(raw ...[]byte) {
	for _, b := range raw {
		w.out.op(b...)
		w.depth++
	}
}

func (w *rewriter) close() {
	w.out.op(opEnd)
	w.depth--
}

// label translates a label of the module as given.
func (w *rewriter) label(l uint32) uint32 {
	return w.depth - w.frames[uint32(len(w.frames))-1-l].depth
}

func (w *rewriter) spill() {
	w.out.local(w.fuel)
	w.out.with(opGlobalSet, w.a.fuel)
}

// get pushes the fuel.
func (w *rewriter) get() {
	if w.local {
		w.out.local(w.fuel)
	} else {
		w.out.with(opGlobalGet, w.a.fuel)
	}
}

// set pops the fuel.
func (w *rewriter) set() {
	if w.local {
		w.out.with(opLocalSet, w.fuel)
	} else {
		w.out.with(opGlobalSet, w.a.fuel)
	}
}

func (w *rewriter) charge(s charge) {
	w.get()
	w.out.i64(s.units)
	w.out.op(opI64Sub)
	if s.check {
		w.check(s.carry)
	} else {
		w.set()
	}
}

// check pops the new fuel, sets it, and begins the next slice if it is used up.
func (w *rewriter) check(carry []uint32) {
	c := &w.out
	if w.local {
		c.with(opLocalTee, w.fuel)
	} else {
		w.set()
		w.get()
	}
	c.i64(0)
	c.op(opI64LtS, opIf, blockEmpty)
	for _, l := range carry {
		w.carry(l)
	}
	w.get()
	c.with(opCall, w.a.yield)
	w.set()
	c.op(opEnd)
}

// bulk charges an instruction by the length on top of the stack, before it is
// executed. The length is below 1<<32 and the shift at most growShift, so no
// charge overflows; and since each is looked at once, charges don't add up.
func (w *rewriter) bulk(in *instruction, raw []byte, shift int) {
	c := &w.out
	c.with(opLocalTee, w.length)
	w.get()
	c.local(w.length, opI64ExtendU)
	switch {
	case shift > 0:
		c.i64(int64(shift))
		c.op(opI64Shl)
	case shift < 0:
		c.i64(int64(-shift))
		c.op(opI64ShrU)
	}
	c.op(opI64Sub)
	w.check(nil)

	if in.op != opMisc || in.sub != miscMemoryFill && in.sub != miscMemoryCopy {
		c.op(raw...)
		return
	}
	c.local(w.length)
	c.i32(chunkBytes)
	c.op(opI32GtU, opIf)
	w.out = appendS64(w.out, int64(w.a.bytesType))
	if in.sub == miscMemoryFill {
		c.with(opCall, w.a.fill)
	} else {
		c.with(opCall, w.a.copy)
	}
	c.op(opElse)
	c.op(raw...)
	c.op(opEnd)
}
