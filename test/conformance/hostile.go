// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	bm "github.com/berth-scheduler/berth/host/metrics"
)

// instances is how many instances of a policy replaced a dead one.
func (w *World) instances(policy string) float64 {
	return counter(w, bm.Instances.WithLabelValues(policy))
}

// breach is a rule that wat/hostile.wat breaks in one of its modes.
type breach struct {
	mode  int
	name  string
	point string
	cause string // of the fault; "" is none, refused one that leaves the instance alone
	part  string // of the message
}

// refused is the cause bad_result of a call that was answered, though without
// verdicts, or with an intent that the policy may not have.
const refused = "bad_result "

var breaches = []breach{
	{1, "unknown code", "filter", "bad_result", "code 99"},
	{2, "code of another point", "filter", "bad_result", "wait"},
	{3, "code left out", "filter", "bad_result", "unset"},
	{4, "items_len short", "filter", "bad_result", "items_len"},
	{28, "items_len huge", "filter", "bad_result", "items_len"},
	{5, "reasons outside", "filter", "bad_result", "2147483632"},
	{6, "reason outside", "filter", "bad_result", "2147483632"},
	{7, "too many reasons", "filter", "bad_result", "got 9"},
	{8, "reason too long", "filter", "bad_result", "got 1025"},
	{9, "reason not UTF-8", "filter", "bad_result", "UTF-8"},
	{10, "not handled", "filter", "bad_result", "got 1"},
	{11, "unknown answer", "filter", "bad_result", "got 77"},
	{12, "call refused", "filter", refused, "ended with error"},
	{29, "verdict for the call", "filter", refused, "ended with unschedulable"},
	{13, "payload", "filter", "bad_result", "payload"},
	{14, "another step", "filter", "bad_result", "next"},
	{15, "list", "filter", "bad_result", "list"},
	{16, "unreachable", "filter", "trap", "unreachable"},
	{17, "store behind the memory limit", "filter", "trap", "out of bounds"},
	{18, "own memory overwritten", "filter", "bad_result", "unset"},
	{23, "exit", "filter", "trap", "exit"},
	{24, "log outside", "filter", "trap", "log"},
	{25, "intern outside", "filter", "trap", "intern"},
	{26, "intern too long", "filter", "trap", "5000"},
	{32, "division by zero", "filter", "trap", "division by zero"},
	{40, "list outside", "pre_filter", "bad_result", "2147483632"},
	{41, "list too long", "pre_filter", "bad_result", "100001"},
	{45, "list_len huge", "pre_filter", "bad_result", "4294967295"},
	{42, "name empty", "pre_filter", "bad_result", "got 0"},
	{44, "name too long", "pre_filter", "bad_result", "got 254"},
	{46, "pending", "pre_filter", "bad_result", "pending"},
	{47, "name outside", "pre_filter", "bad_result", "2147483632"},
	{48, "list_set neither 0 nor 1", "pre_filter", "bad_result", "list_set"},
	{51, "intent that it didn't declare", "pre_filter", refused, "intent metric: want it declared"},
	{52, "payload that is no record", "pre_filter", "bad_result", "value record"},
	{53, "question at a point without steps", "pre_filter", "bad_result", "next"},
	{60, "score's code left out", "score", "bad_result", "unset"},
	{61, "score's code of another point", "score", "bad_result", "wait"},
	{62, "scores short", "score", "bad_result", "items_len"},
	{63, "unreachable", "score", "trap", "unreachable"},
	{66, "score too high", "score", "", "got 101"},
	{80, "alloc overlaps", "pre_filter", "memory", "overlaps"},
	{81, "alloc misaligned", "pre_filter", "memory", "8-aligned"},
	{82, "alloc outside", "pre_filter", "memory", "inside"},
	{83, "alloc null", "pre_filter", "memory", "8-aligned"},
	{84, "alloc traps", "pre_filter", "trap", "unreachable"},
}

// endless are what would not end by itself: C10.
var endless = []breach{
	{19, "call tree without a loop", "filter", "fuel", "units"},
	{20, "recursion", "filter", "trap", "call stack"},
	{21, "loop", "filter", "fuel", "units"},
	{22, "sleep", "filter", "trap", "sleep"},
	{34, "memory.grow in a loop", "filter", "fuel", "units"},
	{27, "memory.fill in a loop", "filter", "fuel", "units"},
	{31, "log in a loop", "filter", "fuel", "units"},
	{33, "intern in a loop", "filter", "fuel", "units"},
	{64, "loop", "score", "fuel", "units"},
	{85, "loop in alloc", "pre_filter", "fuel", "units"},
}

// testHostile plays each breach with both failure policies: the pod gets a
// status that says what was wrong, or the policy is left out; the instance is
// replaced, and other pods notice nothing.
func testHostile(t *testing.T, e Engine) { breachAll(t, e, breaches) }

// testEndless is C10 at the points.
func testEndless(t *testing.T, e Engine) { breachAll(t, e, endless) }

func breachAll(t *testing.T, e Engine, list []breach) {
	w := e.NewWorld(t, Setting{})
	w.AddNodes(node("n1", "a", 4), node("n2", "b", 4))
	module := handmadeGuest(t, "hostile")
	name := func(b breach, failure string) string { return strings.ToLower(fmt.Sprintf("%s-%d", failure, b.mode)) }
	// One that behaves sees that the others harm only themselves.
	policies := []Policy{{Name: "good", Module: goGuest(t, chameleon), Config: "{filter: reject, only: n2}", Fields: "order: 900"}}
	for _, b := range list {
		for _, failure := range []string{"Fail", "Ignore"} {
			n := name(b, failure)
			policies = append(policies, Policy{Name: n, Module: module, Config: fmt.Sprintf("{mode: %d}", b.mode), Fields: "failurePolicy: " + failure + "\n" + inNamespace(n)})
		}
	}
	good := w.Load(policies...)
	for _, b := range list {
		t.Run(b.point+"/"+b.name, func(t *testing.T) {
			n := name(b, "Fail")
			policy := w.Named(n)
			a := w.breached(n)
			got := a.PreFilter + a.Nodes["n1"] + a.Score
			if lacks := holds(got, "Error: ", policy+": ", b.part); lacks != nil {
				t.Errorf("want the policy and what is wrong, got %q without %q", got, lacks)
			}
			if b.cause != "" && w.faults(policy, b.point, strings.TrimSpace(b.cause)) == 0 {
				t.Errorf("want a fault of cause %s at %s counted", b.cause, b.point)
			}
			if w.breached(n); b.cause != "" && b.cause != refused && w.instances(policy) == 0 {
				t.Error("want a new instance for the next call")
			}
			a = w.breached(name(b, "Ignore"))
			if got := a.PreFilter + a.Nodes["n1"] + a.Score; got != "" {
				t.Errorf("want the policy left out, got %q", got)
			}
			if want := "Unschedulable: " + good + ": told to reject"; a.Nodes["n2"] != want {
				t.Errorf("want the other policy's verdict %q, got %q", want, a.Nodes["n2"])
			}
		})
	}
	if a := w.Evaluate(pod("other").Obj()); a.Nodes["n1"] != "" || a.Score != "" {
		t.Errorf("want other pods unaffected, got %+v", a.Outcome())
	}
}

// breached runs a cycle for a pod whose record needs another alloc. Score is
// asked for n1, the one node that passes.
func (w *World) breached(ns string) *Attempt {
	p := pod("p").Namespace(ns).Annotation("long", strings.Repeat("x", 200<<10)).Obj()
	a := w.Filter(p, 0)
	if len(a.feasible) > 0 {
		a.RunScore()
	}
	return a
}

// testStateless has a guest that keeps a state but can't copy it: AddPod and
// RemovePod get a status.
func testStateless(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{Fit: true})
	w.AddNodes(node("n1", "a", 1))
	name := w.Load(Policy{Name: "stuck", Module: handmadeGuest(t, "hostile"), Config: "{mode: 50}"})
	w.AddPods(pod("low").Node("n1").Priority(1).Req(map[v1.ResourceName]string{"cpu": "1"}).Obj())
	p := pod("p").Priority(10).Req(map[v1.ResourceName]string{"cpu": "1"}).Obj()
	w.Publish(p)
	node, status := w.Filter(p, 0).Preempt()
	if node != "" || len(w.evicted()) > 0 {
		t.Errorf("want no preemption on a state that can't be copied, got node %q, victims %v", node, w.evicted())
	}
	if w.faults(name, "remove_pod", "lost_state") == 0 {
		t.Errorf("want a fault of cause lost_state, got %q", describe(status))
	}
}

// testLoad has modules that must not be taken, each with what its status says.
func testLoad(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{})
	rows := []struct{ guest, part string }{
		{"abi-major", "want 1.0 to 1.0, got 2.0"},
		{"abi-minor", "got 1.9"},
		{"abi-loop", "fuel"},
		{"start-loop", "unreachable"},
		{"initialize-loop", "fuel"},
		{"initialize-trap", "unreachable"},
		{"describe-loop", "fuel"},
		{"describe-outside", "payload"},
		{"describe-garbage", "describe document"},
		{"describe-huge", "got 262145"},
		{"point-missing", "score"},
		{"intent-ungranted", "grants: want [{intent: evict}]"},
		{"resource-ungranted", "grants: want [{resource: v1/configmaps}]"},
		{"intent-unknown", `"launch" is unknown here`},
		{"section-unknown", "node.moods"},
		{"alloc-missing", "alloc"},
		{"alloc-misaligned", "8-aligned"},
		{"alloc-outside", "inside"},
		{"alloc-trap", "unreachable"},
		{"filter-signature", "(i64) -> (i32)"},
		{"filter-refuses", "probe"},
		{"import-unknown", "launch_missiles"},
		{"import-env", "abort"},
		{"command", "_start"},
		{"memory-large", "2000"},
	}
	hostile := []struct {
		mode int
		part string
	}{{90, "unset"}, {91, "unreachable"}, {92, "fuel"}, {93, "answered"}, {94, "2147483632"}}
	config := []struct{ config, part string }{
		{"{start: loop}", "fuel"}, {"{start: panic}", "told to panic"}, {"{start: refuse}", "told to refuse"},
		{"{value: many}", "value"}, {"{unknown: 1}", "unknown"},
	}
	want := map[string]string{}
	var policies []Policy
	add := func(p Policy, part string) {
		want[p.Name] = part
		policies = append(policies, p)
	}
	for _, r := range rows {
		add(Policy{Name: r.guest, Module: handmadeGuest(t, r.guest)}, r.part)
	}
	for _, h := range hostile {
		add(Policy{Name: fmt.Sprint("configure-", h.mode), Module: handmadeGuest(t, "hostile"), Config: fmt.Sprintf("{mode: %d}", h.mode)}, h.part)
	}
	for i, c := range config {
		add(Policy{Name: fmt.Sprint("config-", i), Module: goGuest(t, chameleon), Config: c.config}, c.part)
	}
	w.Refuse(policies...)
	for _, p := range policies {
		t.Run(p.Name, func(t *testing.T) {
			w.failure(p.Name, want[p.Name])
		})
	}
}
