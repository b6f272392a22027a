// SPDX-License-Identifier: Apache-2.0

package weave

import "fmt"

// Value types of the binary format.
const (
	typeI32       byte = 0x7f
	typeI64       byte = 0x7e
	typeF32       byte = 0x7d
	typeF64       byte = 0x7c
	typeV128      byte = 0x7b
	typeFuncref   byte = 0x70
	typeExternref byte = 0x6f
)

// The checks in this file compare indices with the module as given. Without
// them weaving would make an invalid module valid: what the weaver adds stands
// just past the last index of each kind, so `global.set N` would reach the fuel.

func (m *module) checkType(r *reader, i uint32) {
	if r.err == nil && uint64(i) >= uint64(len(m.types)) {
		r.fail("type index: want less than %d, got %d", len(m.types), i)
	}
}

func (m *module) checkFunction(r *reader, i uint32) {
	if n := len(m.imports) + len(m.funcs); r.err == nil && uint64(i) >= uint64(n) {
		r.fail("function index: want less than %d, got %d", n, i)
	}
}

func (m *module) checkTable(r *reader, i uint32) {
	if r.err == nil && uint64(i) >= uint64(len(m.tables)) {
		r.fail("table index: want less than %d, got %d", len(m.tables), i)
	}
}

func (m *module) checkMemory(r *reader, i uint32) {
	switch {
	case r.err != nil:
	case m.memory == nil:
		r.fail("memory index: the module has no memory, got %d", i)
	case i != 0:
		r.fail("memory index: want 0, got %d (multi-memory is off)", i)
	}
}

func (m *module) checkGlobal(r *reader, i uint32) {
	if r.err == nil && i >= m.globals {
		r.fail("global index: want less than %d, got %d", m.globals, i)
	}
}

func (m *module) checkElement(r *reader, i uint32) {
	if r.err == nil && i >= m.elements {
		r.fail("element segment: want less than %d, got %d", m.elements, i)
	}
}

func (m *module) checkData(r *reader, i uint32) {
	switch {
	case r.err != nil:
	case m.dataCount < 0:
		r.fail("data segment %d: the module has no data count section", i)
	case int64(i) >= m.dataCount:
		r.fail("data segment: want less than %d, got %d", m.dataCount, i)
	}
}

func (m *module) checkExport(r *reader, e export) {
	for _, reserved := range ReservedExports {
		if e.name == reserved {
			r.fail("export %q: the name is reserved", e.name)
		}
	}
	before := r.err
	switch e.kind {
	case 0:
		m.checkFunction(r, e.index)
	case 1:
		m.checkTable(r, e.index)
	case 2:
		m.checkMemory(r, e.index)
	case 3:
		m.checkGlobal(r, e.index)
	default:
		r.fail("export %q: kind %d is not allowed", e.name, e.kind)
	}
	if before == nil && r.err != nil {
		r.err = fmt.Errorf("export %q: %w", e.name, r.err)
	}
}

// constant passes over a constant expression and checks its indices.
func (m *module) constant(r *reader) {
	for r.err == nil {
		switch op := r.byte(); op {
		case opEnd:
			return
		case opI32Const:
			r.skipLEB(5)
		case opI64Const:
			r.skipLEB(10)
		case opF32Const:
			r.bytes(4)
		case opF64Const:
			r.bytes(8)
		case opGlobalGet:
			m.checkGlobal(r, r.u32())
		case opRefNull:
			r.byte()
		case opRefFunc:
			m.checkFunction(r, r.u32())
		case opVector:
			if sub := r.u32(); sub != vecConst {
				r.fail("constant expression: vector instruction %d is not allowed", sub)
			}
			r.bytes(16)
		default:
			r.fail("constant expression: instruction %#x is not allowed", op)
		}
	}
}

func (m *module) elementSection(r *reader) {
	for range m.entries(r, "elements", m.limits.Elements, &m.shape.Elements) {
		flags := r.u32()
		if flags > 7 {
			r.fail("element segment %d: flags %#x are not allowed", m.elements, flags)
		}
		const passive, explicit, expressions = 1, 2, 4
		if flags&passive == 0 {
			var i uint32
			if flags&explicit != 0 {
				i = r.u32()
			}
			m.checkTable(r, i)
			m.constant(r)
		}
		if flags&(passive|explicit) != 0 {
			r.byte() // element kind or type
		}
		n := r.count("entries")
		m.shape.ElementEntries += int(n)
		r.limit(within("module", "element entries", m.limits.ElementEntries, uint64(m.shape.ElementEntries)))
		for i := uint32(0); i < n && r.err == nil; i++ {
			if flags&expressions != 0 {
				m.constant(r)
			} else {
				m.checkFunction(r, r.u32())
			}
		}
		if r.err != nil {
			return
		}
		m.elements++
	}
}

func (m *module) dataSection(r *reader) {
	for range m.entries(r, "data segments", m.limits.DataSegments, &m.shape.DataSegments) {
		switch flags := r.u32(); flags {
		case 0:
			m.checkMemory(r, 0)
			m.constant(r)
		case 1:
		case 2:
			m.checkMemory(r, r.u32())
			m.constant(r)
		default:
			r.fail("data segment %d: flags %#x are not allowed", m.datas, flags)
		}
		r.bytes(r.u32())
		if r.err != nil {
			return
		}
		m.datas++
	}
}
