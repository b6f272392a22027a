// SPDX-License-Identifier: Apache-2.0

package module

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/weave"
)

// assembly is a guest in parts, so that a test can change one of them. It has
// one page of memory and a global that alloc counts up.
type assembly struct {
	imports []assemblyImport
	funcs   []assemblyFunc
	memory  string // name of the memory's export; empty: not exported
	data    []byte // at dataAt
	custom  map[string][]byte
}

type assemblyImport struct {
	module, name    string
	params, results []byte
}

type assemblyFunc struct {
	name            string
	params, results []byte
	body            []byte // without locals and end
}

const (
	i32    = byte(abi.I32)
	f64    = byte(0x7c)
	dataAt = 1024
)

// description is what the guest of newAssembly says of itself.
var description = abi.Description{Name: "small", Version: "1", Points: []string{"filter"}, Reads: []string{"node.labels"}}

// newAssembly is a guest with the required exports and filter, which says that
// it is d.
func newAssembly(t testing.TB, d *abi.Description) *assembly {
	t.Helper()
	record, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return &assembly{
		funcs: []assemblyFunc{
			{"abi_version", nil, []byte{i32}, constant(int32(abi.PackVersion(abi.Major, abi.Minor)))},
			{"alloc", []byte{i32}, []byte{i32}, slices.Concat(
				[]byte{0x23, 0, 0x23, 0, 0x20, 0, 0x6a}, // global.get 0, global.get 0, local.get 0, i32.add
				constant(7), []byte{0x6a}, constant(-8), []byte{0x71, 0x24, 0},
			)},
			{"free", []byte{i32}, nil, nil},
			{"describe", []byte{i32}, []byte{i32}, answer(dataAt, len(record))},
			{"filter", []byte{i32}, []byte{i32}, answer(0, 0)},
		},
		memory: "memory",
		data:   record,
		custom: map[string][]byte{},
	}
}

// with replaces or adds a function.
func (a *assembly) with(f assemblyFunc) *assembly {
	a.without(f.name)
	a.funcs = append(a.funcs, f)
	return a
}

// without takes a function away.
func (a *assembly) without(name string) *assembly {
	a.funcs = slices.DeleteFunc(a.funcs, func(f assemblyFunc) bool { return f.name == name })
	return a
}

// answer is the body of a point: success, with a payload.
func answer(payload, n int) []byte {
	result := []byte{0x20, 0, 0x28, 2, abi.FrameResultPtr} // local.get 0, i32.load
	store := func(at byte, v int32) []byte {
		return slices.Concat(result, constant(v), []byte{0x36, 2, at})
	}
	return slices.Concat(
		store(abi.ResultCode, int32(abi.Success)),
		store(abi.ResultPayloadPtr, int32(payload)), store(abi.ResultPayloadLen, int32(n)),
		constant(abi.Answered),
	)
}

func constant(v int32) []byte {
	out := []byte{0x41}
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

// wasm encodes the guest.
func (a *assembly) wasm() []byte {
	vector := func(items ...[]byte) []byte {
		return append(binary.AppendUvarint(nil, uint64(len(items))), bytes.Join(items, nil)...)
	}
	sized := func(b []byte) []byte { return append(binary.AppendUvarint(nil, uint64(len(b))), b...) }
	name := func(s string) []byte { return sized([]byte(s)) }
	var types, imports, functions, exports, bodies [][]byte
	typeOf := func(params, results []byte) []byte {
		types = append(types, slices.Concat([]byte{0x60}, sized(params), sized(results)))
		return binary.AppendUvarint(nil, uint64(len(types)-1))
	}
	for _, im := range a.imports {
		imports = append(imports, slices.Concat(name(im.module), name(im.name), []byte{0}, typeOf(im.params, im.results)))
	}
	for i, f := range a.funcs {
		functions = append(functions, typeOf(f.params, f.results))
		exports = append(exports, slices.Concat(name(f.name), []byte{0}, binary.AppendUvarint(nil, uint64(len(a.imports)+i))))
		bodies = append(bodies, sized(slices.Concat([]byte{0}, f.body, []byte{0x0b})))
	}
	if a.memory != "" {
		exports = append(exports, slices.Concat(name(a.memory), []byte{2, 0}))
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, content []byte) { out = append(append(out, id), sized(content)...) }
	section(1, vector(types...))
	section(2, vector(imports...))
	section(3, vector(functions...))
	section(5, vector([]byte{0, 4}))                                                  // four pages
	section(6, vector(slices.Concat([]byte{i32, 1}, constant(64<<10), []byte{0x0b}))) // where alloc begins
	section(7, vector(exports...))
	section(10, vector(bodies...))
	section(11, vector(slices.Concat([]byte{0}, constant(dataAt), []byte{0x0b}, sized(a.data))))
	for n, data := range a.custom {
		section(0, slices.Concat(name(n), data))
	}
	return out
}

// described is the guest with its section, as berth build leaves it.
func described(t testing.TB, a *assembly) []byte {
	t.Helper()
	wasm, err := weave.AppendCustomSection(a.wasm(), abi.DescribeSection, a.data)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}
