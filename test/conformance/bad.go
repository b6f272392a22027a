// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testBadUpdate is C12 at an update: of three policies one gets something that
// can't be used. Its last good version stays and the status says why; the others
// notice nothing.
func testBadUpdate(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{})
	w.AddNodes(node("n1", "a", 4))
	module := goGuest(t, chameleon)
	policy := func(name, how string) Policy {
		return Policy{Name: name, Module: module, Config: "{filter: " + how + "}", Fields: inNamespace(name)}
	}
	one := w.Load(policy("one", "reject"), policy("two", "unresolvable"), policy("three", "reject"))
	verdicts := func() map[string]string {
		all := map[string]string{}
		for _, ns := range []string{"one", "two", "three"} {
			all[ns] = w.Evaluate(pod("p").Namespace(ns).Obj()).Nodes["n1"]
		}
		return all
	}
	want := map[string]string{
		"one":   "Unschedulable: " + one + ": told to reject",
		"two":   "UnschedulableAndUnresolvable: " + w.Named("two") + ": told to reject for good",
		"three": "Unschedulable: " + w.Named("three") + ": told to reject",
	}
	good := policy("one", "accept")
	for _, c := range []struct {
		name, part string
		change     func(p *Policy)
	}{
		{"missing module", "policy.wasm", func(p *Policy) { p.Module = nil }},
		{"truncated module", "", func(p *Policy) { p.Module = module[:len(module)/3] }},
		{"no module at all", "want a wasm module", func(p *Policy) { p.Module = []byte("hello") }},
		{"another ABI", "got 2.0", func(p *Policy) { p.Module, p.Config = handmadeGuest(t, "abi-major"), "" }},
		{"config of the wrong type", "filter", func(p *Policy) { p.Config = "{filter: 7}" }},
		{"config that the guest refuses", "told to refuse", func(p *Policy) { p.Config = "{start: refuse}" }},
		{"configure panics", "told to panic", func(p *Policy) { p.Config = "{start: panic}" }},
		{"unknown field", "wieght", func(p *Policy) { p.Fields += "\nwieght: 3" }},
		{"a digest that isn't the module's", "digest", func(p *Policy) {
			p.Fields += "\ndigest: sha256:0000000000000000000000000000000000000000000000000000000000000000"
		}},
	} {
		for _, failure := range []string{"Fail", "Ignore"} {
			t.Run(c.name+"/"+failure, func(t *testing.T) {
				p := good
				p.Fields += "\nfailurePolicy: " + failure
				c.change(&p)
				w.Refuse(p)
				w.failure("one", c.part, "stays in force")
				if diff := cmp.Diff(want, verdicts()); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
				if n := liveInstances(w, one); n != 1 {
					t.Errorf("want one live instance, got %v", n)
				}
			})
		}
	}
	t.Run("a name that another policy has", func(t *testing.T) {
		thief := policy("thief", "accept")
		thief.Fields += "\nname: " + w.Named("two")
		w.write(thief)
		w.failure(w.Named("two")+"_thief", "name: want one that no other policy has", w.Named("two"))
		if !w.state(w.Named("two"), "Active") {
			t.Errorf("want the status of the policy that has the name left alone, got %s", w.Status(w.Named("two")))
		}
		if diff := cmp.Diff(want, verdicts()); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		if err := os.RemoveAll(filepath.Join(w.dir, w.Named("thief"))); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("good again", func(t *testing.T) {
		w.Load(good)
		want["one"] = ""
		if diff := cmp.Diff(want, verdicts()); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		w.Eventually("it is reported", func() bool { return holds(w.Status(one), `"state":"Active"`, `"reason":"Active"`) == nil })
	})
}
