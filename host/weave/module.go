// SPDX-License-Identifier: Apache-2.0

package weave

import (
	"bytes"
	"fmt"
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

// funcName names the i-th function with a body as stack traces do.
func (m *module) funcName(i uint32) string {
	return fmt.Sprintf("function %d", len(m.imports)+int(i))
}

// debugSection reports whether a custom section speaks of code offsets, which weaving moves.
func debugSection(name string) bool {
	return strings.HasPrefix(name, ".debug_") || strings.HasPrefix(name, "reloc.") ||
		name == "sourceMappingURL" || name == "external_debug_info"
}
