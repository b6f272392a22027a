// SPDX-License-Identifier: Apache-2.0

package weave_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/host/engine"
	"github.com/berth-scheduler/berth/host/engine/wasi"
	"github.com/berth-scheduler/berth/host/weave"
)

// goGuest is a guest of standard Go: maps, closures, garbage, recursion, a byte loop.
const goGuest = `package main

import (
	"sort"
	"strings"
)

//go:wasmexport work
func work(n uint32) uint64 {
	x := uint64(88172645463325252)
	var sum uint64
	list := make([]uint64, 0, n)
	m := map[uint64]uint64{}
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		list = append(list, x)
		m[x&1023] += x
	}
	sort.Slice(list, func(i, j int) bool { return list[i] < list[j] })
	for i, v := range list {
		sum = sum*31 + v ^ uint64(i)
	}
	for i := range uint64(1024) {
		sum += m[i]
	}
	return sum + uint64(len(strings.Repeat("berth ", int(n))))
}

//go:wasmexport fib
func fib(n uint32) uint32 {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

//go:wasmexport bytesum
func bytesum(n uint32) uint32 {
	b := make([]byte, 4096)
	var s uint32
	for r := range n {
		for i := range b {
			b[i] += byte(r)
			s += uint32(b[i])
		}
	}
	return s
}

//go:wasmexport deep
func deep(n uint32) uint32 {
	if n == 0 {
		return 1
	}
	return deep(n-1) + n
}

func main() {}
`

func buildGuest(tb testing.TB) []byte {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range map[string]string{"main.go": goGuest, "go.mod": "module guest\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	cmd := exec.CommandContext(tb.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-buildmode=c-shared", "-o", "guest.wasm", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	wasm, err := os.ReadFile(filepath.Join(dir, "guest.wasm"))
	if err != nil {
		tb.Fatal(err)
	}
	return wasm
}

// goInstance starts a Go guest.
func goInstance(tb testing.TB, m engine.Module) *guest {
	tb.Helper()
	g := instance(tb, m, wasi.NewState(wasi.Options{Seed: 1, Clock: 1}))
	if _, err := g.call("_initialize", 100_000_000); err != nil {
		tb.Fatal(err)
	}
	return g
}

func TestGoGuest(t *testing.T) {
	e := newEngine(t)
	wasm := buildGuest(t)
	woven, err := weave.Weave(wasm, weave.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, woven %d; %+v", len(wasm), len(woven.Wasm), woven.Shape)
	again, err := weave.Weave(wasm, weave.DefaultLimits())
	if err != nil || string(again.Wasm) != string(woven.Wasm) {
		t.Errorf("weaving the same again gives something else: %v", err)
	}

	plain := goInstance(t, compiled(t, e, wasm, wasi.HostFuncs()...))
	module := compiled(t, e, woven.Wasm, wasi.HostFuncs()...)
	first, second := goInstance(t, module), goInstance(t, module)
	for _, tt := range []struct {
		name  string
		param uint64
	}{{"fib", 15}, {"work", 2000}, {"bytesum", 20}, {"deep", 5000}, {"work", 5000}} {
		want, err := plain.call(tt.name, 0, tt.param)
		if err != nil {
			t.Fatal(err)
		}
		a, err := first.call(tt.name, 1_000_000_000, tt.param)
		if err != nil || a != want {
			t.Errorf("%s(%d): want %d, got %d, %v", tt.name, tt.param, want, a, err)
		}
		if _, err := second.call(tt.name, weave.MaxBudget, tt.param); err != nil || first.meter.Spent() != second.meter.Spent() {
			t.Errorf("%s(%d): one instance spent %d units, another %d, %v", tt.name, tt.param, first.meter.Spent(), second.meter.Spent(), err)
		}
	}
	// Go's own limit on its stack is far beyond.
	if _, err := first.call("deep", weave.MaxBudget, 1_000_000); err == nil || !first.meter.StackExhausted() {
		t.Errorf("a million calls: want an exhausted stack, got %v", err)
	}
}

// BenchmarkOverhead measures what weaving costs: the least time of a call of
// the woven module over that of the module as given, taken in turns.
func BenchmarkOverhead(b *testing.B) {
	e := newEngine(b)
	for _, guest := range []struct {
		name  string
		wasm  func(testing.TB) []byte
		start func(testing.TB, engine.Module) *guest
		calls map[string]uint64
	}{
		{"go", buildGuest, goInstance, map[string]uint64{"work": 3000, "fib": 20, "bytesum": 100}},
		{
			"wat", func(tb testing.TB) []byte { return testdata(tb, "sieve") },
			func(tb testing.TB, m engine.Module) *guest { return instance(tb, m, nil) },
			map[string]uint64{"sieve": 200_000, "fib": 22},
		},
	} {
		wasm := guest.wasm(b)
		plain := guest.start(b, compiled(b, e, wasm, wasi.HostFuncs()...))
		woven := guest.start(b, compiled(b, e, wovenOf(b, wasm, weave.DefaultLimits()), wasi.HostFuncs()...))
		for name, param := range guest.calls {
			b.Run(guest.name+"/"+name, func(b *testing.B) {
				least := [2]time.Duration{time.Hour, time.Hour}
				for b.Loop() {
					for i, g := range []*struct{ call func() error }{
						{func() error { _, err := plain.call(name, 0, param); return err }},
						{func() error { _, err := woven.call(name, weave.MaxBudget, param); return err }},
					} {
						begin := time.Now()
						if err := g.call(); err != nil {
							b.Fatal(err)
						}
						least[i] = min(least[i], time.Since(begin))
					}
				}
				b.ReportMetric(float64(least[1])/float64(least[0]), "ratio")
				b.ReportMetric(float64(least[1].Nanoseconds())/float64(woven.meter.Spent()), "ns/unit")
			})
		}
	}
}

func BenchmarkWeave(b *testing.B) {
	wasm := buildGuest(b)
	b.SetBytes(int64(len(wasm)))
	for b.Loop() {
		if _, err := weave.Weave(wasm, weave.DefaultLimits()); err != nil {
			b.Fatal(err)
		}
	}
}
