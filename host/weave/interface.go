// SPDX-License-Identifier: Apache-2.0

package weave

import (
	"fmt"
	"strings"
)

// ValueType is a WebAssembly value type in its binary encoding.
type ValueType byte

// String returns the name of the type in the text format.
func (t ValueType) String() string {
	switch byte(t) {
	case typeI32:
		return "i32"
	case typeI64:
		return "i64"
	case typeF32:
		return "f32"
	case typeF64:
		return "f64"
	case typeV128:
		return "v128"
	case typeFuncref:
		return "funcref"
	case typeExternref:
		return "externref"
	}
	return fmt.Sprintf("%#x", byte(t))
}

// Kind says what an export is.
type Kind byte

// Kinds of exports, as the binary format numbers them.
const (
	KindFunction Kind = iota
	KindTable
	KindMemory
	KindGlobal
)

// String returns the word of the text format for the kind.
func (k Kind) String() string { return exportKind(byte(k)) }

func exportKind(k byte) string {
	switch k {
	case 0:
		return "func"
	case 1:
		return "table"
	case 2:
		return "memory"
	case 3:
		return "global"
	}
	return fmt.Sprintf("kind %d", k)
}

// Import is a function that a module wants from its host.
type Import struct {
	Module, Name    string
	Params, Results []ValueType
}

// Export is what a module offers; Params and Results are those of a function.
type Export struct {
	Name            string
	Kind            Kind
	Params, Results []ValueType
}

// Pages is a memory's size in pages of 64 KiB. Max is 65,536 if the module
// declares none, which Bounded tells apart.
type Pages struct {
	Min, Max uint32
	Bounded  bool
}

// Interface is what a module and its host see of each other.
type Interface struct {
	Imports  []Import
	Exports  []Export
	Memory   *Pages // nil without a memory
	HasStart bool   // whether code runs at instantiation
}

// ParseInterface reads a module's interface. The module may not be woven yet.
// It must be within DefaultLimits and import functions only, as for Weave;
// function bodies are not looked at.
func ParseInterface(wasm []byte) (*Interface, error) {
	limits := DefaultLimits()
	limits.MemoryPages = 65536
	m, err := parse(wasm, limits)
	if err != nil {
		return nil, fmt.Errorf("parse module: %w", err)
	}
	i := &Interface{HasStart: m.start}
	for _, f := range m.imports {
		t := m.types[f.typ]
		i.Imports = append(i.Imports, Import{f.module, f.name, valueTypes(t.params), valueTypes(t.results)})
	}
	for _, e := range m.exports {
		x := Export{Name: e.name, Kind: Kind(e.kind)}
		if x.Kind == KindFunction {
			t := m.types[m.typeOf(e.index)]
			x.Params, x.Results = valueTypes(t.params), valueTypes(t.results)
		}
		i.Exports = append(i.Exports, x)
	}
	if m.memory != nil {
		i.Memory = &Pages{m.memory.min, m.memory.max, m.memory.declared}
	}
	return i, nil
}

// typeOf returns the type index of a function of either kind.
func (m *module) typeOf(f uint32) uint32 {
	if n := uint32(len(m.imports)); f >= n {
		return m.funcs[f-n]
	}
	return m.imports[f].typ
}

func valueTypes(b []byte) []ValueType {
	list := make([]ValueType, len(b))
	for i, t := range b {
		list[i] = ValueType(t)
	}
	return list
}

// Signature formats a function's type, such as "(i32 i64) -> (i32)".
func Signature(params, results []ValueType) string {
	return "(" + joinTypes(params) + ") -> (" + joinTypes(results) + ")"
}

func joinTypes(list []ValueType) string {
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = t.String()
	}
	return strings.Join(names, " ")
}
