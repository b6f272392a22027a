// SPDX-License-Identifier: Apache-2.0

package weave

import "iter"

// entries reads a vector's length, notes it in the shape, checks it, and then
// yields once for each entry until reading one fails.
func (m *module) entries(r *reader, limit string, want int, got *int) iter.Seq[uint32] {
	n := r.count(limit)
	*got = int(n)
	r.limit(within("module", limit, want, uint64(n)))
	return func(yield func(uint32) bool) {
		for i := uint32(0); i < n && r.err == nil; i++ {
			if !yield(i) {
				return
			}
		}
	}
}

func (r *reader) limit(err error) {
	if err != nil && r.err == nil {
		r.err = err
		r.off = len(r.data)
	}
}

func (m *module) typeSection(r *reader) {
	for range m.entries(r, "types", m.limits.Types, &m.shape.Types) {
		if form := r.byte(); form != 0x60 {
			r.fail("type %d: want a function type (0x60), got %#x (GC types are off)", len(m.types), form)
			return
		}
		var t funcType
		t.params = r.valueTypes("params", m.limits.Params)
		t.results = r.valueTypes("results", m.limits.Results)
		m.types = append(m.types, t)
	}
}

func (r *reader) valueTypes(what string, most int) []byte {
	n := r.count(what)
	r.limit(within("type", what, most, uint64(n)))
	if r.err != nil {
		return nil
	}
	list := r.bytes(n)
	for _, t := range list {
		r.valueType(t)
	}
	return list
}

func (r *reader) valueType(t byte) {
	switch t {
	case typeI32, typeI64, typeF32, typeF64, typeV128, typeFuncref, typeExternref:
	default:
		r.fail("value type %#x is not allowed", t)
	}
}

func (m *module) importSection(r *reader) {
	for range m.entries(r, "imports", m.limits.Imports, &m.shape.Imports) {
		f := importFunc{module: r.name(), name: r.name()}
		kind := r.byte()
		if r.err != nil {
			return
		}
		if kind != 0 {
			r.fail("%q %q: want a function, got a %s (a guest imports functions only)", f.module, f.name, exportKind(kind))
			return
		}
		f.typ = r.u32()
		m.checkType(r, f.typ)
		m.imports = append(m.imports, f)
	}
}

func (m *module) functionSection(r *reader) {
	for range m.entries(r, "functions", m.limits.Functions, &m.shape.Functions) {
		t := r.u32()
		m.checkType(r, t)
		m.funcs = append(m.funcs, t)
	}
}

func (r *reader) resize(what string) resize {
	var s resize
	switch flags := r.byte(); flags {
	case 0:
		s.min = r.u32()
	case 1:
		s.min, s.max, s.declared = r.u32(), r.u32(), true
	default:
		r.fail("%s: limits flags %#x are not allowed (shared memory and memory64 are off)", what, flags)
	}
	if s.declared && s.min > s.max {
		r.fail("%s: want a minimum of at most %d, got %d", what, s.max, s.min)
	}
	return s
}

// bound gives the size a maximum of at most max.
func (s *resize) bound(r *reader, limit string, max uint32) {
	if s.min > max {
		r.limit(&LimitError{Where: "module", Limit: limit, Want: int64(max), Got: int64(s.min)})
	}
	if !s.declared || s.max > max {
		s.max = max
	}
}

func (s resize) append(dst []byte) []byte {
	return appendU32(appendU32(append(dst, 1), s.min), s.max)
}

func (m *module) tableSection(r *reader) {
	for range m.entries(r, "tables", m.limits.Tables, &m.shape.Tables) {
		t := table{elem: r.byte()}
		if t.elem != typeFuncref && t.elem != typeExternref {
			r.fail("table %d: element type %#x is not allowed", len(m.tables), t.elem)
		}
		t.size = r.resize("table")
		t.size.bound(r, "table entries", m.limits.TableEntries)
		m.tables = append(m.tables, t)
	}
}

func (m *module) memorySection(r *reader) {
	switch n := r.u32(); n {
	case 0:
	case 1:
		s := r.resize("memory")
		s.bound(r, "memory pages", m.limits.MemoryPages)
		m.memory = &s
	default:
		r.fail("want at most 1 memory, got %d (multi-memory is off)", n)
	}
}

func (m *module) globalSection(r *reader) {
	for i := range m.entries(r, "globals", m.limits.Globals, &m.shape.Globals) {
		m.globals = i // an initializer may name only globals before its own
		r.valueType(r.byte())
		if mutable := r.byte(); mutable > 1 {
			r.fail("global %d: mutability: want 0 or 1, got %d", m.globals, mutable)
		}
		m.constant(r)
		m.globals = i + 1
	}
}

func (m *module) exportSection(r *reader) {
	for range m.entries(r, "exports", m.limits.Exports, &m.shape.Exports) {
		e := export{name: r.name(), kind: r.byte(), index: r.u32()}
		if r.err == nil {
			m.checkExport(r, e)
		}
		m.exports = append(m.exports, e)
	}
}

func (m *module) codeSection(r *reader) {
	n := r.count("bodies")
	if int(n) != len(m.funcs) {
		r.fail("want %d bodies, got %d", len(m.funcs), n)
		return
	}
	m.bodies = make([][]byte, 0, n)
	for i := range n {
		body := r.bytes(r.u32())
		m.shape.BodyBytes = max(m.shape.BodyBytes, len(body))
		r.limit(within(m.funcName(i), "body bytes", m.limits.BodyBytes, uint64(len(body))))
		if r.err != nil {
			return
		}
		m.bodies = append(m.bodies, body)
	}
}
