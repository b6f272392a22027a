// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/engine"
	"github.com/berth-scheduler/berth/host/engine/wasi"
)

// sdkModule runs a module as it was built.
type sdkModule struct {
	testing.TB
	wasi *wasi.State
	inst engine.Instance
}

func (s *sdkModule) WASI() *wasi.State { return s.wasi }

func startSDKModule(t *testing.T, wasm []byte) *sdkModule {
	t.Helper()
	e, err := engine.NewWazero(t.Context(), engine.WazeroOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	ids := uint64(0)
	funcs := append(wasi.HostFuncs(),
		engine.HostFunc{Module: abi.Module, Name: "log", Params: []engine.ValueType{engine.I32, engine.I32, engine.I32},
			Call: func(engine.Instance, []uint64) error { return nil }},
		engine.HostFunc{Module: abi.Module, Name: "intern", Params: []engine.ValueType{engine.I32, engine.I32}, Results: []engine.ValueType{engine.I32},
			Call: func(_ engine.Instance, stack []uint64) error { ids++; stack[0] = ids; return nil }})
	m, err := e.Compile(t.Context(), wasm, engine.CompileOptions{Host: funcs, MemoryPages: 64 << 20 >> 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	s := &sdkModule{TB: t, wasi: wasi.NewState(wasi.Options{})}
	if s.inst, err = m.Instantiate(t.Context(), engine.InstanceOptions{Data: s}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.inst.Close() })
	s.call("_initialize")
	return s
}

// call runs an export and returns its result, if it has one.
func (s *sdkModule) call(name string, params ...uint64) uint64 {
	s.Helper()
	f, ok := s.inst.Func(name)
	if !ok {
		s.Fatalf("export %q: want it, got none", name)
	}
	s.wasi.SetClock(1) // each call has its own allowance of naps
	stack := append(params, 0)
	if err := f.Call(stack); err != nil {
		s.Fatalf("%s: %v", name, err)
	}
	return stack[0]
}

// TestSDKMemory checks what the exports for memory promise: blocks are aligned
// and stay, what is freed is used again, and garbage goes when gc is called.
func TestSDKMemory(t *testing.T) {
	wasm, err := buildModule("github.com/berth-scheduler/berth/examples/binpack", "")
	if err != nil {
		t.Fatal(err)
	}
	m := startSDKModule(t, wasm)
	if got := m.call("abi_version"); got != uint64(abi.PackVersion(abi.Major, abi.Minor)) {
		t.Errorf("abi_version: got %#x", got)
	}
	kept := map[uint64]byte{}
	for i := range 200 {
		size := uint64(1 + i*37)
		p := m.call("alloc", size)
		if p == 0 || p%8 != 0 {
			t.Fatalf("alloc(%d): want an 8-aligned address, got %d", size, p)
		}
		if !m.inst.Memory().Write(uint32(p), bytesOf(byte(i), int(size))) {
			t.Fatalf("alloc(%d): address %d is outside memory", size, p)
		}
		kept[p] = byte(i)
	}
	before := m.inst.Memory().Size()
	for range 300 { // 300 MiB in all, under a limit of 64
		m.call("free", m.call("alloc", 1<<20))
	}
	if grown := m.inst.Memory().Size() - before; grown > 8<<20 {
		t.Errorf("alloc and free in turn: memory grew by %d bytes", grown)
	}
	for i := range 60 { // sizes that can't stand in for each other: gc has to help
		m.call("free", m.call("alloc", uint64(1<<20+i*400_000)))
		m.call("gc")
	}
	for p, want := range kept {
		if b, ok := m.inst.Memory().Read(uint32(p), 1); !ok || b[0] != want {
			t.Fatalf("after gc: a block that was not freed changed")
		}
	}
	if got := m.call("state_clone", 7); got != 0 {
		t.Errorf("state_clone of an unknown handle: want 0, got %d", got)
	}
	m.call("cycle_end", 7)
}

func bytesOf(b byte, n int) []byte {
	s := make([]byte, n)
	for i := range s {
		s[i] = b
	}
	return s
}
