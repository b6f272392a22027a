// SPDX-License-Identifier: Apache-2.0

package weave

// Opcodes that the weaver looks at or emits.
const (
	opUnreachable byte = 0x00
	opNop         byte = 0x01
	opBlock       byte = 0x02
	opLoop        byte = 0x03
	opIf          byte = 0x04
	opElse        byte = 0x05
	opEnd         byte = 0x0b
	opBr          byte = 0x0c
	opBrIf        byte = 0x0d
	opBrTable     byte = 0x0e
	opReturn      byte = 0x0f
	opCall        byte = 0x10
	opCallInd     byte = 0x11
	opDrop        byte = 0x1a
	opSelect      byte = 0x1b
	opSelectType  byte = 0x1c
	opLocalGet    byte = 0x20
	opLocalSet    byte = 0x21
	opLocalTee    byte = 0x22
	opGlobalGet   byte = 0x23
	opGlobalSet   byte = 0x24
	opTableGet    byte = 0x25
	opTableSet    byte = 0x26
	opLoadFirst   byte = 0x28
	opLoadLast    byte = 0x35
	opStoreLast   byte = 0x3e
	opMemorySize  byte = 0x3f
	opMemoryGrow  byte = 0x40
	opI32Const    byte = 0x41
	opI64Const    byte = 0x42
	opF32Const    byte = 0x43
	opF64Const    byte = 0x44
	opNumFirst    byte = 0x45
	opI32LtS      byte = 0x48
	opI32LtU      byte = 0x49
	opI32GtU      byte = 0x4b
	opI32LeU      byte = 0x4d
	opI64LtS      byte = 0x53
	opI64GtU      byte = 0x56
	opI32Add      byte = 0x6a
	opI32Sub      byte = 0x6b
	opI32Or       byte = 0x72
	opI64Add      byte = 0x7c
	opI64Sub      byte = 0x7d
	opI64Mul      byte = 0x7e
	opI64Or       byte = 0x84
	opI64Shl      byte = 0x86
	opI64ShrU     byte = 0x88
	opF32Copysign byte = 0x98
	opF64Copysign byte = 0xa6
	opI64ExtendU  byte = 0xad
	opNumLast     byte = 0xc4
	opRefNull     byte = 0xd0
	opRefIsNull   byte = 0xd1
	opRefFunc     byte = 0xd2
	opMisc        byte = 0xfc
	opVector      byte = 0xfd

	blockEmpty byte = 0x40
)

// Instructions behind opMisc and opVector.
const (
	miscTruncLast  = 7
	miscMemoryInit = 8
	miscDataDrop   = 9
	miscMemoryCopy = 10
	miscMemoryFill = 11
	miscTableInit  = 12
	miscElemDrop   = 13
	miscTableCopy  = 14
	miscTableGrow  = 15
	miscTableSize  = 16
	miscTableFill  = 17

	vecConst = 12
	vecLast  = 255 // relaxed SIMD, which is not deterministic, begins after it
)

// instruction is one decoded instruction; data[start:end] are its bytes.
type instruction struct {
	start, end int
	op         byte
	sub        uint32   // behind opMisc or opVector
	index      uint32   // label, function, type, local, global, table or segment
	index2     uint32   // second table or memory
	block      int64    // block type: negative for a value type or none, else a type index
	targets    []uint32 // labels of a br_table, the default last; reused by the next decode
}

// next decodes one instruction. What it doesn't know, it refuses.
func (r *reader) next(in *instruction) {
	in.start = r.off
	in.op, in.sub, in.index, in.index2, in.targets = r.byte(), 0, 0, 0, in.targets[:0]
	switch op := in.op; {
	case op == opBlock || op == opLoop || op == opIf:
		in.block = r.s33()
	case op == opBr || op == opBrIf || op == opCall || op == opRefFunc:
		in.index = r.u32()
	case op >= opLocalGet && op <= opTableSet:
		in.index = r.u32()
	case op >= opLoadFirst && op <= opStoreLast:
		r.memoryArgument()
	case op >= opNumFirst && op <= opNumLast:
	case op == opI32Const:
		r.skipLEB(5)
	case op == opI64Const:
		r.skipLEB(10)
	case op == opF32Const:
		r.bytes(4)
	case op == opF64Const:
		r.bytes(8)
	case op == opBrTable:
		n := r.count("br_table")
		for i := uint32(0); i <= n && r.err == nil; i++ {
			in.targets = append(in.targets, r.u32())
		}
	case op == opCallInd:
		in.index = r.u32()
		in.index2 = r.u32()
	case op == opSelectType:
		for _, t := range r.bytes(r.count("select")) {
			r.valueType(t)
		}
	case op == opMemorySize || op == opMemoryGrow:
		in.index = uint32(r.byte())
	case op == opRefNull:
		r.byte()
	case op == opMisc:
		r.misc(in)
	case op == opVector:
		r.vector(in)
	default:
		switch op {
		case opUnreachable, opNop, opElse, opEnd, opReturn, opDrop, opSelect, opRefIsNull:
		default:
			r.fail("instruction %#x is not allowed (exceptions, tail calls, GC and threads are off)", op)
		}
	}
	in.end = r.off
}

func (r *reader) memoryArgument() {
	if align := r.u32(); align >= 0x40 {
		r.fail("memory argument: alignment %#x is not allowed (multi-memory is off)", align)
	}
	r.skipLEB(5)
}

func (r *reader) misc(in *instruction) {
	in.sub = r.u32()
	switch {
	case in.sub <= miscTruncLast:
	case in.sub == miscMemoryInit || in.sub == miscMemoryCopy || in.sub == miscTableInit || in.sub == miscTableCopy:
		in.index = r.u32()
		in.index2 = r.u32()
	case in.sub <= miscTableFill:
		in.index = r.u32()
	default:
		r.fail("instruction 0xfc %d is not allowed", in.sub)
	}
}

func (r *reader) vector(in *instruction) {
	in.sub = r.u32()
	switch s := in.sub; {
	case s <= 11 || s == 92 || s == 93: // loads and stores
		r.memoryArgument()
	case s == vecConst || s == 13: // v128.const, i8x16.shuffle
		r.bytes(16)
	case s >= 21 && s <= 34: // lanes
		r.byte()
	case s >= 84 && s <= 91: // loads and stores of a lane
		r.memoryArgument()
		r.byte()
	case s > vecLast:
		r.fail("instruction 0xfd %d is not allowed (relaxed SIMD is off)", s)
	}
}

func (in *instruction) loadsVector() bool {
	return in.sub <= 10 || in.sub >= 84 && in.sub <= 87 || in.sub == 92 || in.sub == 93
}

// usesMemory reports whether the instruction reads or writes memory, or asks for its size.
func (in *instruction) usesMemory() bool {
	switch {
	case in.op >= opLoadFirst && in.op <= opMemoryGrow:
		return true
	case in.op == opMisc:
		return in.sub == miscMemoryInit || in.sub == miscMemoryCopy || in.sub == miscMemoryFill
	case in.op == opVector:
		return in.sub <= 11 || in.sub >= 84 && in.sub <= 93
	}
	return false
}

// bulk returns how to turn the instruction's last operand, a length, into
// units: 1<<shift units for each of its items, or one for each 1<<-shift.
func (in *instruction) bulk() (shift int, ok bool) {
	if in.op == opMemoryGrow {
		return growShift, true
	}
	if in.op != opMisc {
		return 0, false
	}
	switch in.sub {
	case miscMemoryInit, miscMemoryCopy, miscMemoryFill:
		return -byteShift, true
	case miscTableInit, miscTableCopy, miscTableGrow, miscTableFill:
		return 0, true
	}
	return 0, false
}

// cost is the instruction's fixed price in units; bulk instructions pay by length as well.
func (in *instruction) cost() int64 {
	if in.op >= opLoadFirst && in.op <= opLoadLast || in.op == opVector && in.loadsVector() {
		return loadUnits
	}
	switch in.op {
	case opBlock, opElse, opEnd, opNop:
		return 0 // no machine code of their own
	case opCall, opCallInd:
		return callUnits
	case opBrTable:
		return 2
	case opMemoryGrow, opRefFunc:
		return leaveUnits
	case opMisc:
		switch in.sub {
		case miscTableGrow:
			return leaveUnits
		case miscMemoryInit, miscMemoryCopy, miscMemoryFill:
			return 2 * loadUnits
		}
	}
	return 1
}
