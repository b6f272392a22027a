// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	bm "github.com/berth-scheduler/berth/host/metrics"
)

// testSoak runs enough cycles for several garbage collections: the instances
// stay, and their memory doesn't grow with the number of cycles.
func testSoak(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{Fit: true})
	cluster(w, 20)
	w.Nominate(pod("vip").Priority(100).Label("group", "g0").Obj(), "n001")
	names := []string{
		w.Load(Policy{Name: "state", Module: goGuest(t, stateful), Config: "{most: 30}"}),
		w.Load(Policy{Name: "plain", Module: goGuest(t, chameleon), Config: "{filter: room, score: free}"}),
	}
	memory := map[string]float64{}
	for i := range 900 {
		p := pod(fmt.Sprint("p", i)).Priority(10).Label("group", "g0").Label("app", fmt.Sprint("app-", i)).Req(map[v1.ResourceName]string{"cpu": "100m"}).Obj()
		if a := w.Evaluate(p); a.PreFilter != "" || a.Score != "" || len(a.feasible) == 0 {
			t.Fatalf("cycle %d: want nodes, got %+v", i, a.Outcome())
		}
		if i%9 == 0 { // clones of the cycle state
			big := p.DeepCopy()
			big.Spec.Containers[0].Resources.Requests = v1.ResourceList{"cpu": *p.Spec.Containers[0].Resources.Requests.Cpu()}
			w.Filter(big, 0).Preempt()
		}
		for _, n := range names {
			m := guestMemory(w, n)
			if i == 400 {
				memory[n] = m
			}
			if i > 400 && m > memory[n]+4<<20 {
				t.Fatalf("cycle %d: %s: want about the %v bytes of cycle 400, got %v", i, n, memory[n], m)
			}
		}
	}
	for _, n := range names {
		if got := w.instances(n); got != 0 {
			t.Errorf("%s: want the first instance all the time, got %v replaced", n, got)
		}
		if memory[n] == 0 {
			t.Errorf("%s: want garbage collected by cycle 400, got no measurement", n)
		}
	}
}

// testStrings has pods with ever new labels, more than a policy's table of
// strings holds: a new table is started between cycles, and no pod notices.
func testStrings(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{})
	w.AddNodes(node("n1", "a", 4), node("n2", "b", 4))
	name := w.Load(Policy{Name: "labels", Module: goGuest(t, chameleon), Config: "{filter: label, label: colour}"})
	for i := range 100 {
		p := pod(fmt.Sprint("p", i))
		for j := range 100 {
			p.Label(fmt.Sprintf("%d-%d-%s", i, j, strings.Repeat("k", 4000)), "")
		}
		a := w.Evaluate(p.Obj())
		if a.PreFilter != "" || a.Nodes["n1"] != "" || a.Nodes["n2"] != "" || a.Score != "" {
			t.Fatalf("pod %d: want it unaffected, got %.300s", i, fmt.Sprint(a.Outcome()))
		}
	}
	if n := liveInstances(w, name); n != 1 {
		t.Errorf("want one live instance, got %v", n)
	}
	if n := w.faults(name, "filter", "memory"); n != 0 {
		t.Errorf("want no fault, got %v", n)
	}
}

// testStringsWhileBinding has strings without end while a pod, whose cycle has a
// state, is on its way to its node: the state outlives a crowded table.
func testStringsWhileBinding(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{})
	w.AddNodes(node("n1", "a", 4))
	name := w.Load(binding(t, "crowd", "{keeps: true}", ""))
	crowd := func(from, to int) {
		for i := from; i < to; i++ {
			p := pod(fmt.Sprint("crowd-", i)).Namespace("crowd")
			for j := range 100 {
				p.Label(fmt.Sprintf("%d-%d-%s", i, j, strings.Repeat("k", 4000)), "")
			}
			w.Evaluate(p.Obj())
		}
	}
	p := pod("crowd").Namespace("crowd").Obj()
	a := w.Evaluate(p)
	if s := a.fw.RunReservePluginsReserve(w.ctx, a.State, p, "n1"); !s.IsSuccess() {
		t.Fatal(describe(s))
	}
	crowd(0, 70) // three quarters are 63
	if s := a.fw.RunPreBindPlugins(w.ctx, a.State, p, "n1"); !s.IsSuccess() {
		t.Errorf("want the state kept, got %s", describe(s))
	}
	a.fw.RunPostBindPlugins(w.ctx, a.State, p, "n1")
	crowd(70, 100)
	if n := w.faults(name, "pre_filter", "memory"); n != 0 {
		t.Errorf("want the table left when nobody needs the state, got %v faults", n)
	}
}

// testManyFaults has a policy that fails on each of many nodes and is to be
// ignored: it is asked a few times in a cycle, not once a node.
func testManyFaults(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{})
	for i := range 120 {
		w.AddNodes(node(fmt.Sprintf("n%03d", i), "a", 4))
	}
	name := w.Load(
		Policy{Name: "faulty", Module: goGuest(t, chameleon), Config: "{filter: panic, score: panic}", Fields: "failurePolicy: Ignore"},
		Policy{Name: "second", Module: goGuest(t, chameleon), Config: "{filter: reject, only: n007}"},
	)
	a := w.Evaluate(pod("p").Obj())
	for n, s := range a.Nodes {
		if want := map[bool]string{true: "Unschedulable: " + w.Named("second") + ": told to reject"}[n == "n007"]; s != want {
			t.Errorf("node %s: want %q, got %q", n, want, s)
		}
	}
	if a.Score != "" || len(a.Scores) != 119 {
		t.Errorf("want 119 scores, got %q and %d", a.Score, len(a.Scores))
	}
	faults := 0.0
	for _, point := range []string{"filter", "score"} {
		faults += counter(t, bm.Faults.WithLabelValues(name, point, "trap"))
	}
	if faults == 0 || faults > 5 {
		t.Errorf("want a few faults in the cycle, got %v", faults)
	}
}
