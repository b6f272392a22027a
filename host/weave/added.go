// SPDX-License-Identifier: Apache-2.0

package weave

// This file holds the functions that the weaver adds to a module. They stand
// at the end of the function index space, so no index of the module shifts.

// code is a function body under construction.
type code []byte

func (c *code) op(ops ...byte)              { *c = append(*c, ops...) }
func (c *code) with(op byte, i uint32)      { *c = appendU32(append(*c, op), i) }
func (c *code) i32(x int64)                 { *c = appendS64(append(*c, opI32Const), x) }
func (c *code) i64(x int64)                 { *c = appendS64(append(*c, opI64Const), x) }
func (c *code) misc(sub, a, b uint32)       { *c = appendU32(appendU32(append(*c, opMisc, byte(sub)), a), b) }
func (c *code) fill()                       { *c = append(*c, opMisc, miscMemoryFill, 0) }
func (c *code) safepoint()                  { c.i32(0); c.op(opMemoryGrow, 0, opDrop) }
func (c *code) local(l uint32, ops ...byte) { c.with(opLocalGet, l); c.op(ops...) }

// added holds the indices of what the weaver adds.
type added struct {
	fuel, budget, stack  uint32 // globals
	yield, fill, copy    uint32 // functions
	yieldType, bytesType uint32 // types of yield, and of fill and copy
}

func (m *module) added() added {
	funcs := uint32(len(m.imports) + len(m.funcs))
	return added{
		fuel: m.globals, budget: m.globals + 1, stack: m.globals + 2,
		yield: funcs, fill: funcs + 1, copy: funcs + 2,
		yieldType: uint32(len(m.types)), bytesType: uint32(len(m.types)) + 1,
	}
}

const addedTypeCount = 2

// addedTypes are (i64) -> i64 and (i32, i32, i32) -> ().
var addedTypes = []byte{
	0x60, 1, typeI64, 1, typeI64,
	0x60, 3, typeI32, typeI32, typeI32, 0,
}

// yieldBody is called with negative fuel and returns the fuel of the next slice:
//
//	memory.grow(0)
//	left = fuel + budget
//	if left < 0 { $fuel, $budget = -1, 0; unreachable }
//	fuel = min(left, SliceUnits)
//	$budget = left - fuel
//	return fuel
//
// The caller keeps the result in its local, hence $fuel is written only at the end of all fuel.
func (a *added) yieldBody() code {
	const fuel, left = 0, 1
	var c code
	c.op(1, 1, typeI64)
	c.safepoint()
	c.local(fuel)
	c.with(opGlobalGet, a.budget)
	c.op(opI64Add)
	c.with(opLocalTee, left)
	c.i64(0)
	c.op(opI64LtS, opIf, blockEmpty)
	c.i64(-1)
	c.with(opGlobalSet, a.fuel)
	c.i64(0)
	c.with(opGlobalSet, a.budget)
	c.op(opUnreachable, opEnd)
	c.local(left)
	c.i64(SliceUnits)
	c.local(left)
	c.i64(SliceUnits)
	c.op(opI64LtS, opSelect)
	c.with(opLocalSet, fuel)
	c.local(left)
	c.local(fuel, opI64Sub)
	c.with(opGlobalSet, a.budget)
	c.local(fuel, opEnd)
	return c
}

// Parameters and locals of fill and copy.
const (
	argTo   = 0
	argFrom = 1 // of fill: the value
	argLen  = 2
)

// outside pushes whether [arg, arg+len) leaves the memory.
func (c *code) outside(arg uint32) {
	c.local(arg, opI64ExtendU)
	c.local(argLen, opI64ExtendU, opI64Add)
	c.op(opMemorySize, 0, opI64ExtendU)
	c.i64(16)
	c.op(opI64Shl, opI64GtU)
}

// advance adds chunkBytes (or takes it from) a local.
func (c *code) advance(op byte, l uint32) {
	c.local(l)
	c.i32(chunkBytes)
	c.op(op)
	c.with(opLocalSet, l)
}

// fillBody is memory.fill with a safepoint after each chunk:
//
//	if to+len > size { memory.fill(to, value, len) } // traps before it writes
//	for len > chunk { memory.fill(to, value, chunk); to += chunk; len -= chunk; memory.grow(0) }
//	memory.fill(to, value, len)
func (a *added) fillBody() code {
	var c code
	whole := func() {
		c.local(argTo)
		c.local(argFrom)
		c.local(argLen)
		c.fill()
	}
	c.op(0)
	c.outside(argTo)
	c.op(opIf, blockEmpty)
	whole()
	c.op(opEnd)
	c.op(opBlock, blockEmpty, opLoop, blockEmpty)
	c.doneIfLast()
	c.local(argTo)
	c.local(argFrom)
	c.i32(chunkBytes)
	c.fill()
	c.advance(opI32Add, argTo)
	c.advance(opI32Sub, argLen)
	c.safepoint()
	c.op(opBr, 0, opEnd, opEnd)
	whole()
	c.op(opEnd)
	return c
}

// doneIfLast leaves the block around the loop when one chunk is left.
func (c *code) doneIfLast() {
	c.local(argLen)
	c.i32(chunkBytes)
	c.op(opI32LeU, opBrIf, 1)
}

// copyBody is memory.copy with a safepoint after each chunk. Where the ranges
// overlap, the order of the chunks matters:
//
//	if to+len > size || from+len > size { memory.copy(to, from, len) } // traps before it writes
//	if to <= from {
//		for len > chunk { memory.copy(to, from, chunk); to += chunk; from += chunk; len -= chunk; memory.grow(0) }
//	} else {
//		for len > chunk { len -= chunk; memory.copy(to+len, from+len, chunk); memory.grow(0) }
//	}
//	memory.copy(to, from, len)
func (a *added) copyBody() code {
	var c code
	whole := func() {
		c.local(argTo)
		c.local(argFrom)
		c.local(argLen)
		c.misc(miscMemoryCopy, 0, 0)
	}
	c.op(0)
	c.outside(argTo)
	c.outside(argFrom)
	c.op(opI32Or, opIf, blockEmpty)
	whole()
	c.op(opEnd)
	c.local(argTo)
	c.local(argFrom, opI32LeU)
	c.op(opIf, blockEmpty)

	c.op(opBlock, blockEmpty, opLoop, blockEmpty)
	c.doneIfLast()
	c.local(argTo)
	c.local(argFrom)
	c.i32(chunkBytes)
	c.misc(miscMemoryCopy, 0, 0)
	c.advance(opI32Add, argTo)
	c.advance(opI32Add, argFrom)
	c.advance(opI32Sub, argLen)
	c.safepoint()
	c.op(opBr, 0, opEnd, opEnd)

	c.op(opElse)
	c.op(opBlock, blockEmpty, opLoop, blockEmpty)
	c.doneIfLast()
	c.advance(opI32Sub, argLen)
	c.local(argTo)
	c.local(argLen, opI32Add)
	c.local(argFrom)
	c.local(argLen, opI32Add)
	c.i32(chunkBytes)
	c.misc(miscMemoryCopy, 0, 0)
	c.safepoint()
	c.op(opBr, 0, opEnd, opEnd)
	c.op(opEnd)

	whole()
	c.op(opEnd)
	return c
}
