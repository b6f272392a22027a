// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// guest reads testdata/<name>.wasm and, where wat2wasm is at hand, checks that
// it is what the .wat beside it makes.
func guest(tb testing.TB, name string) []byte {
	tb.Helper()
	path := filepath.Join("testdata", name)
	wasm, err := os.ReadFile(path + ".wasm")
	if err != nil {
		tb.Fatal(err)
	}
	if tool, err := exec.LookPath("wat2wasm"); err == nil {
		out := filepath.Join(tb.TempDir(), name)
		if msg, err := exec.Command(tool, path+".wat", "-o", out).CombinedOutput(); err != nil {
			tb.Fatalf("%v: %s", err, msg)
		}
		if made, err := os.ReadFile(out); err != nil || !bytes.Equal(made, wasm) {
			tb.Fatalf("%s.wasm is not what wat2wasm makes of %s.wat: make it anew (%v)", name, name, err)
		}
	}
	return wasm
}

var errRefused = errors.New("refused")

// hostFuncs are what testdata/engine.wat imports, and one more.
func hostFuncs() []HostFunc {
	return []HostFunc{
		{Module: "env", Name: "unused", Call: func(Instance, []uint64) error { return nil }},
		{Module: "env", Name: "add", Params: []ValueType{I32, I32}, Results: []ValueType{I32},
			Call: func(_ Instance, stack []uint64) error {
				stack[0] = uint64(uint32(stack[0]) + uint32(stack[1]))
				return nil
			}},
		{Module: "env", Name: "fail", Params: []ValueType{I32}, Call: func(inst Instance, stack []uint64) error {
			switch stack[0] {
			case 0:
				return nil
			case 1:
				return errRefused
			case 2:
				return &ExitError{Code: 3}
			case 3:
				panic("out of luck")
			case 4:
				var m map[string]int
				m["x"]++
			case 5:
				f, _ := inst.Func("empty")
				return f.Call([]uint64{1})
			case 6:
				return inst.Close()
			}
			return nil
		}},
	}
}

func newEngine(tb testing.TB, opts WazeroOptions) *Wazero {
	tb.Helper()
	e, err := NewWazero(tb.Context(), opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Error(err)
		}
	})
	return e
}

func newInstance(tb testing.TB, m Module, data any) Instance {
	tb.Helper()
	i, err := m.Instantiate(tb.Context(), InstanceOptions{Data: data})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := i.Close(); err != nil {
			tb.Error(err)
		}
	})
	return i
}

func newModule(tb testing.TB, e Engine, name string, opts CompileOptions) Module {
	tb.Helper()
	m, err := e.Compile(tb.Context(), guest(tb, name), opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := m.Close(); err != nil {
			tb.Error(err)
		}
	})
	return m
}

func function(tb testing.TB, i Instance, name string) Func {
	tb.Helper()
	f, ok := i.Func(name)
	if !ok {
		tb.Fatalf("no export %q", name)
	}
	return f
}

func TestCall(t *testing.T) {
	m := newModule(t, newEngine(t, WazeroOptions{}), "engine", CompileOptions{Host: hostFuncs()})
	i := newInstance(t, m, "mine")
	for _, tt := range []struct {
		name        string
		stack, want []uint64
	}{
		{"empty", []uint64{41}, []uint64{41}},
		{"add", []uint64{40, 2}, []uint64{42, 2}},
		{"swap", []uint64{1, 2}, []uint64{2, 1}},
		{"fail", []uint64{0}, []uint64{0}},
	} {
		if err := function(t, i, tt.name).Call(tt.stack); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, tt.stack); diff != "" {
			t.Errorf("%s: stack (-want +got):\n%s", tt.name, diff)
		}
	}
	if err := function(t, i, "add").Call(make([]uint64, 1)); err == nil || !strings.Contains(err.Error(), "want a stack of 2, got 1") {
		t.Errorf("short stack: got %v", err)
	}
	if i.Data() != "mine" {
		t.Errorf("data: got %v", i.Data())
	}
	if _, ok := i.Func("none"); ok {
		t.Error("found a function that isn't exported")
	}
	if a, b := function(t, i, "add"), function(t, i, "add"); a != b {
		t.Error("two look-ups gave two functions")
	}
}

func TestTraps(t *testing.T) {
	m := newModule(t, newEngine(t, WazeroOptions{}), "engine", CompileOptions{Host: hostFuncs()})
	const nan = 0x7ff8 << 48
	for _, tt := range []struct {
		name   string
		arg    uint64
		reason Reason
		err    string
	}{
		{"unreachable", 0, ReasonUnreachable, "trap: unreachable"},
		{"outside", 0, ReasonMemory, "trap: out of bounds memory access"},
		{"null", 0, ReasonTable, "trap: out of bounds table access"},
		{"no_entry", 0, ReasonTable, "trap: out of bounds table access"},
		{"call_type", 0, ReasonCallType, "trap: indirect call type mismatch"},
		{"divide", 0, ReasonInteger, "trap: integer overflow or division by zero"},
		{"convert", nan, ReasonInteger, "trap: integer overflow or division by zero"},
		{"recurse", 0, ReasonStack, "trap: stack overflow"},
		{"fail", 1, ReasonHost, "trap: host function: refused"},
		{"fail", 2, ReasonExit, "trap: exit: exit code 3"},
		{"fail", 3, ReasonPanic, "trap: panic in a host function: out of luck"},
		{"fail", 4, ReasonPanic, "trap: panic in a host function: assignment to entry in nil map"},
		{"fail", 5, ReasonHost, "trap: host function: call: instance is in a call"},
	} {
		i := newInstance(t, m, nil)
		err := function(t, i, tt.name).Call([]uint64{tt.arg})
		var trap *Trap
		if !errors.As(err, &trap) {
			t.Errorf("%s(%d): want a trap, got %v", tt.name, tt.arg, err)
			continue
		}
		if trap.Reason != tt.reason || !strings.HasPrefix(trap.Error(), tt.err) || strings.Contains(trap.Error(), "\n") {
			t.Errorf("%s(%d): want %q, got %q (%q)", tt.name, tt.arg, tt.err, trap, trap.Reason)
		}
		if tt.reason != ReasonStack && trap.Stack == "" {
			t.Errorf("%s(%d): no stack", tt.name, tt.arg)
		}
	}

	i := newInstance(t, m, nil)
	err := function(t, i, "fail").Call([]uint64{1})
	if !errors.Is(err, errRefused) {
		t.Errorf("want the host function's error, got %v", err)
	}
	var exit *ExitError
	if err := function(t, newInstance(t, m, nil), "fail").Call([]uint64{2}); !errors.As(err, &exit) || exit.Code != 3 {
		t.Errorf("want exit code 3, got %v", err)
	}
}

func TestMemory(t *testing.T) {
	m := newModule(t, newEngine(t, WazeroOptions{}), "engine", CompileOptions{Host: hostFuncs(), MemoryPages: 4})
	i := newInstance(t, m, nil)
	mem := i.Memory()
	const page = 1 << 16
	for _, tt := range []struct {
		ptr, n uint32
		ok     bool
	}{
		{0, page, true}, {page, 0, true}, {page - 1, 1, true},
		{page - 1, 2, false}, {page + 1, 0, false}, {0, page + 1, false}, {1<<32 - 1, 1<<32 - 1, false}, {8, 1<<32 - 1, false},
	} {
		if _, ok := mem.Read(tt.ptr, tt.n); ok != tt.ok {
			t.Errorf("read(%d, %d): want %v, got %v", tt.ptr, tt.n, tt.ok, ok)
		}
		if tt.n <= 2*page {
			if ok := mem.Write(tt.ptr, make([]byte, tt.n)); ok != tt.ok {
				t.Errorf("write(%d, %d): want %v, got %v", tt.ptr, tt.n, tt.ok, ok)
			}
		}
	}
	if !mem.Write(5, []byte{9}) {
		t.Fatal("write failed")
	}
	stack := []uint64{5}
	if err := function(t, i, "peek").Call(stack); err != nil || stack[0] != 9 {
		t.Errorf("peek: want 9, got %d, %v", stack[0], err)
	}
	for _, tt := range []struct{ delta, want uint64 }{{1, 1}, {0, 2}, {3, 1<<32 - 1}, {2, 2}, {1, 1<<32 - 1}} {
		stack := []uint64{tt.delta}
		if err := function(t, i, "grow").Call(stack); err != nil || stack[0] != tt.want {
			t.Errorf("grow %d: want %d, got %d, %v", tt.delta, tt.want, stack[0], err)
		}
	}
	if mem.Size() != 4*page {
		t.Errorf("size: want %d, got %d", 4*page, mem.Size())
	}
	if b, ok := mem.Read(5, 1); !ok || b[0] != 9 {
		t.Error("growing lost what was in memory")
	}
	if b, ok := mem.Read(2*page, page); !ok || !bytes.Equal(b, make([]byte, page)) {
		t.Error("new memory is not zero")
	}
}

func TestGlobal(t *testing.T) {
	m := newModule(t, newEngine(t, WazeroOptions{}), "engine", CompileOptions{Host: hostFuncs()})
	i := newInstance(t, m, nil)
	g, ok := i.Global("cell")
	if !ok || g.Get() != 7 {
		t.Fatalf("cell: got %v, %v", g, ok)
	}
	g.Set(1 << 63)
	if g.Get() != 1<<63 {
		t.Errorf("cell: got %d", g.Get())
	}
	if g, ok := i.Global("i32"); !ok || int32(g.Get()) != -1 {
		t.Errorf("i32: got %v, %v", g, ok)
	}
	for _, name := range []string{"constant", "memory", "none"} {
		if _, ok := i.Global(name); ok {
			t.Errorf("%s: found a mutable global", name)
		}
	}
}

func TestClose(t *testing.T) {
	m := newModule(t, newEngine(t, WazeroOptions{}), "engine", CompileOptions{Host: hostFuncs()})
	i := newInstance(t, m, nil)
	f, mem := function(t, i, "empty"), i.Memory()
	for range 2 {
		if err := i.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Call([]uint64{1}); !errors.Is(err, ErrClosed) {
		t.Errorf("call: want ErrClosed, got %v", err)
	}
	if _, ok := mem.Read(0, 1); ok || mem.Write(0, []byte{1}) || mem.Size() != 0 {
		t.Error("memory is still there")
	}

	// Closed from within a call, the instance lives until the call ends.
	i = newInstance(t, m, nil)
	f, mem = function(t, i, "fail"), i.Memory()
	if err := f.Call([]uint64{6}); err != nil {
		t.Errorf("call during which the instance is closed: %v", err)
	}
	if err := f.Call([]uint64{0}); !errors.Is(err, ErrClosed) || mem.Size() != 0 {
		t.Errorf("call: want ErrClosed, got %v; memory of %d", err, mem.Size())
	}
}

func TestStart(t *testing.T) {
	e := newEngine(t, WazeroOptions{})
	var refuse error
	m := newModule(t, e, "start", CompileOptions{Host: []HostFunc{{
		Module: "env", Name: "started", Params: []ValueType{I32},
		Call: func(inst Instance, stack []uint64) error {
			b, _ := inst.Memory().Read(uint32(stack[0]), 4)
			*inst.Data().(*string) = string(b)
			return refuse
		},
	}}})
	var got string
	newInstance(t, m, &got)
	if got != "here" {
		t.Errorf("the start function saw %q", got)
	}
	refuse = errRefused
	_, err := m.Instantiate(t.Context(), InstanceOptions{Data: &got})
	var trap *Trap
	if !errors.As(err, &trap) || trap.Reason != ReasonHost || !errors.Is(err, errRefused) {
		t.Errorf("want a trap, got %v", err)
	}
}
