// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/host"
	bm "github.com/berth-scheduler/berth/host/metrics"
)

// calls is the number of guest calls of a policy at a point.
func (w *World) calls(policy, point string) float64 {
	return counter(w, bm.Calls.WithLabelValues(policy, point))
}

const outside = "UnschedulableAndUnresolvable: node(s) didn't satisfy plugin(s) [" + host.Name + "]"

// testSeveral checks policies beside each other in Filter and PreFilter.
func testSeveral(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{Profiles: []string{profile, "other"}})
	w.AddNodes(node("n1", "a", 4), node("n2", "a", 4), node("n3", "b", 4))
	// Each row has a namespace of its own, so that all are loaded at once.
	reject := func(ns, name, how, only, fields string) Policy {
		return Policy{
			Name: ns + "-" + name, Module: goGuest(t, chameleon),
			Config: "{filter: " + how + ", only: \"" + only + "\"}", Fields: fields + "\n" + inNamespace(ns),
		}
	}
	narrow := func(ns, name, config string) Policy {
		return Policy{Name: ns + "-" + name, Module: goGuest(t, nodesets), Config: config, Fields: inNamespace(ns)}
	}
	rows := []struct {
		ns       string
		policies []Policy
		pre      func() string
		nodes    func() map[string]string
	}{
		{"order", []Policy{
			reject("order", "b", "reject", "", "order: 1"),
			reject("order", "a", "unresolvable", "", "order: 2"),
		}, nil, func() map[string]string {
			s := "Unschedulable: " + w.Named("order-b") + ": told to reject"
			return map[string]string{"n1": s, "n2": s, "n3": s}
		}},
		{"name", []Policy{
			reject("name", "b", "reject", "", "order: 7"),
			reject("name", "a", "unresolvable", "n1", "order: 7"),
		}, nil, func() map[string]string {
			a, b := "UnschedulableAndUnresolvable: "+w.Named("name-a")+": told to reject for good", "Unschedulable: "+w.Named("name-b")+": told to reject"
			return map[string]string{"n1": a, "n2": b, "n3": b}
		}},
		{"ignore", []Policy{
			reject("ignore", "a", "panic", "n1", "order: 1\nfailurePolicy: Ignore"),
			reject("ignore", "b", "reject", "n2", "order: 2"),
		}, nil, func() map[string]string {
			return map[string]string{"n1": "", "n2": "Unschedulable: " + w.Named("ignore-b") + ": told to reject", "n3": ""}
		}},
		{"error", []Policy{
			reject("error", "a", "error", "n1", "failurePolicies: {filter: Ignore}"),
			reject("error", "b", "error", "n2", "failurePolicies: {score: Ignore}"),
		}, nil, func() map[string]string {
			return map[string]string{"n1": "", "n2": `Error: running "Berth" filter plugin: ` + w.Named("error-b") + ": told to fail", "n3": ""}
		}},
		{"sets", []Policy{
			narrow("sets", "a", "{nodes: [n1, n2, ghost]}"), narrow("sets", "b", "{nodes: [n2, n3, ghost]}"), narrow("sets", "c", "{all: true}"),
		}, nil, func() map[string]string { return map[string]string{"n2": ""} }},
		{"apart", []Policy{
			narrow("apart", "a", "{nodes: [n1]}"), narrow("apart", "b", "{nodes: [n3]}"), narrow("apart", "c", "{all: true}"),
		}, func() string {
			return "UnschedulableAndUnresolvable: no node is in the sets of the policies [" + w.Named("apart-a") + " " + w.Named("apart-b") + "] together"
		}, nil},
		{"ghosts", []Policy{narrow("ghosts", "a", "{nodes: [ghost, another]}")}, func() string {
			return "UnschedulableAndUnresolvable: no node is in the sets of the policies [" + w.Named("ghosts-a") + "] together"
		}, nil},
		{"empty", []Policy{narrow("empty", "a", "{}")}, func() string {
			return "UnschedulableAndUnresolvable: no node is in the sets of the policies [" + w.Named("empty-a") + "] together"
		}, nil},
		{"chunked", []Policy{
			{Name: "chunked-a", Module: goGuest(t, stateful), Config: "{leaveIn: a}", Fields: inNamespace("chunked")},
			narrow("chunked", "b", "{nodes: [n2, n3]}"),
		}, nil, func() map[string]string { return map[string]string{"n2": ""} }},
		{"go-on", []Policy{
			narrow("go-on", "a", "{answer: unschedulable}"),
			{Name: "go-on-b", Module: goGuest(t, stateful), Fields: inNamespace("go-on")},
		}, func() string { return "Unschedulable: " + w.Named("go-on-a") + ": told to reject" }, nil},
		{"stop", []Policy{
			narrow("stop", "a", "{answer: unresolvable}"),
			{Name: "stop-b", Module: goGuest(t, stateful), Fields: inNamespace("stop")},
		}, func() string {
			return "UnschedulableAndUnresolvable: " + w.Named("stop-a") + ": told to reject for good"
		}, nil},
		{"pre-error", []Policy{
			{Name: "pre-error-a", Module: goGuest(t, stateful), Config: "{answer: error, at: end}", Fields: "failurePolicy: Ignore\n" + inNamespace("pre-error")},
		}, nil, func() map[string]string { return map[string]string{"n1": "", "n2": "", "n3": ""} }},
		{"pre-error-fail", []Policy{
			{Name: "pre-error-fail-a", Module: goGuest(t, stateful), Config: "{answer: error}", Fields: inNamespace("pre-error-fail")},
		}, func() string {
			return `Error: running PreFilter plugin "Berth": ` + w.Named("pre-error-fail-a") + ": told to fail"
		}, nil},
		{"suspended", []Policy{reject("suspended", "a", "reject", "", "suspend: true")}, nil,
			func() map[string]string { return map[string]string{"n1": "", "n2": "", "n3": ""} }},
	}
	var all []Policy
	for _, r := range rows {
		all = append(all, r.policies...)
	}
	w.Load(all...)
	for _, r := range rows {
		t.Run(r.ns, func(t *testing.T) {
			a := w.Filter(pod("p").Namespace(r.ns).Obj(), 0)
			want := Outcome{Nodes: map[string]string{}}
			if r.pre != nil {
				want.PreFilter = r.pre()
			}
			if r.nodes != nil {
				want.Nodes = r.nodes()
			}
			if diff := cmp.Diff(want, a.Outcome()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	t.Run("who was asked", func(t *testing.T) {
		if w.calls(w.Named("go-on-b"), "pre_filter") == 0 {
			t.Error("want the policy after an Unschedulable one asked")
		}
		if w.calls(w.Named("stop-b"), "pre_filter") != 0 {
			t.Error("want the policy after an UnschedulableAndUnresolvable one not asked")
		}
	})
	t.Run("match", func(t *testing.T) { severalMatch(t, w) })
	t.Run("all suspended", func(t *testing.T) {
		w := e.NewWorld(t, Setting{Options: host.Options{SuspendAll: true}})
		w.AddNodes(node("n1", "a", 4))
		w.Load(Policy{Name: "a", Module: goGuest(t, chameleon), Config: "{filter: reject}"})
		if diff := cmp.Diff(Outcome{Nodes: map[string]string{"n1": ""}}, w.Evaluate(pod("p").Obj()).Outcome()); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		w.Eventually("it is reported", func() bool { return holds(w.Status(w.Named("a")), `"state":"Suspended"`) == nil })
	})
}

// severalMatch checks which pods a policy is asked for.
func severalMatch(t *testing.T, w *World) {
	name := w.Load(Policy{
		Name: "picky", Module: goGuest(t, chameleon), Config: "{filter: reject}",
		Fields: "match:\n  profiles: [other]\n  namespaces: [match, else]\n  podSelector: {matchExpressions: [{key: tier, operator: In, values: [web]}]}",
	})
	for _, c := range []struct {
		ns, profile, tier string
		want              bool
	}{
		{"match", "other", "web", true}, {"else", "other", "web", true},
		{"third", "other", "web", false}, {"match", profile, "web", false}, {"match", "other", "db", false}, {"match", "other", "", false},
	} {
		p := pod("p").Namespace(c.ns).SchedulerName(c.profile)
		if c.tier != "" {
			p.Label("tier", c.tier)
		}
		rejected := holds(w.Filter(p.Obj(), 0).Nodes["n1"], name) == nil
		if rejected != c.want {
			t.Errorf("%+v: want rejected %t, got %t", c, c.want, rejected)
		}
	}
}
