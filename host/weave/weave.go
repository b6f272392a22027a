// SPDX-License-Identifier: Apache-2.0

package weave

import (
	"bytes"
	"fmt"
)

// Version names what Weave makes of a module. It is part of the keys of caches
// that hold woven or compiled modules, and changes whenever the output does.
const Version = "berth-weave-1"

// Names of the globals that a woven module exports. No module may export them itself.
const (
	FuelExport   = "berth:fuel"   // mutable i64: what is left of the current slice
	BudgetExport = "berth:budget" // mutable i64: what is left beyond the current slice
	StackExport  = "berth:stack"  // mutable i32: what is left of the call stack, negative when exhausted
)

// ReservedExports are the names that the weaver keeps for itself.
var ReservedExports = [...]string{FuelExport, BudgetExport, StackExport}

const (
	// SliceUnits is the length of a slice: the most units between two
	// safepoints. Ordinary code takes 0.1 ns a unit. The worst found is a chain
	// of loads that each miss every cache and the TLB, 190 ns a load on an idle
	// machine and 300 ns on a busy one, hence 38 to 60 ns a unit: 1.2 to 1.9 ms
	// a slice. A safepoint takes about 60 ns, some 2 % of a slice of ordinary code.
	SliceUnits = 32_000

	// maxPending bounds the units that may be charged without a look at the
	// fuel, on any way through a function.
	maxPending = 2048

	// StackBytes is the call stack of a guest. A function weighs its locals
	// and a quarter of its body's bytes, roughly what an engine's frame takes.
	StackBytes = 8 << 20
	frameBytes = 64

	callUnits  = 4
	loadUnits  = 5  // see SliceUnits
	leaveUnits = 32 // instructions for which the engine leaves compiled code
	growShift  = 14 // 16,384 units a page of memory.grow
	byteShift  = 3  // 8 bytes a unit of bulk memory

	// maxCarry is the most locals that a loop hands around the call to yield.
	maxCarry = 24

	// maxOutside is the most loops of a function whose next slice begins outside
	// of the loop. [measured: 2,048 nested loops took wazero 117 s to compile]
	maxOutside = 64

	// chunkBytes is the longest memory.fill or memory.copy without a safepoint in it.
	chunkBytes = 1 << 20
)

// Result is a woven module.
type Result struct {
	Wasm  []byte
	Shape Shape
}

// Weave returns a copy of a module that counts fuel. The module must be within
// limits (the error is a *LimitError if it isn't) and use what WebAssembly 2.0
// has, less what the package documentation excludes. Weave doesn't validate
// types: the engine does, and what the engine refuses in a module it refuses in
// the woven one. It never panics and keeps no reference to wasm.
func Weave(wasm []byte, limits Limits) (*Result, error) {
	m, err := parse(wasm, limits)
	if err != nil {
		return nil, fmt.Errorf("weave: %w", err)
	}
	code, err := m.code()
	if err != nil {
		return nil, fmt.Errorf("weave: %w", err)
	}
	return &Result{Wasm: m.encode(code), Shape: m.shape}, nil
}

// code returns the content of the woven code section.
func (m *module) code() ([]byte, error) {
	plans := make([]*plan, len(m.bodies))
	for i := range m.bodies {
		p, err := m.plan(uint32(i))
		if err != nil {
			return nil, err
		}
		plans[i] = p
	}
	a := m.added()
	bodies := a.bodies(m)
	out := appendU32(make([]byte, 0, m.shape.ModuleBytes), uint32(len(plans)+len(bodies)))
	for i, p := range plans {
		body := m.rewrite(uint32(i), p, &a)
		out = append(appendU32(out, uint32(len(body))), body...)
	}
	for _, body := range bodies {
		out = append(appendU32(out, uint32(len(body))), body...)
	}
	return out, nil
}

// bodies are the functions that the weaver adds, in the order of their indices.
// Without a memory nothing can call fill and copy.
func (a *added) bodies(m *module) []code {
	if m.memory == nil {
		return []code{a.yieldBody()}
	}
	return []code{a.yieldBody(), a.fillBody(), a.copyBody()}
}

// encode puts the module together: each section as it was, extended or made
// anew, with sections that it lacks in their places.
func (m *module) encode(code []byte) []byte {
	changed := m.changed()
	changed[secCode] = code
	out := make([]byte, 0, m.shape.ModuleBytes+len(code)/4+256)
	out = append(out, header...)
	next := 1 // place of the first section not yet written
	upTo := func(place int) {
		for ; next < place; next++ {
			for id, content := range changed {
				if content != nil && sectionOrder[id] == next {
					out = appendSection(out, byte(id), content)
				}
			}
		}
	}
	for _, s := range m.sections {
		if s.id == secCustom {
			if !debugSection(s.name) {
				out = appendCustom(out, s.name, s.data)
			}
			continue
		}
		upTo(sectionOrder[s.id])
		if content := changed[s.id]; content != nil {
			s.data = content
		}
		out = appendSection(out, s.id, s.data)
		next++
	}
	upTo(len(sectionOrder))
	return out
}

// changed returns the content of each section that weaving changes, by id.
func (m *module) changed() [len(sectionOrder)][]byte {
	var c [len(sectionOrder)][]byte
	a := m.added()

	types := bytes.Clone(addedTypes)
	for _, results := range m.moreTypes {
		types = append(appendU32(append(types, 0x60, 0), uint32(len(results))), results...)
	}
	c[secType] = m.extended(secType, addedTypeCount+uint32(len(m.moreTypes)), types)

	functions := appendU32(nil, a.yieldType)
	n := uint32(1)
	if m.memory != nil {
		functions = appendU32(appendU32(functions, a.bytesType), a.bytesType)
		n = 3
	}
	c[secFunction] = m.extended(secFunction, n, functions)

	if len(m.tables) > 0 {
		c[secTable] = appendU32(nil, uint32(len(m.tables)))
		for _, t := range m.tables {
			c[secTable] = t.size.append(append(c[secTable], t.elem))
		}
	}

	// Without a memory there would be no safepoint: the module gets an empty one.
	memory := resize{}
	if m.memory != nil {
		memory = *m.memory
	}
	c[secMemory] = memory.append([]byte{1})

	// The start function runs before the host can set the cells.
	fuel, budget := Split(m.limits.StartFuel)
	globals := appendGlobal(nil, typeI64, opI64Const, fuel)
	globals = appendGlobal(globals, typeI64, opI64Const, budget)
	globals = appendGlobal(globals, typeI32, opI32Const, StackBytes)
	c[secGlobal] = m.extended(secGlobal, 3, globals)

	var exports []byte
	for i, name := range ReservedExports {
		exports = appendU32(append(appendName(exports, name), 3), a.fuel+uint32(i))
	}
	c[secExport] = m.extended(secExport, uint32(len(ReservedExports)), exports)
	return c
}

// extended returns a section's content with n entries added at its end.
func (m *module) extended(id byte, n uint32, entries []byte) []byte {
	for _, s := range m.sections {
		if s.id == id {
			r := &reader{data: s.data}
			n += r.u32()
			return append(append(appendU32(nil, n), s.data[r.off:]...), entries...)
		}
	}
	return append(appendU32(nil, n), entries...)
}

func appendGlobal(dst []byte, typ, op byte, x int64) []byte {
	return append(appendS64(append(dst, typ, 1, op), x), opEnd)
}

// blockType appends the type of a block without parameters and the given results.
func (m *module) blockType(dst []byte, results []byte) []byte {
	switch len(results) {
	case 0:
		return append(dst, blockEmpty)
	case 1:
		return append(dst, results[0])
	}
	return appendS64(dst, int64(m.resultType(results)))
}

// resultType returns the index of the type () -> results, adding it if need be.
func (m *module) resultType(results []byte) uint32 {
	for i, t := range m.types {
		if len(t.params) == 0 && bytes.Equal(t.results, results) {
			return uint32(i)
		}
	}
	for i, t := range m.moreTypes {
		if bytes.Equal(t, results) {
			return uint32(len(m.types) + addedTypeCount + i)
		}
	}
	m.moreTypes = append(m.moreTypes, results)
	return uint32(len(m.types) + addedTypeCount + len(m.moreTypes) - 1)
}
