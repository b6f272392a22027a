// SPDX-License-Identifier: Apache-2.0

package weave

import (
	"bytes"
	"fmt"
	"iter"
	"strings"
)

// Section ids of the binary format.
const (
	secCustom byte = iota
	secType
	secImport
	secFunction
	secTable
	secMemory
	secGlobal
	secExport
	secStart
	secElement
	secCode
	secData
	secDataCount
)

var sectionNames = [...]string{
	secCustom: "custom", secType: "type", secImport: "import", secFunction: "function",
	secTable: "table", secMemory: "memory", secGlobal: "global", secExport: "export", secStart: "start",
	secElement: "element", secCode: "code", secData: "data", secDataCount: "data count",
}

// sectionOrder is the place of each section id; custom sections may stand anywhere.
var sectionOrder = [...]int{
	secType: 1, secImport: 2, secFunction: 3, secTable: 4, secMemory: 5, secGlobal: 6, secExport: 7,
	secStart: 8, secElement: 9, secDataCount: 10, secCode: 11, secData: 12,
}

var header = []byte("\x00asm\x01\x00\x00\x00")

type section struct {
	id   byte
	name string // of a custom section
	data []byte // content; of a custom section what follows its name
}

type funcType struct{ params, results []byte }

type importFunc struct {
	module, name string
	typ          uint32
}

type resize struct {
	min, max uint32
	declared bool // has a max of its own
}

type table struct {
	elem byte
	size resize
}

type export struct {
	name  string
	kind  byte
	index uint32
}

// module is a parsed module. Its slices point into the bytes it was read from.
// Every index outside of function bodies has been checked.
type module struct {
	limits   Limits
	shape    Shape
	sections []section

	types     []funcType
	imports   []importFunc
	funcs     []uint32 // type index of each function with a body
	tables    []table
	memory    *resize
	globals   uint32
	exports   []export
	start     bool
	elements  uint32
	dataCount int64 // -1 without a data count section
	datas     uint32
	bodies    [][]byte

	moreTypes [][]byte // results of the block types that rewriting needs
}

// parse reads a module and checks everything but its function bodies.
func parse(wasm []byte, limits Limits) (*module, error) {
	m := &module{limits: limits, dataCount: -1}
	m.shape.ModuleBytes = len(wasm)
	if err := within("module", "bytes", limits.ModuleBytes, uint64(len(wasm))); err != nil {
		return nil, err
	}
	if len(wasm) < len(header) || !bytes.Equal(wasm[:len(header)], header) {
		return nil, fmt.Errorf("want the header of a core module (version 1), got %q", wasm[:min(len(wasm), len(header))])
	}
	sections, err := splitSections(wasm, limits.Sections)
	if err != nil {
		return nil, err
	}
	m.sections = sections
	for _, s := range sections {
		if s.id == secCustom {
			continue
		}
		r := &reader{data: s.data}
		m.section(s.id, r)
		if r.err == nil && r.more() {
			r.fail("%d bytes after the last entry", r.left())
		}
		if r.err != nil {
			return nil, fmt.Errorf("%s section: %w", sectionNames[s.id], r.err)
		}
	}
	if len(m.bodies) != len(m.funcs) {
		return nil, fmt.Errorf("code section: want %d bodies, got %d", len(m.funcs), len(m.bodies))
	}
	if m.dataCount >= 0 && m.dataCount != int64(m.datas) {
		return nil, fmt.Errorf("data section: want %d segments, got %d", m.dataCount, m.datas)
	}
	return m, nil
}

// splitSections cuts a module, whose header the caller has checked, into its sections.
func splitSections(wasm []byte, most int) ([]section, error) {
	r := &reader{data: wasm, off: len(header)}
	var sections []section
	last := 0
	for r.more() {
		at := r.off
		s := section{id: r.byte()}
		s.data = r.bytes(r.u32())
		switch {
		case r.err != nil:
			return nil, fmt.Errorf("section at byte %d: %w", at, r.err)
		case s.id == secCustom:
			c := &reader{data: s.data}
			s.name = c.name()
			if c.err != nil {
				return nil, fmt.Errorf("custom section at byte %d: name: %w", at, c.err)
			}
			s.data = s.data[c.off:]
		case int(s.id) >= len(sectionOrder):
			return nil, fmt.Errorf("section at byte %d: id %d is not allowed (exceptions and later proposals are off)", at, s.id)
		case sectionOrder[s.id] <= last:
			return nil, fmt.Errorf("%s section at byte %d: repeated or out of order", sectionNames[s.id], at)
		default:
			last = sectionOrder[s.id]
		}
		sections = append(sections, s)
		if err := within("module", "sections", most, uint64(len(sections))); err != nil {
			return nil, err
		}
	}
	return sections, nil
}

func (m *module) section(id byte, r *reader) {
	switch id {
	case secType:
		m.typeSection(r)
	case secImport:
		m.importSection(r)
	case secFunction:
		m.functionSection(r)
	case secTable:
		m.tableSection(r)
	case secMemory:
		m.memorySection(r)
	case secGlobal:
		m.globalSection(r)
	case secExport:
		m.exportSection(r)
	case secStart:
		m.start = true
		m.checkFunction(r, r.u32())
	case secElement:
		m.elementSection(r)
	case secDataCount:
		m.dataCount = int64(r.u32())
	case secCode:
		m.codeSection(r)
	case secData:
		m.dataSection(r)
	}
}

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

// funcName names the i-th function with a body as stack traces do.
func (m *module) funcName(i uint32) string {
	return fmt.Sprintf("function %d", len(m.imports)+int(i))
}

// debugSection reports whether a custom section speaks of code offsets, which weaving moves.
func debugSection(name string) bool {
	return strings.HasPrefix(name, ".debug_") || strings.HasPrefix(name, "reloc.") ||
		name == "sourceMappingURL" || name == "external_debug_info"
}
