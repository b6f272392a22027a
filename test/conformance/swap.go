// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// testSwap replaces versions under cycles: a cycle ends on the version that it
// began with, and nothing of an old version stays.
func testSwap(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{})
	w.AddNodes(node("n1", "a", 4), node("n2", "b", 4))
	policy := func(name, config string) Policy {
		return Policy{Name: name, Module: goGuest(t, chameleon), Config: config, Fields: inNamespace(name)}
	}
	p := pod("p").Namespace("s").Obj()
	name := w.Load(policy("s", "{filter: reject, value: 7}"))
	rejected := "Unschedulable: " + name + ": told to reject"

	t.Run("within a cycle", func(t *testing.T) {
		fw, state := w.framework(p), framework.NewCycleState()
		w.Refresh()
		nodes, err := w.snapshot.ListNodesInPlacement()
		if err != nil {
			t.Fatal(err)
		}
		if _, s, _ := fw.RunPreFilterPlugins(w.ctx, state, p); !s.IsSuccess() {
			t.Fatal(describe(s))
		}
		first := describe(fw.RunFilterPlugins(w.ctx, state, p, nodes[0]))
		w.Load(policy("s", "{filter: accept, value: 7}"))
		if n := liveInstances(w, name); n != 2 {
			t.Errorf("want the old version alive while its cycle is, got %v instances", n)
		}
		second := describe(fw.RunFilterPlugins(w.ctx, state, p, nodes[1]))
		if first != rejected || second != rejected {
			t.Errorf("want both nodes judged by the version that the cycle began with, got %q and %q", first, second)
		}
		if got := w.Evaluate(p).Nodes["n1"]; got != "" {
			t.Errorf("want the next cycle on the new version, got %q", got)
		}
		w.Eventually("the old version is closed", func() bool { return liveInstances(w, name) == 1 })
	})
	t.Run("beyond Reserve", func(t *testing.T) {
		a := w.Evaluate(p)
		if s := a.fw.RunReservePluginsReserve(w.ctx, a.State, p, "n1"); !s.IsSuccess() {
			t.Fatal(describe(s))
		}
		w.Load(policy("s", "{filter: reject, value: 8}"))
		w.Evaluate(p) // the next serial cycle doesn't end one that binds
		if n := liveInstances(w, name); n != 2 {
			t.Errorf("want the old version alive until its pod is bound, got %v instances", n)
		}
		a.fw.RunPostBindPlugins(w.ctx, a.State, p, "n1")
		w.Eventually("the old version is closed", func() bool { return liveInstances(w, name) == 1 })

		b := w.Evaluate(p)
		b.fw.RunReservePluginsReserve(w.ctx, b.State, p, "n1")
		w.Load(policy("s", "{filter: reject, value: 9}"))
		b.fw.RunReservePluginsUnreserve(w.ctx, b.State, p, "n1")
		b.fw.RunReservePluginsUnreserve(w.ctx, b.State, p, "n1") // it is idempotent
		w.Eventually("the old version is closed", func() bool { return liveInstances(w, name) == 1 })
	})
	t.Run("under load", func(t *testing.T) { swapUnderLoad(t, w, policy) })
	t.Run("nothing new", func(t *testing.T) {
		before := swaps(w, name, "active")
		same := policy("s", "{value: 9, filter: reject}") // the order of keys says nothing
		same.Fields = "# a comment\nweight: 1\n" + same.Fields
		w.write(same)
		w.Load(policy("marker", "{filter: accept}")) // comes later than the rewrite
		w.write(policy("s", "{filter: reject, value: 9}"))
		w.Load(policy("marker", "{filter: accept, value: 1}"))
		if got := swaps(w, name, "active"); got != before {
			t.Errorf("want no swap, got %v", got-before)
		}
	})
	t.Run("two with the same bytes", func(t *testing.T) {
		w.Load(policy("twin", "{filter: unresolvable}"))
		w.Remove("twin")
		if got := w.Evaluate(p).Nodes["n1"]; got != rejected {
			t.Errorf("want the other policy as before, got %q", got)
		}
		if got := w.Evaluate(pod("q").Namespace("twin").Obj()).Nodes["n1"]; got != "" {
			t.Errorf("want the removed policy without a say, got %q", got)
		}
		if n := liveInstances(w, w.Named("twin")); n != 0 {
			t.Errorf("want no instance of the removed policy, got %v", n)
		}
	})
}

// swapUnderLoad swaps while cycles run one after another. Every cycle's verdicts
// are of one version; afterwards one instance is left.
func swapUnderLoad(t *testing.T, w *World, policy func(name, config string) Policy) {
	name := w.Load(policy("load", "{filter: reject}"))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var mixed []string
	seen := map[string]int{}
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			a := w.Evaluate(pod(fmt.Sprint("load-", i)).Namespace("load").Obj())
			if a.Nodes["n1"] != a.Nodes["n2"] {
				mixed = append(mixed, cmp.Diff(a.Nodes["n1"], a.Nodes["n2"]))
			}
			code, _, _ := strings.Cut(a.Nodes["n1"], ":")
			seen[code]++
		}
	})
	for i := range 8 {
		w.Load(policy("load", []string{"{filter: unresolvable}", "{filter: reject}"}[i%2]))
	}
	close(stop)
	wg.Wait()
	if len(mixed) > 0 {
		t.Errorf("want one version a cycle, got %d mixed ones, the first %s", len(mixed), mixed[0])
	}
	if seen["Unschedulable"] == 0 || seen["UnschedulableAndUnresolvable"] == 0 || len(seen) != 2 {
		t.Errorf("want cycles on both versions and no others, got %v", seen)
	}
	w.Evaluate(pod("last").Namespace("none").Obj()) // ends the last cycle
	w.Eventually("one instance is left", func() bool { return liveInstances(w, name) == 1 })
}
