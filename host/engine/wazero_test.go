// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestCompileRefuses(t *testing.T) {
	e := newEngine(t, WazeroOptions{CacheDir: cacheDir(t)})
	other := hostFuncs()
	other[1].Params = []ValueType{I64, I32}
	for name, tt := range map[string]struct {
		wasm []byte
		opts CompileOptions
		want string
	}{
		"nothing":     {nil, CompileOptions{}, "compile: "},
		"truncated":   {guest(t, "engine")[:100], CompileOptions{Host: hostFuncs()}, "compile: "},
		"no function": {guest(t, "engine"), CompileOptions{}, `compile: import "env" "add": the host has no such function`},
		"signature":   {guest(t, "engine"), CompileOptions{Host: other}, `compile: import "env" "add": want (i64 i32) -> (i32), got (i32 i32) -> (i32)`},
		"memory":      {guest(t, "engine"), CompileOptions{Host: hostFuncs(), MemoryPages: 65537}, "compile: memory pages: want at most 65536, got 65537"},
		"less memory": {guest(t, "engine"), CompileOptions{Host: hostFuncs(), MemoryPages: 3}, "compile: section memory: max 4 pages"},
	} {
		_, err := e.Compile(t.Context(), tt.wasm, tt.opts)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: want %q, got %v", name, tt.want, err)
		}
	}
}

func cacheDir(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "cache")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func entries(t *testing.T, dir string) []string {
	files, err := filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestCacheDir(t *testing.T) {
	dir := cacheDir(t)
	run := func(what string) {
		t.Helper()
		e, err := NewWazero(t.Context(), WazeroOptions{CacheDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		m, err := e.Compile(t.Context(), guest(t, "engine"), CompileOptions{Host: hostFuncs()})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		defer m.Close()
		i, err := m.Instantiate(t.Context(), InstanceOptions{})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		defer i.Close()
		stack := []uint64{1, 2}
		if err := function(t, i, "add").Call(stack); err != nil || stack[0] != 3 {
			t.Errorf("%s: got %d, %v", what, stack[0], err)
		}
	}
	run("compiled")
	files := entries(t, dir)
	if len(files) != 1 {
		t.Fatalf("want 1 entry, got %q", files)
	}
	run("from the cache")

	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, broken := range map[string][]byte{
		"empty":     {},
		"garbage":   []byte(strings.Repeat("garbage", 1000)),
		"truncated": whole[:len(whole)/2],
		"flipped":   append(append([]byte{}, whole[:len(whole)/2]...), append([]byte{^whole[len(whole)/2]}, whole[len(whole)/2+1:]...)...),
	} {
		if err := os.WriteFile(files[0], broken, 0o600); err != nil {
			t.Fatal(err)
		}
		run(name)
		run(name + ", again")
	}

	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := NewWazero(t.Context(), WazeroOptions{CacheDir: dir}); err == nil || !strings.Contains(err.Error(), "want mode 0700, got 0755") {
		t.Errorf("a directory open to others: got %v", err)
	}
}

// One engine serves any number of goroutines, and the same bytes twice.
func TestConcurrentModules(t *testing.T) {
	e := newEngine(t, WazeroOptions{})
	first := newModule(t, e, "engine", CompileOptions{Host: hostFuncs()})
	inst := newInstance(t, first, nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				m, err := e.Compile(t.Context(), guest(t, "engine"), CompileOptions{Host: hostFuncs()})
				if err != nil {
					t.Error(err)
					return
				}
				i, err := m.Instantiate(t.Context(), InstanceOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				stack := []uint64{20, 22}
				if err := function(t, i, "add").Call(stack); err != nil || stack[0] != 42 {
					t.Errorf("got %d, %v", stack[0], err)
				}
				if err := i.Close(); err != nil {
					t.Error(err)
				}
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	stack := []uint64{1, 2}
	if err := function(t, inst, "add").Call(stack); err != nil || stack[0] != 3 {
		t.Errorf("after others of the same bytes were closed: got %d, %v", stack[0], err)
	}
}

// A module that comes and goes leaves nothing behind.
func TestNoLeak(t *testing.T) {
	e := newEngine(t, WazeroOptions{})
	wasm := guest(t, "engine")
	once := func() {
		m, err := e.Compile(t.Context(), wasm, CompileOptions{Host: hostFuncs()})
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			i, err := m.Instantiate(t.Context(), InstanceOptions{})
			if err != nil {
				t.Fatal(err)
			}
			_ = function(t, i, "unreachable").Call([]uint64{0})
			if err := i.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	measure := func() (heap, memory uint64) {
		runtime.GC()
		runtime.GC() // what finalizers held
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc, mapped(t)
	}
	for range 20 {
		once()
	}
	heap, maps := measure()
	for range 200 {
		once()
	}
	heapAfter, mapsAfter := measure()
	if heapAfter > heap+(1<<20) {
		t.Errorf("heap grew from %d to %d bytes", heap, heapAfter)
	}
	if mapsAfter > maps+leaked/2 {
		t.Errorf("mapped memory grew from %d to %d bytes", maps, mapsAfter)
	}
}

// Nor does an instance whose start function fails.
func TestNoLeakAtStart(t *testing.T) {
	m := newModule(t, newEngine(t, WazeroOptions{}), "start", CompileOptions{Host: []HostFunc{{
		Module: "env", Name: "started", Params: []ValueType{I32},
		Call: func(Instance, []uint64) error { return errRefused },
	}}})
	before := mapped(t)
	for range leaked >> 16 {
		if _, err := m.Instantiate(t.Context(), InstanceOptions{}); err == nil {
			t.Fatal("want an error")
		}
	}
	if after := mapped(t); after > before+leaked/2 {
		t.Errorf("mapped memory grew from %d to %d bytes", before, after)
	}
}

// leaked is what the tests for leaks would leak: far more than Go's heap takes meanwhile.
const leaked = 256 << 20

// mapped is the size of the process's writable memory without a file.
func mapped(t *testing.T) uint64 {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	var sum uint64
	for line := range strings.Lines(string(maps)) {
		var from, to uint64
		var mode string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); err == nil && mode == "rw-p" {
			sum += to - from
		}
	}
	return sum
}

func TestVersion(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t, WazeroOptions{})
	if want := "github.com/tetratelabs/wazero " + e.Version(); !strings.Contains(string(mod), want) || e.Name() != "wazero" {
		t.Errorf("go.mod has not %q", want)
	}
}

func TestCallAllocatesNothing(t *testing.T) {
	m := newModule(t, newEngine(t, WazeroOptions{}), "engine", CompileOptions{Host: hostFuncs()})
	i := newInstance(t, m, nil)
	stack := []uint64{1, 2}
	for _, name := range []string{"empty", "add"} {
		f := function(t, i, name)
		if n := testing.AllocsPerRun(1000, func() { _ = f.Call(stack) }); n != 0 {
			t.Errorf("%s: want 0 allocations, got %v", name, n)
		}
	}
}

func benchmarkInstance(b *testing.B) Instance {
	m := newModule(b, newEngine(b, WazeroOptions{}), "engine", CompileOptions{Host: hostFuncs()})
	return newInstance(b, m, nil)
}

func BenchmarkEmptyCall(b *testing.B) {
	f := function(b, benchmarkInstance(b), "empty")
	stack := []uint64{1}
	for b.Loop() {
		if err := f.Call(stack); err != nil {
			b.Fatal(err)
		}
	}
}

// The difference to BenchmarkEmptyCall is one host call.
func BenchmarkHostCall(b *testing.B) {
	f := function(b, benchmarkInstance(b), "add")
	stack := []uint64{1, 2}
	for b.Loop() {
		if err := f.Call(stack); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMemoryWrite(b *testing.B) {
	mem := benchmarkInstance(b).Memory()
	data := make([]byte, 1024)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if !mem.Write(4096, data) {
			b.Fatal("outside")
		}
	}
}

func BenchmarkMemoryRead(b *testing.B) {
	mem := benchmarkInstance(b).Memory()
	for b.Loop() {
		if _, ok := mem.Read(4096, 1024); !ok {
			b.Fatal("outside")
		}
	}
}

func BenchmarkGlobal(b *testing.B) {
	g, _ := benchmarkInstance(b).Global("cell")
	for b.Loop() {
		g.Set(g.Get() + 1)
	}
}

func BenchmarkInstantiate(b *testing.B) {
	m := newModule(b, newEngine(b, WazeroOptions{}), "engine", CompileOptions{Host: hostFuncs()})
	for b.Loop() {
		i, err := m.Instantiate(b.Context(), InstanceOptions{})
		if err != nil {
			b.Fatal(err)
		}
		_ = i.Close()
	}
}
