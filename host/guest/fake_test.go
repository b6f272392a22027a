// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/engine"
	"github.com/berth-scheduler/berth/host/intern"
	"github.com/berth-scheduler/berth/host/weave"
)

// fakeGuest is an engine.Module and its one instance, with Go functions over a
// slice as the guest. It can answer what no toolchain would compile, and no
// engine has to be trusted to tell what the host did.
type fakeGuest struct {
	memory  []byte
	top     uint32                                  // of what alloc gave
	alloc   func(g *fakeGuest, size uint32) uint32  // nil is one that behaves
	answer  func(g *fakeGuest, frame []byte) uint32 // of every point; nil does nothing
	version uint32
	cells   map[string]*cell
	data    any
	closed  int
}

type cell uint64

func (c *cell) Get() uint64  { return uint64(*c) }
func (c *cell) Set(v uint64) { *c = cell(v) }

func (g *fakeGuest) Instantiate(_ context.Context, o engine.InstanceOptions) (engine.Instance, error) {
	g.data = o.Data
	return g, nil
}

func (g *fakeGuest) Close() error {
	g.closed++
	return nil
}

func (g *fakeGuest) Data() any             { return g.data }
func (g *fakeGuest) Memory() engine.Memory { return g }
func (g *fakeGuest) Size() uint32          { return uint32(len(g.memory)) }

func (g *fakeGuest) Read(ptr, n uint32) ([]byte, bool) {
	if uint64(ptr)+uint64(n) > uint64(len(g.memory)) {
		return nil, false
	}
	return g.memory[ptr : ptr+n], true
}

func (g *fakeGuest) Write(ptr uint32, data []byte) bool {
	b, ok := g.Read(ptr, uint32(len(data)))
	return ok && copy(b, data) == len(data)
}

func (g *fakeGuest) Global(name string) (engine.Global, bool) {
	if g.cells == nil {
		g.cells = map[string]*cell{weave.FuelExport: new(cell), weave.BudgetExport: new(cell), weave.StackExport: new(cell)}
	}
	c, ok := g.cells[name]
	return c, ok
}

// fakeFunc is an export.
type fakeFunc func(stack []uint64) error

func (f fakeFunc) Call(stack []uint64) error { return f(stack) }

func (g *fakeGuest) Func(name string) (engine.Func, bool) {
	switch name {
	case "alloc":
		return fakeFunc(func(stack []uint64) error {
			alloc := g.alloc
			if alloc == nil {
				alloc = (*fakeGuest).bump
			}
			stack[0] = uint64(alloc(g, uint32(stack[0])))
			return nil
		}), true
	case "abi_version":
		return fakeFunc(func(stack []uint64) error {
			stack[0] = uint64(g.version)
			return nil
		}), true
	}
	if _, ok := abi.PointByName(name); ok {
		return fakeFunc(func(stack []uint64) error {
			frame, ok := g.Read(uint32(stack[0]), abi.FrameSize)
			if !ok {
				return errors.New("frame outside memory")
			}
			stack[0] = 0
			if g.answer != nil {
				stack[0] = uint64(g.answer(g, frame))
			}
			return nil
		}), true
	}
	return nil, false
}

// bump is an alloc that behaves.
func (g *fakeGuest) bump(size uint32) uint32 {
	ptr := (g.top + 7) &^ 7
	if uint64(ptr)+uint64(size) > uint64(len(g.memory)) {
		g.memory = append(g.memory, make([]byte, int(ptr)+int(size)-len(g.memory))...)
	}
	g.top = ptr + size
	return ptr
}

// fake makes an instance of a fake guest with a memory of its own below 4096.
func fake(t testing.TB, g *fakeGuest, opts Options) *Instance {
	t.Helper()
	g.memory, g.top, g.version = make([]byte, 4096), 4096, abi.PackVersion(abi.Major, abi.Minor)
	if opts.Strings == nil {
		opts.Strings = intern.New(1<<20, 1<<16)
	}
	if opts.Budgets == (Budgets{}) {
		opts.Budgets = Budgets{Life: 1000, GC: 1000, Call: 1000, PerNode: 10}
	}
	in, err := New(context.Background(), g, opts)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// u32 is a field of a frame or a result.
func u32(b []byte, at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }

// result is the result area of a frame.
func (g *fakeGuest) result(frame []byte) []byte {
	b, ok := g.Read(u32(frame, abi.FrameResultPtr), u32(frame, abi.FrameResultLen))
	if !ok {
		panic(fmt.Sprintf("result area outside memory: %v", frame))
	}
	return b
}

// set writes fields of a result: offset, value, offset, value.
func set(b []byte, fields ...uint32) {
	for i := 0; i < len(fields); i += 2 {
		binary.LittleEndian.PutUint32(b[fields[i]:], fields[i+1])
	}
}

// text puts a string_ref and its text into the guest's own memory, at ref and
// behind it.
func (g *fakeGuest) text(ref uint32, s string) {
	set(g.memory, ref, ref+8, ref+4, uint32(len(s)))
	copy(g.memory[ref+8:], s)
}
