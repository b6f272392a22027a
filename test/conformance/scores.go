// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// holds says which of the texts a message lacks.
func holds(message string, parts ...string) (missing []string) {
	for _, p := range parts {
		if !strings.Contains(message, p) {
			missing = append(missing, p)
		}
	}
	return missing
}

// inNamespace is a match on one namespace, by which tests keep many policies of
// a World apart.
func inNamespace(ns string) string { return "match: {namespaces: [" + ns + "]}" }

// testScoreRange is C3: scores out of range, with each kind of normalisation and
// failure policy.
func testScoreRange(t *testing.T, e Engine) {
	const big = 100 // the plugin's weight, so that a policy's share is its own
	w := e.NewWorld(t, Setting{Weight: big})
	w.AddNodes(node("n1", "a", 4), node("n2", "b", 4))
	values := []string{"-8", "101", "802", "2147483648", "9223372036854775807"}
	type row struct {
		policy Policy
		value  string
		bad    bool
	}
	var rows []row
	var policies []Policy
	for _, failure := range []string{"Fail", "Ignore"} {
		for _, guest := range []string{chameleon, chameleonMax} {
			for _, v := range values {
				name := strings.ToLower(fmt.Sprintf("%s-%s-%d", failure, guest, len(rows)))
				rows = append(rows, row{Policy{
					Name: name, Module: goGuest(t, guest),
					Config: fmt.Sprintf("{value: 0, values: {n1: %s}}", v),
					Fields: "failurePolicy: " + failure + "\n" + inNamespace(name),
				}, v, guest == chameleon || v[0] == '-'})
				policies = append(policies, rows[len(rows)-1].policy)
			}
		}
	}
	w.Load(policies...)
	for _, r := range rows {
		t.Run(r.policy.Name+"/"+r.value, func(t *testing.T) {
			a := w.Evaluate(pod("p").Namespace(r.policy.Name).Obj())
			switch {
			case r.bad && strings.HasPrefix(r.policy.Name, "fail"):
				if lacks := holds(a.Score, "Error: ", w.Named(r.policy.Name), "n1", "got "+r.value); lacks != nil {
					t.Errorf("want policy, node and value, got %q without %q", a.Score, lacks)
				}
			case r.bad:
				if diff := cmp.Diff(map[string]int64{"n1": 0, "n2": 0}, a.Scores); diff != "" || a.Score != "" {
					t.Errorf("want the policy left out, got %q\n%s", a.Score, diff)
				}
				if w.faults(w.Named(r.policy.Name), "normalize_score", "bad_result") != 1 {
					t.Error("want it counted as a fault")
				}
			default:
				if diff := cmp.Diff(map[string]int64{"n1": big, "n2": 0}, a.Scores); diff != "" || a.Score != "" {
					t.Errorf("want it scaled, got %q\n%s", a.Score, diff)
				}
			}
		})
	}
	t.Run("custom", func(t *testing.T) {
		name := w.Load(Policy{Name: "raw", Module: goGuest(t, stateful), Config: "{most: 9, raw: true}", Fields: inNamespace("raw")})
		w.AddPods(pod("there").Namespace("raw").Node("n2").Label("group", "g").Obj())
		a := w.Evaluate(pod("p").Namespace("raw").Label("group", "g").Obj())
		if lacks := holds(a.Score, "Error: ", name, "n2", "got 1000"); lacks != nil {
			t.Errorf("want policy, node and value, got %q without %q", a.Score, lacks)
		}
	})
}

// scoring is a policy that scores n1 and n2.
func scoring(t *testing.T, name string, weight, n1, n2 int, fields ...string) Policy {
	return Policy{
		Name: name, Module: goGuest(t, chameleon),
		Config: fmt.Sprintf("{values: {n1: %d, n2: %d}}", n1, n2),
		Fields: strings.Join(append(fields, fmt.Sprintf("weight: %d", weight)), "\n"),
	}
}

// testMixing checks round(Σ w·s / max(W, Σ w)).
func testMixing(t *testing.T, e Engine) {
	for _, c := range []struct {
		name     string
		weight   int32 // the plugin's, W
		policies func() []Policy
		n1, n2   int64 // before W
	}{
		{"Σw over W", 1, func() []Policy {
			return []Policy{scoring(t, "a", 3, 100, 0), scoring(t, "b", 1, 0, 100)}
		}, 75, 25},
		{"one that does not match counts in Σw", 1, func() []Policy {
			return []Policy{scoring(t, "a", 3, 100, 0), scoring(t, "b", 1, 0, 100), scoring(t, "c", 4, 100, 100, inNamespace("other"))}
		}, 38, 13}, // 37.5 and 12.5 rounded
		{"one of another profile does not", 1, func() []Policy {
			return []Policy{scoring(t, "a", 3, 100, 0), scoring(t, "b", 1, 0, 100), scoring(t, "c", 4, 100, 100, "match: {profiles: [other]}")}
		}, 75, 25},
		{"a suspended one does not", 1, func() []Policy {
			return []Policy{scoring(t, "a", 3, 100, 0), scoring(t, "b", 1, 0, 100), scoring(t, "c", 4, 100, 100, "suspend: true")}
		}, 75, 25},
		{"Σw below W", 10, func() []Policy {
			return []Policy{scoring(t, "a", 3, 100, 0), scoring(t, "b", 1, 0, 100)}
		}, 30, 10},
		{"weight 0", 1, func() []Policy {
			return []Policy{scoring(t, "a", 0, 100, 0), scoring(t, "b", 1, 40, 60)}
		}, 40, 60},
		{"one drops out on one node, and so for all", 1, func() []Policy {
			bad := scoring(t, "a", 1, 90, 90, "failurePolicy: Ignore")
			bad.Config = "{score: panic, only: n1}"
			return []Policy{bad, scoring(t, "b", 1, 20, 60)}
		}, 10, 30},
		{"an answered error drops out too", 1, func() []Policy {
			bad := scoring(t, "a", 1, 90, 90, "failurePolicies: {score: Ignore}")
			bad.Config = "{score: error, only: n2}"
			return []Policy{bad, scoring(t, "b", 1, 20, 60)}
		}, 10, 30},
		{"one skips the pod", 1, func() []Policy {
			return []Policy{{Name: "a", Module: goGuest(t, stateful), Config: "{answer: skip, at: score}"}, scoring(t, "b", 1, 20, 60)}
		}, 10, 30},
		{"max", 1, func() []Policy {
			p := scoring(t, "a", 1, 30, 60)
			p.Module = goGuest(t, chameleonMax)
			return []Policy{p}
		}, 50, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := e.NewWorld(t, Setting{Weight: c.weight})
			w.AddNodes(node("n1", "a", 4), node("n2", "b", 4))
			w.Load(c.policies()...)
			a := w.Evaluate(pod("p").Obj())
			want := map[string]int64{"n1": c.n1 * int64(c.weight), "n2": c.n2 * int64(c.weight)}
			if diff := cmp.Diff(want, a.Scores); diff != "" || a.Score != "" {
				t.Errorf("status %q, -want +got\n%s", a.Score, diff)
			}
		})
	}
	t.Run("failure policy Fail", func(t *testing.T) {
		w := e.NewWorld(t, Setting{})
		w.AddNodes(node("n1", "a", 4), node("n2", "b", 4))
		bad := scoring(t, "a", 1, 0, 0)
		bad.Config = "{score: error, only: n2}"
		name := w.Load(bad, scoring(t, "b", 1, 20, 60))
		if a := w.Evaluate(pod("p").Obj()); holds(a.Score, "Error: ", name+": told to fail") != nil {
			t.Errorf("want the policy's error, got %q", a.Score)
		}
	})
}
