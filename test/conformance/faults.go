// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
)

// testDivision is C4: what is missing or zero and divided by.
func testDivision(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{})
	w.AddNodes(node("n1", "a", 4), node("n2", "b", 4), st.MakeNode().Name("bare").Obj(),
		st.MakeNode().Name("nothing").Capacity(map[v1.ResourceName]string{"cpu": "0", "pods": "110"}).Obj())
	policy := func(name, config string) Policy {
		return Policy{Name: name, Module: goGuest(t, chameleon), Config: config, Fields: inNamespace(name)}
	}
	w.Load(policy("filter", "{filter: divide, only: n1}"), policy("score", "{score: divide, only: n1}"),
		policy("bare", "{filter: divide, only: bare}"), policy("nothing", "{filter: divide, only: nothing}"))
	whole := map[v1.ResourceName]string{"cpu": "1"}
	good := func(ns string) *v1.Pod { return pod("good").Namespace(ns).Req(whole).Obj() }
	initialised := pod("p").Req(whole)
	initialised.Spec.InitContainers = []v1.Container{{Name: "init"}}
	// The pod's request is of the whole pod, which the guest divides by its first
	// container's.
	for name, p := range map[string]*st.PodWrapper{
		"init container without requests": initialised,
		"cpu 0":                           pod("p").Req(map[v1.ResourceName]string{"cpu": "0"}),
		"no requests":                     pod("p").Container("image"),
		"no containers":                   pod("p").Containers(nil),
	} {
		t.Run(name, func(t *testing.T) {
			part := "integer divide by zero"
			if name == "no containers" {
				part = "panic: "
			}
			for _, ns := range []string{"filter", "score"} {
				a := w.Evaluate(p.Namespace(ns).Obj())
				if got, lacks := a.Nodes["n1"]+a.Score, holds(a.Nodes["n1"]+a.Score, "Error: ", w.Named(ns), ns+": trap", part); lacks != nil {
					t.Errorf("%s: want the guest's own words, got %q without %q", ns, got, lacks)
				}
				if a := w.Evaluate(good(ns)); a.Nodes["n1"] != "" || a.Score != "" {
					t.Errorf("%s: want the next pod unaffected, got %+v", ns, a.Outcome())
				}
			}
		})
	}
	for _, n := range []string{"bare", "nothing"} {
		t.Run("node "+n, func(t *testing.T) {
			a := w.Evaluate(good(n))
			if lacks := holds(a.Nodes[n], "Error: ", w.Named(n), "integer divide by zero"); lacks != nil {
				t.Errorf("want the guest's own words, got %q without %q", a.Nodes[n], lacks)
			}
			if a.Nodes["n1"] != "" || a.Nodes["n2"] != "" {
				t.Errorf("want the other nodes' verdicts, though they share a chunk with the bad one, got %v", a.Nodes)
			}
		})
	}
}

// testPanic is C5: a panic at each point that is served, with both failure
// policies. Events are registered without a guest.
func testPanic(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{Fit: true})
	w.AddNodes(node("n1", "a", 1), node("n2", "b", 4))
	w.AddPods(pod("low").Node("n1").Priority(1).Label("group", "g").Req(map[v1.ResourceName]string{"cpu": "1"}).Obj())
	w.Nominate(pod("vip").Priority(100).Label("group", "g").Obj(), "n2")
	rows := []struct{ at, point string }{
		{"begin", "pre_filter"}, {"node", "pre_filter"}, {"end", "pre_filter"},
		{"filter", "filter"}, {"add", "add_pod"}, {"clone", "add_pod"}, {"remove", "remove_pod"},
		{"prescore", "pre_score"}, {"score", "score"}, {"normalize", "normalize_score"},
	}
	var policies []Policy
	for _, r := range rows {
		for failure, name := range map[string]string{"Fail": r.at, "Ignore": "ignore-" + r.at} {
			policies = append(policies, Policy{
				Name: name, Module: goGuest(t, stateful), Config: "{most: 9, panicAt: " + r.at + "}",
				Fields: "failurePolicy: " + failure + "\n" + inNamespace(name),
			})
		}
	}
	w.Load(policies...)
	for _, r := range rows {
		t.Run(r.at, func(t *testing.T) {
			// n1 is full, so that RemovePod is called in the dry run.
			attempt := func(ns string, labels ...string) (string, *Attempt) {
				p := pod("p-"+ns).Namespace(ns).Priority(10).Label("group", "g")
				for _, l := range labels {
					p.Label(l, "")
				}
				if r.at == "remove" {
					p.Req(map[v1.ResourceName]string{"cpu": "1"})
				}
				a := w.Filter(p.Obj(), 0)
				if r.at == "remove" {
					store := w.Informers.Core().V1().Pods().Informer().GetStore()
					if err := store.Add(a.Pod); err != nil {
						t.Fatal(err)
					}
					_, s := a.Preempt()
					return describe(s), a
				}
				if len(a.feasible) > 1 {
					a.RunScore()
				}
				return a.PreFilter + a.Nodes["n1"] + a.Nodes["n2"] + a.Score, a
			}
			got, _ := attempt(r.at, "bad")
			if lacks := holds(got, w.Named(r.at), r.point, "told to panic"); lacks != nil {
				t.Errorf("want policy, point and the guest's words, got %q without %q", got, lacks)
			}
			if w.faults(w.Named(r.at), r.point, "trap") != 1 {
				t.Errorf("want one trap at %s counted, got %v", r.point, w.faults(w.Named(r.at), r.point, "trap"))
			}
			if got, a := attempt(r.at); holds(got, "told to panic") == nil || r.at != "remove" && got != "" {
				t.Errorf("want the next pod unaffected, got %q, %+v", got, a.Outcome())
			}
			if w.instances(w.Named(r.at)) != 1 {
				t.Errorf("want one new instance, got %v", w.instances(w.Named(r.at)))
			}
			if got, a := attempt("ignore-"+r.at, "bad"); holds(got, "told to panic") == nil || r.at != "remove" && got != "" {
				t.Errorf("want the policy left out, got %q, %+v", got, a.Outcome())
			}
		})
	}
}

// testLeak is C13: a megabyte that is never given back with each call.
func testLeak(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{})
	w.AddNodes(node("n1", "a", 4))
	name := w.Load(
		Policy{Name: "leak", Module: goGuest(t, chameleon), Config: "{filter: leak}", Fields: "limits: {memory: 64Mi}\n" + inNamespace("leak")},
		Policy{Name: "beside", Module: goGuest(t, chameleon), Config: "{filter: reject}", Fields: inNamespace("beside")},
	)
	ended := 0
	for i := range 150 {
		a := w.Evaluate(pod("p").Namespace("leak").Obj())
		if got := a.Nodes["n1"]; got != "" {
			if ended++; holds(got, name, "filter: trap", "out of memory") != nil {
				t.Fatalf("cycle %d: want the guest out of memory, got %q", i, got)
			}
		}
		if m := guestMemory(w, name); m > 64<<20 {
			t.Fatalf("cycle %d: want at most 64Mi of guest memory, got %v", i, m)
		}
		if i%25 == 0 {
			if diff := cmp.Diff(map[string]string{"n1": "Unschedulable: " + w.Named("beside") + ": told to reject"}, w.Evaluate(pod("q").Namespace("beside").Obj()).Nodes); diff != "" {
				t.Fatalf("cycle %d: pods of other policies: -want +got\n%s", i, diff)
			}
		}
	}
	if ended < 2 || ended > 6 {
		t.Errorf("want the guest ended each 30 to 60 cycles, got %d times in 150", ended)
	}
	if n := liveInstances(w, name); n != 1 {
		t.Errorf("want one live instance, got %v", n)
	}
}

// testGoGuest has what goes wrong in policies written in Go: each ends within
// its limits, with the guest's own words where it has any (C10).
func testGoGuest(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{})
	w.AddNodes(node("n1", "a", 4), node("n2", "b", 4))
	rows := []struct {
		how, cause string
		parts      []string
	}{
		{"nil", "trap", []string{"panic: runtime error: invalid memory address or nil pointer dereference"}},
		{"wait", "trap", []string{"deadlock"}},
		{"sleep", "trap", []string{"sleeping"}},
		{"tree", "fuel", []string{"units"}},
		{"loop", "fuel", []string{"units"}},
		{"recurse", "fuel", []string{"units"}}, // a Go stack is copied as it grows
		{"bad text", "bad_result", []string{"UTF-8"}},
		{"control", "bad_result", []string{"printable"}},
	}
	var policies []Policy
	ns := func(how string) string { return "go-" + strings.ReplaceAll(how, " ", "-") }
	policy := func(how string) Policy {
		return Policy{Name: ns(how), Module: goGuest(t, chameleon), Config: "{filter: " + how + ", only: n1, when: bad}", Fields: inNamespace(ns(how))}
	}
	for _, r := range rows {
		policies = append(policies, policy(r.how))
	}
	w.Load(append(policies, policy("huge reason"))...)
	for _, r := range rows {
		t.Run(r.how, func(t *testing.T) {
			name := w.Named(ns(r.how))
			a := w.Evaluate(pod("p").Namespace(ns(r.how)).Label("bad", "").Obj())
			if lacks := holds(a.Nodes["n1"], append(r.parts, "Error: ", name+": filter: "+r.cause)...); lacks != nil {
				t.Errorf("want the cause and the guest's words, got %q without %q", a.Nodes["n1"], lacks)
			}
			if a.Nodes["n2"] != "" {
				t.Errorf("want the other node unaffected, got %q", a.Nodes["n2"])
			}
			if a := w.Evaluate(pod("q").Namespace(ns(r.how)).Obj()); a.Nodes["n1"] != "" || a.Score != "" {
				t.Errorf("want the next pod unaffected, got %+v", a.Outcome())
			}
			if w.instances(name) == 0 {
				t.Error("want a new instance")
			}
		})
	}
	t.Run("huge reason", func(t *testing.T) {
		got := w.Evaluate(pod("p").Namespace(ns("huge reason")).Label("bad", "").Obj()).Nodes["n1"]
		want := "Unschedulable: " + w.Named(ns("huge reason")) + ": too much too much"
		if !strings.HasPrefix(got, want) || len(got) > 1100 {
			t.Errorf("want it cut after 1 KiB, got %d bytes: %.80q", len(got), got)
		}
	})
}
