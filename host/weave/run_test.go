// SPDX-License-Identifier: Apache-2.0

package weave_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/berth-scheduler/berth/host/engine"
	"github.com/berth-scheduler/berth/host/weave"
)

// testdata reads testdata/<name>.wasm and, where wat2wasm is at hand, checks
// that it is what the .wat beside it makes.
func testdata(tb testing.TB, name string) []byte {
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

func wovenOf(tb testing.TB, wasm []byte, limits weave.Limits) []byte {
	tb.Helper()
	r, err := weave.Weave(wasm, limits)
	if err != nil {
		tb.Fatal(err)
	}
	return r.Wasm
}

func newEngine(tb testing.TB) engine.Engine {
	tb.Helper()
	e, err := engine.NewWazero(tb.Context(), engine.WazeroOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = e.Close() })
	return e
}

// guest is an instance; meter is set if its module is woven.
type guest struct {
	engine.Instance
	tb    testing.TB
	meter *weave.Meter
}

func compiled(tb testing.TB, e engine.Engine, wasm []byte, host ...engine.HostFunc) engine.Module {
	tb.Helper()
	m, err := e.Compile(tb.Context(), wasm, engine.CompileOptions{Host: host, MemoryPages: 1024})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = m.Close() })
	return m
}

func instance(tb testing.TB, m engine.Module, data any) *guest {
	tb.Helper()
	i, err := m.Instantiate(tb.Context(), engine.InstanceOptions{Data: data})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = i.Close() })
	g := &guest{Instance: i, tb: tb}
	if fuel, ok := i.Global(weave.FuelExport); ok {
		g.meter = &weave.Meter{Fuel: fuel}
		g.meter.Budget, _ = i.Global(weave.BudgetExport)
		g.meter.Stack, _ = i.Global(weave.StackExport)
	}
	return g
}

// call grants a budget, calls, and returns the first result.
func (g *guest) call(name string, budget int64, params ...uint64) (uint64, error) {
	g.tb.Helper()
	f, ok := g.Func(name)
	if !ok {
		g.tb.Fatalf("no export %q", name)
	}
	if g.meter != nil {
		g.meter.Grant(budget)
	}
	stack := append(params, 0)
	err := f.Call(stack)
	return stack[0], err
}

// work is the host function of testdata/fuel.wat: it charges its parameter.
func work(meter func(engine.Instance) *weave.Meter) engine.HostFunc {
	return engine.HostFunc{Module: "env", Name: "work", Params: []engine.ValueType{engine.I32}, Call: func(i engine.Instance, stack []uint64) error {
		if !meter(i).Charge(int64(uint32(stack[0]))) {
			return errors.New("out of fuel")
		}
		return nil
	}}
}

func ownMeter(i engine.Instance) *weave.Meter { return (*i.Data().(**guest)).meter }

func fuelGuests(tb testing.TB) func() *guest {
	tb.Helper()
	m := compiled(tb, newEngine(tb), wovenOf(tb, testdata(tb, "fuel"), weave.DefaultLimits()), work(ownMeter))
	return func() *guest {
		var g *guest
		g = instance(tb, m, &g)
		return g
	}
}

func TestOutOfFuel(t *testing.T) {
	fresh := fuelGuests(t)
	for _, tt := range []struct {
		name   string
		budget int64
		params []uint64
	}{
		{"loop", 0, nil},
		{"loop", 1, nil},
		{"loop", 10_000_000, nil},
		{"loop_params", 10_000_000, []uint64{0}},
		{"tree", 10_000_000, nil},
		{"recurse", 100_000, []uint64{0}},
		{"count", 1_000_000, []uint64{1 << 30}},
		{"fill", 8 << 20, []uint64{64 << 20}},
		{"fill", 1_000_000, []uint64{1<<32 - 1}},
		{"copy", 1_000_000, []uint64{1<<32 - 1}},
		{"init", 1_000_000, []uint64{1<<32 - 1}},
		{"grow", 1_000_000, []uint64{1000}},
		{"grow", 1 << 40, []uint64{1<<32 - 1}},
		{"table_grow", 10_000, []uint64{20_000}},
		{"table_grow", 1_000_000_000, []uint64{1<<32 - 1}},
		{"table_fill", 1_000_000, []uint64{1<<32 - 1}},
		{"work", 1000, []uint64{1001}},
	} {
		g := fresh()
		_, err := g.call(tt.name, tt.budget, tt.params...)
		var trap *engine.Trap
		if !errors.As(err, &trap) || tt.name != "work" && trap.Reason != engine.ReasonUnreachable {
			t.Errorf("%s(%v) for %d: want to be cut, got %v", tt.name, tt.params, tt.budget, err)
		}
		if !g.meter.OutOfFuel() || g.meter.StackExhausted() || g.meter.Spent() != tt.budget+1 {
			t.Errorf("%s(%v) for %d: want all fuel spent, got %d", tt.name, tt.params, tt.budget, g.meter.Spent())
		}
	}
}

func TestStackExhausted(t *testing.T) {
	g := fuelGuests(t)()
	_, err := g.call("recurse", 1<<40, 0)
	var trap *engine.Trap
	if !errors.As(err, &trap) || trap.Reason != engine.ReasonUnreachable || !g.meter.StackExhausted() || g.meter.OutOfFuel() {
		t.Errorf("want an exhausted stack, got %v", err)
	}
	if got := g.meter.Spent(); got < 500_000 || got > 5_000_000 {
		t.Errorf("want about 80,000 calls' fuel spent, got %d", got)
	}
}

// What calls take is given back when they return.
func TestStackGivenBack(t *testing.T) {
	m := compiled(t, newEngine(t), wovenOf(t, testdata(t, "sieve"), weave.DefaultLimits()))
	g := instance(t, m, nil)
	before := g.meter.Stack.Get()
	for range 3 {
		if got, err := g.call("fib", 1<<40, 20); err != nil || got != 6765 {
			t.Fatalf("got %d, %v", got, err)
		}
	}
	if after := g.meter.Stack.Get(); after != before || before != weave.StackBytes {
		t.Errorf("stack: want %d, got %d, then %d", weave.StackBytes, before, after)
	}
}

// Prices are exact, whatever the budget.
func TestSpent(t *testing.T) {
	fresh := fuelGuests(t)
	for _, tt := range []struct {
		name   string
		params []uint64
		want   int64
	}{
		{"nothing", nil, 1},                     // the least of an entry
		{"add", []uint64{1, 2}, 3},              // two gets and an add
		{"count", []uint64{1}, 1 + 8 + 1},       // the loop's opening, an iteration, a get
		{"count", []uint64{10}, 1 + 80 + 1},     //
		{"count", []uint64{1000}, 1 + 8000 + 1}, //
		{"count", []uint64{1_000_000}, 1 + 8_000_000 + 1},
		{"work", []uint64{0}, 5},
		{"work", []uint64{12345}, 5 + 12345},
		{"fill", []uint64{0}, 13},
		{"fill", []uint64{7}, 13},
		{"fill", []uint64{8}, 14},
		{"fill", []uint64{65536}, 13 + 8192},
		{"grow", []uint64{0}, 33},
		{"grow", []uint64{2}, 33 + 2*16384},
		{"table_grow", []uint64{9}, 34 + 9},
		{"size", nil, 1},
	} {
		for _, budget := range []int64{tt.want, tt.want + 1, 100_000_000, weave.MaxBudget} {
			g := fresh()
			for i := range 2 {
				if _, err := g.call(tt.name, budget, tt.params...); err != nil {
					t.Fatalf("%s(%v) for %d: %v", tt.name, tt.params, budget, err)
				}
				if got := g.meter.Spent(); got != tt.want {
					t.Errorf("%s(%v) for %d, call %d: want %d, got %d", tt.name, tt.params, budget, i, tt.want, got)
				}
			}
		}
		// One unit less is noticed where fuel is looked at, else the end overdraws.
		g := fresh()
		if _, err := g.call(tt.name, tt.want-1, tt.params...); err == nil && g.meter.Left() != -1 || err != nil && !g.meter.OutOfFuel() {
			t.Errorf("%s(%v): one unit less: %d left, %v", tt.name, tt.params, g.meter.Left(), err)
		}
	}
}

// The module's memory and tables get a maximum.
func TestMaximum(t *testing.T) {
	limits := weave.DefaultLimits()
	limits.MemoryPages, limits.TableEntries = 4, 100
	m := compiled(t, newEngine(t), wovenOf(t, testdata(t, "fuel"), limits), work(ownMeter))
	g := instance(t, m, nil)
	for _, tt := range []struct {
		name        string
		param, want uint64
	}{
		{"grow", 4, 1<<32 - 1}, {"grow", 3, 1}, {"grow", 1, 1<<32 - 1}, {"size", 0, 4},
		{"table_grow", 100, 1<<32 - 1}, {"table_grow", 99, 1}, {"table_grow", 1, 1<<32 - 1},
	} {
		if got, err := g.call(tt.name, 1<<40, tt.param); err != nil || uint32(got) != uint32(tt.want) {
			t.Errorf("%s(%d): want %d, got %d, %v", tt.name, tt.param, tt.want, got, err)
		}
	}
}

func TestStartBudget(t *testing.T) {
	e := newEngine(t)
	for _, budget := range []int64{0, 1000, 20_000_000} {
		limits := weave.DefaultLimits()
		limits.StartFuel = budget
		m := compiled(t, e, wovenOf(t, testdata(t, "start"), limits))
		_, err := m.Instantiate(t.Context(), engine.InstanceOptions{})
		var trap *engine.Trap
		if !errors.As(err, &trap) || trap.Reason != engine.ReasonUnreachable {
			t.Errorf("a start function that never ends, for %d: got %v", budget, err)
		}
	}
}

// Bulk instructions do the same in pieces, and trap before they write.
func TestPieces(t *testing.T) {
	e := newEngine(t)
	wasm := testdata(t, "bulk")
	plain := instance(t, compiled(t, e, wasm), nil)
	woven := instance(t, compiled(t, e, wovenOf(t, wasm, weave.DefaultLimits())), nil)
	const size = 64 << 16
	const mib = 1 << 20
	pattern := make([]byte, size)
	for i := range pattern {
		pattern[i] = byte(i * 2654435761 >> 13)
	}
	for _, g := range []*guest{plain, woven} {
		g.Memory().Write(0, pattern)
	}
	lengths := []uint64{0, 1, mib - 1, mib, mib + 1, 2 * mib, 3*mib + 7, size, size + 1, 1<<32 - 1}
	places := []uint64{0, 3, mib - 5, mib, size - 2*mib - 1, size, 1<<32 - 1}
	for _, n := range lengths {
		for _, to := range places {
			for _, from := range places {
				for _, name := range []string{"copy", "fill"} {
					if name == "fill" && from > 3 {
						continue
					}
					_, err1 := plain.call(name, 0, to, from, n)
					_, err2 := woven.call(name, weave.MaxBudget, to, from, n)
					if !sameTrap(err1, err2) {
						t.Fatalf("%s(%d, %d, %d): want %v, got %v", name, to, from, n, err1, err2)
					}
				}
			}
		}
		a, _ := plain.Memory().Read(0, size)
		b, _ := woven.Memory().Read(0, size)
		if !bytes.Equal(a, b) {
			t.Fatalf("memory differs after lengths up to %d", n)
		}
	}
}

func sameTrap(a, b error) bool {
	var ta, tb *engine.Trap
	if errors.As(a, &ta) != errors.As(b, &tb) {
		return false
	}
	return ta == nil || ta.Reason == tb.Reason
}

// A guest that runs long doesn't keep the garbage collector waiting until its end.
func TestCollectorGetsIn(t *testing.T) {
	fresh := fuelGuests(t)
	for _, tt := range []struct {
		name   string
		params []uint64
	}{
		{"loop", nil}, {"tree", nil},
	} {
		g := fresh()
		var began, ended atomic.Bool
		done := make(chan error)
		f, _ := g.Func(tt.name)
		g.meter.Grant(4_000_000_000)
		go func() {
			began.Store(true)
			err := f.Call(append(tt.params, 0))
			ended.Store(true)
			done <- err
		}()
		for !began.Load() {
			runtime.Gosched()
		}
		runtime.GC()
		if ended.Load() {
			t.Errorf("%s: the collector waited until the guest ended", tt.name)
		}
		if err := <-done; err == nil || !g.meter.OutOfFuel() {
			t.Errorf("%s: want to be cut, got %v", tt.name, err)
		}
	}
}

func TestMeter(t *testing.T) {
	for _, tt := range []struct{ units, fuel, budget int64 }{
		{-1, 0, 0}, {0, 0, 0}, {1, 1, 0},
		{weave.SliceUnits, weave.SliceUnits, 0}, {weave.SliceUnits + 1, weave.SliceUnits, 1},
		{1 << 62, weave.SliceUnits, weave.MaxBudget - weave.SliceUnits},
	} {
		if f, b := weave.Split(tt.units); f != tt.fuel || b != tt.budget {
			t.Errorf("split %d: want %d and %d, got %d and %d", tt.units, tt.fuel, tt.budget, f, b)
		}
	}
	g := fuelGuests(t)()
	g.meter.Grant(1000)
	if g.meter.Charge(400); g.meter.Spent() != 400 || g.meter.Left() != 600 {
		t.Errorf("got %d spent, %d left", g.meter.Spent(), g.meter.Left())
	}
	if !g.meter.Charge(-5) || !g.meter.Charge(600) || g.meter.OutOfFuel() || g.meter.Charge(1) || !g.meter.OutOfFuel() {
		t.Error("want the budget to reach exactly that far")
	}
	if g.meter.Charge(1<<63 - 1) {
		t.Error("charged more than there is")
	}
}

// Caches key by Version, so that the output must not change without it.
func TestVersion(t *testing.T) {
	hash := sha256.New()
	for _, name := range []string{"fuel", "bulk", "start", "sieve"} {
		hash.Write(wovenOf(t, testdata(t, name), weave.DefaultLimits()))
	}
	for seed := range uint64(20) {
		hash.Write(wovenOf(t, generate(seed), weave.DefaultLimits()))
	}
	const version, sum = "berth-weave-1", "cb130cacd8549e4e"
	if got := hex.EncodeToString(hash.Sum(nil))[:16]; weave.Version != version || got != sum {
		t.Errorf("the output changed: raise Version and record it here: %q, %q", weave.Version, got)
	}
}
