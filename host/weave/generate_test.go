// SPDX-License-Identifier: Apache-2.0

package weave_test

import (
	"encoding/binary"
	"math/rand/v2"
)

// generator makes valid modules of random control flow over little state. All
// functions have the type (i32, i32) -> (i32) and may call those after them.
//
//	locals   0, 1 parameters; 2, 3 i32; 4 i64; 5 f64; 6 and on: loop counters
//	globals  0 i32, 1 i64
type generator struct {
	rnd    *rand.Rand
	out    []byte
	fn     int // the function under construction
	funcs  int
	labels []byte // what each open label takes: 0 nothing, 1 an i32
	loops  int    // loops around this place
	used   int    // loop counters used
}

const (
	counters    = 12
	firstCount  = 6
	typeFunc    = 0 // (i32, i32) -> (i32)
	typeLoop    = 1 // (i32) -> (i32), of a loop that takes a value
	typePair    = 2 // () -> (i32, i32)
	pagesAtMost = 3
)

func (g *generator) op(b ...byte)            { g.out = append(g.out, b...) }
func (g *generator) pick(n int) int          { return g.rnd.IntN(n) }
func (g *generator) chance(percent int) bool { return g.pick(100) < percent }

func (g *generator) u32(x uint32) {
	for ; x >= 0x80; x >>= 7 {
		g.op(byte(x) | 0x80)
	}
	g.op(byte(x))
}

func (g *generator) i32const(x int32) {
	g.op(0x41)
	for v := int64(x); ; {
		b := byte(v & 0x7f)
		if v >>= 7; v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			g.op(b)
			return
		}
		g.op(b | 0x80)
	}
}

// expr pushes an i32.
func (g *generator) expr(depth int) {
	if depth <= 0 {
		switch g.pick(4) {
		case 0:
			g.i32const(int32(g.rnd.Uint32()) >> g.pick(32))
		case 1:
			g.op(0x23, 0)
		default:
			g.op(0x20, byte(g.pick(4)))
		}
		return
	}
	switch g.pick(14) {
	case 0, 1, 2, 3: // an operator; some divide by zero
		ops := []byte{0x6a, 0x6b, 0x6c, 0x71, 0x72, 0x73, 0x74, 0x76, 0x77, 0x48, 0x4d, 0x46, 0x6e, 0x70}
		g.expr(depth - 1)
		g.expr(depth - 1)
		i := g.pick(len(ops))
		if i >= 12 && g.chance(90) {
			i = 0
		}
		g.op(ops[i])
	case 4: // load
		g.address(depth - 1)
		g.op([]byte{0x28, 0x2d, 0x2e}[g.pick(3)], 0, byte(g.pick(16)))
	case 5:
		g.expr(depth - 1)
		g.op(0x22, byte(g.pick(4)))
	case 6: // if with a value
		g.expr(depth - 1)
		g.op(0x04, 0x7f)
		g.labels = append(g.labels, 1)
		g.stmts(depth - 2)
		g.expr(depth - 1)
		g.op(0x05)
		g.expr(depth - 1)
		g.end()
	case 7: // block with a value, left early or not
		g.op(0x02, 0x7f)
		g.labels = append(g.labels, 1)
		g.expr(depth - 1)
		g.expr(depth - 1)
		g.op(0x0d, 0)
		g.stmts(depth - 2)
		g.end()
	case 8:
		g.op(0x20, 4, 0xa7) // i64
	case 9:
		g.op(0x20, 5, 0xfc, 0x02) // f64
	case 10:
		if g.fn+1 < g.funcs && g.loops < 2 {
			g.expr(depth - 2)
			g.expr(depth - 2)
			g.op(0x10)
			g.u32(uint32(g.fn + 1 + g.pick(g.funcs-g.fn-1)))
		} else {
			g.op(0x3f, 0)
		}
	case 11: // call_indirect to a later function; sometimes out of the table
		if g.fn+1 < g.funcs && g.loops < 1 {
			g.expr(depth - 2)
			g.expr(depth - 2)
			i := g.fn + 1 + g.pick(g.funcs-g.fn-1)
			if g.chance(2) {
				i = 99
			}
			g.i32const(int32(i))
			g.op(0x11, typeFunc, 0)
		} else {
			g.expr(depth - 1)
			g.op(0x45)
		}
	case 12: // two results
		g.op(0x02, typePair)
		g.labels = append(g.labels, 2)
		g.expr(depth - 2)
		g.expr(depth - 2)
		g.end()
		g.op(0x6a)
	default:
		g.loopWithValue(depth)
	}
}

// address pushes one that is mostly inside memory.
func (g *generator) address(depth int) {
	g.expr(depth)
	if g.chance(97) {
		g.i32const(0xffff)
		g.op(0x71)
	}
}

func (g *generator) end() {
	g.op(0x0b)
	g.labels = g.labels[:len(g.labels)-1]
}

// loopWithValue takes a value from the stack and is entered again with another.
func (g *generator) loopWithValue(depth int) {
	c, ok := g.counter()
	if !ok {
		g.expr(depth - 1)
		return
	}
	g.expr(depth - 2)
	g.op(0x03, typeLoop)
	g.labels = append(g.labels, 3) // a branch from inside would never end
	g.expr(depth - 2)
	g.op(0x6a)
	g.step(c)
	g.op(0x0d, 0)
	g.end()
	g.loops--
}

// counter sets a fresh loop counter to a small number.
func (g *generator) counter() (byte, bool) {
	if g.used >= counters || g.loops >= 3 {
		return 0, false
	}
	c := byte(firstCount + g.used)
	g.used++
	g.loops++
	g.i32const(int32(1 + g.pick(5)))
	g.op(0x21, c)
	return c, true
}

// step counts down and pushes whether to go on.
func (g *generator) step(c byte) {
	g.op(0x20, c)
	g.i32const(1)
	g.op(0x6b, 0x22, c)
	g.i32const(0)
	g.op(0x4a) // gt_s
}

func (g *generator) stmts(depth int) {
	for range 1 + g.pick(3) {
		g.stmt(depth)
	}
}

func (g *generator) stmt(depth int) {
	if depth <= 0 {
		g.expr(0)
		g.op(0x21, byte(g.pick(4)))
		return
	}
	switch g.pick(16) {
	case 0, 1, 2:
		g.expr(depth)
		g.op(0x21, byte(g.pick(4)))
	case 3:
		g.expr(depth)
		g.op(0x24, 0)
	case 4:
		g.address(depth - 1)
		g.expr(depth - 1)
		g.op([]byte{0x36, 0x3a}[g.pick(2)], 0, 0)
	case 5:
		g.expr(depth)
		g.op(0x04, 0x40)
		g.labels = append(g.labels, 0)
		g.stmts(depth - 1)
		if g.chance(50) {
			g.op(0x05)
			g.stmts(depth - 1)
		}
		g.end()
	case 6, 7: // loop
		c, ok := g.counter()
		if !ok {
			g.op(0x01)
			return
		}
		g.op(0x02, 0x40)
		g.labels = append(g.labels, 0)
		g.op(0x03, 0x40)
		g.labels = append(g.labels, 3)
		g.stmts(depth - 1)
		g.step(c)
		g.op(0x0d, 0)
		g.end()
		g.end()
		g.loops--
	case 8:
		g.op(0x02, 0x40)
		g.labels = append(g.labels, 0)
		g.stmts(depth - 1)
		g.end()
	case 9, 10:
		g.branch(depth)
	case 11: // i64 and f64
		g.op(0x20, 4)
		g.expr(depth - 1)
		g.op(0xac, 0x7c, 0x22, 4, 0x24, 1)
		g.op(0x20, 5, 0x20, 4, 0xb9, 0xa0, 0x21, 5)
	case 12: // fill or copy
		g.address(depth - 2)
		g.expr(depth - 2)
		if copying := g.chance(50); copying {
			g.i32const(0x7fff)
			g.op(0x71)
			g.length()
			g.op(0xfc, 10, 0, 0)
		} else {
			g.length()
			g.op(0xfc, 11, 0)
		}
	case 13:
		g.i32const(int32(g.pick(2)))
		g.op(0x40, 0, 0x24, 0)
	case 14:
		g.table(depth)
	default:
		g.op(0x01)
	}
}

func (g *generator) length() {
	g.expr(0)
	g.i32const(0x3ff)
	g.op(0x71)
}

// branch leaves a block or the function, mostly under a condition. What stands
// behind an unconditional one is never executed, but must be valid.
func (g *generator) branch(depth int) {
	if g.chance(10) {
		g.expr(depth - 1)
		g.op(0x0f)
		g.op(0x41, 0, 0x1a)
		return
	}
	l := g.pick(len(g.labels))
	switch g.labels[len(g.labels)-1-l] {
	case 0:
		g.expr(depth - 1)
		g.op(0x0d)
		g.u32(uint32(l))
	case 1:
		g.expr(depth - 1)
		g.expr(depth - 1)
		g.op(0x0d)
		g.u32(uint32(l))
		g.op(0x1a)
	}
}

// table is a br_table in nested blocks, with arms that fall through.
func (g *generator) table(depth int) {
	n := 1 + g.pick(4)
	for range n {
		g.op(0x02, 0x40)
		g.labels = append(g.labels, 0)
	}
	g.expr(depth - 1)
	g.op(0x0e)
	g.u32(uint32(n - 1))
	for range n {
		g.u32(uint32(g.pick(n)))
	}
	for range n {
		g.end()
		g.stmt(depth - 1)
	}
}

func (g *generator) body(depth int) []byte {
	g.out, g.labels, g.loops, g.used = nil, []byte{1}, 0, 0
	g.op(4, 2, 0x7f, 1, 0x7e, 1, 0x7c, counters, 0x7f)
	for range 1 + g.pick(4) {
		g.stmts(depth)
	}
	g.expr(depth)
	g.op(0x0b)
	return g.out
}

// generate makes a module that exports function 0 as "run" and its state.
func generate(seed uint64) []byte {
	g := &generator{rnd: rand.New(rand.NewPCG(seed, 1))}
	g.funcs = 1 + g.pick(5)
	var code []byte
	for g.fn = range g.funcs {
		b := g.body(2 + g.pick(3))
		code = append(binary.AppendUvarint(code, uint64(len(b))), b...)
	}
	count := byte(g.funcs)
	repeat := func(b byte) []byte {
		list := make([]byte, g.funcs)
		for i := range list {
			list[i] = b * byte(i)
		}
		return list
	}
	wasm := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, parts ...[]byte) {
		var content []byte
		for _, p := range parts {
			content = append(content, p...)
		}
		wasm = append(binary.AppendUvarint(append(wasm, id), uint64(len(content))), content...)
	}
	section(1, []byte("\x03\x60\x02\x7f\x7f\x01\x7f\x60\x01\x7f\x01\x7f\x60\x00\x02\x7f\x7f"))
	section(3, []byte{count}, repeat(0))
	section(4, []byte{1, 0x70, 0, 10})
	section(5, []byte{1, 1, 1, pagesAtMost})
	section(6, []byte("\x02\x7f\x01\x41\x05\x0b\x7e\x01\x42\x00\x0b"))
	section(7, []byte("\x04\x03run\x00\x00\x06memory\x02\x00\x01a\x03\x00\x01b\x03\x01"))
	section(9, []byte{1, 0, 0x41, 0, 0x0b, count}, repeat(1))
	section(10, []byte{count}, code)
	return wasm
}
