// SPDX-License-Identifier: Apache-2.0

package conformance

import "testing"

// testNames gives a policy another name, and changes policies faster than they
// are reported.
func testNames(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{Run: true, Objects: objects(node("n1", "a", 4))})
	policy := func(name, config, fields string) Policy {
		return Policy{Name: name, Module: goGuest(t, chameleon), Config: config, Fields: fields + "\n" + inNamespace(name)}
	}
	t.Run("renamed", func(t *testing.T) {
		w.Load(policy("old", "{filter: reject}", ""))
		p := pod("renamed").Namespace("old").Obj()
		w.Create(p)
		w.Pending(p, w.Named("old")+": told to reject")
		w.write(policy("old", "{filter: accept}", "name: "+w.Named("new")))
		w.Bound(p)
		w.Eventually("the old name is gone", func() bool {
			return w.Status(w.Named("old")) == "" && w.state(w.Named("new"), "Active") && liveInstances(w, w.Named("new")) == 1
		})
		w.Evaluate(pod("last").Namespace("none").Obj()) // ends the last cycle of the old version
		w.Eventually("nothing lives under the old name", func() bool { return liveInstances(w, w.Named("old")) == 0 })
	})
	t.Run("broken at once after a good version", func(t *testing.T) {
		w.Load(policy("quick", "{filter: reject}", ""), policy("marker", "{filter: accept}", ""))
		w.Load(policy("quick", "{filter: accept}", "")) // reported when no batch can use the version before
		w.Refuse(policy("quick", "{filter: accept}", "wieght: 1"))
		w.Load(policy("marker", "{filter: accept}", "weight: 3")) // reported later than the good version would be
		w.Eventually("the marker is reported", func() bool { return holds(w.Status(w.Named("marker")), `"weight":3`, `"state":"Active"`) == nil })
		w.failure("quick", "wieght", "stays in force")
		if !w.state(w.Named("quick"), "Failed") {
			t.Errorf("want the broken version reported, got %s", w.Status(w.Named("quick")))
		}
	})
	t.Run("suspended while it can't be read", func(t *testing.T) {
		w.Load(policy("off", "{filter: reject}", "suspend: true"))
		w.Refuse(policy("off", "{filter: reject}", "suspend: true\nwieght: 1"))
		w.Eventually("it is reported with the reason", func() bool {
			return holds(w.Status(w.Named("off")), `"state":"Suspended"`, "wieght") == nil
		})
	})
}
