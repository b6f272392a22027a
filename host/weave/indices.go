// SPDX-License-Identifier: Apache-2.0

package weave

// indices compares an instruction's indices with the module as given.
func (p *planner) indices(in *instruction) {
	m, r := p.m, p.r
	if in.usesMemory() {
		// Loads and stores have no memory index here, and index2 stands only with memory.copy.
		i := in.index
		if in.op == opMisc && in.sub == miscMemoryInit {
			i = in.index2
		}
		m.checkMemory(r, i)
	}
	switch in.op {
	case opBlock, opLoop, opIf:
		p.blockType(in.block)
	case opCall, opRefFunc:
		m.checkFunction(r, in.index)
	case opCallInd:
		m.checkType(r, in.index)
		m.checkTable(r, in.index2)
	case opLocalGet, opLocalSet, opLocalTee:
		if in.index >= p.plan.locals {
			r.fail("local index: want less than %d, got %d", p.plan.locals, in.index)
		}
	case opGlobalGet, opGlobalSet:
		m.checkGlobal(r, in.index)
	case opTableGet, opTableSet:
		m.checkTable(r, in.index)
	case opMisc:
		switch in.sub {
		case miscMemoryInit, miscDataDrop:
			m.checkData(r, in.index)
		case miscMemoryCopy:
			m.checkMemory(r, in.index2)
		case miscTableInit:
			m.checkElement(r, in.index)
			m.checkTable(r, in.index2)
		case miscElemDrop:
			m.checkElement(r, in.index)
		case miscTableCopy:
			m.checkTable(r, in.index)
			m.checkTable(r, in.index2)
		case miscTableGrow, miscTableSize, miscTableFill:
			m.checkTable(r, in.index)
		}
	}
}

func (p *planner) blockType(t int64) {
	switch {
	case t >= 0:
		p.m.checkType(p.r, uint32(min(t, 1<<32-1)))
	case t == -0x40: // no result
	case t < -0x40:
		p.r.fail("block type %d is not allowed", t)
	default:
		p.r.valueType(byte(t & 0x7f))
	}
}
