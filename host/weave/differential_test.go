// SPDX-License-Identifier: Apache-2.0

package weave_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/berth-scheduler/berth/host/engine"
	"github.com/berth-scheduler/berth/host/weave"
)

// outcome is all that can be seen of a call.
type outcome struct {
	result uint64
	trap   engine.Reason
	a, b   uint64
	memory []byte
}

func (g *guest) outcome(budget int64, params ...uint64) outcome {
	result, err := g.call("run", budget, params...)
	o := outcome{result: uint64(uint32(result))}
	var trap *engine.Trap
	if errors.As(err, &trap) {
		o.result, o.trap = 0, trap.Reason
	} else if err != nil {
		g.tb.Fatal(err)
	}
	for name, to := range map[string]*uint64{"a": &o.a, "b": &o.b} {
		global, _ := g.Global(name)
		*to = global.Get()
	}
	view, _ := g.Memory().Read(0, g.Memory().Size())
	o.memory = bytes.Clone(view)
	return o
}

func (o outcome) diff(p outcome) string {
	switch {
	case o.trap != p.trap:
		return fmt.Sprintf("trap: want %q, got %q", o.trap, p.trap)
	case o.result != p.result || o.a != p.a || o.b != p.b:
		return fmt.Sprintf("result and globals: want %d, %d, %d, got %d, %d, %d", o.result, o.a, o.b, p.result, p.a, p.b)
	case !bytes.Equal(o.memory, p.memory):
		return "memory differs"
	}
	return ""
}

// A woven module does what the module does, for the same price each time, and
// for half the price is cut.
func TestGeneratedModules(t *testing.T) {
	modules := 200
	if testing.Short() {
		modules = 30
	}
	ran, trapped, cut := 0, 0, 0
	for seed := range uint64(modules) {
		func() {
			// An engine a module keeps none of their code.
			e := newEngine(t)
			wasm := generate(seed)
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			woven := compiled(t, e, wovenOf(t, wasm, weave.DefaultLimits()))
			plain := compiled(t, e, wasm)
			for _, params := range [][]uint64{{0, 0}, {7, 1}, {1 << 31, 12345}} {
				g := instance(t, woven, nil)
				got := g.outcome(30_000_000, params...)
				if g.meter.OutOfFuel() {
					cut++
					continue
				}
				ran++
				want := instance(t, plain, nil).outcome(0, params...)
				if want.trap != "" {
					trapped++
				}
				if diff := want.diff(got); diff != "" {
					t.Fatalf("seed %d, run(%v): %s", seed, params, diff)
				}
				spent := g.meter.Spent()
				g = instance(t, woven, nil)
				if diff := got.diff(g.outcome(weave.MaxBudget, params...)); diff != "" || g.meter.Spent() != spent {
					t.Fatalf("seed %d, run(%v) again: %s; want %d units, got %d", seed, params, diff, spent, g.meter.Spent())
				}
				if stack, _ := g.Global(weave.StackExport); got.trap == "" && stack.Get() != weave.StackBytes {
					t.Fatalf("seed %d, run(%v): stack of %d left", seed, params, stack.Get())
				}
				// Fuel is looked at within 2,048 units of each way, and a trap
				// hides those since the last call.
				if got.trap == "" && spent > 20_000 {
					g = instance(t, woven, nil)
					if half := g.outcome(spent/2, params...); half.trap != engine.ReasonUnreachable || !g.meter.OutOfFuel() {
						t.Fatalf("seed %d, run(%v) for half of %d units: %q", seed, params, spent, half.trap)
					}
				}
			}
		}()
	}
	t.Logf("%d runs, of which %d trapped; %d more were cut", ran, trapped, cut)
	if ran < modules || trapped == 0 || trapped > ran/2 {
		t.Errorf("the generated modules say little: %d runs, %d traps", ran, trapped)
	}
}
