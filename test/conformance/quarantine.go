// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// testQuarantine has a policy that fails cycle after cycle: it is put aside and
// reported; meanwhile its failure policy rules; afterwards its pods are tried
// again by themselves.
func testQuarantine(t *testing.T, e Engine) {
	t.Parallel() // it takes as long as a quarantine
	w := e.NewWorld(t, Setting{Run: true, Objects: objects(node("n1", "a", 4))})
	for _, failure := range []string{"Fail", "Ignore"} {
		ns := map[string]string{"Fail": "q-fail", "Ignore": "q-ignore"}[failure]
		w.Load(Policy{
			Name: ns, Module: goGuest(t, chameleon), Config: "{filter: panic, when: bad}",
			Fields: "failurePolicy: Fail\nfailurePolicies: {filter: Fail}\n" + inNamespace(ns),
		})
		if failure == "Ignore" {
			w.Load(Policy{
				Name: ns, Module: goGuest(t, chameleon), Config: "{filter: panic, when: bad, value: 1}",
				Fields: "failurePolicy: Ignore\n" + inNamespace(ns),
			})
		}
		for i := range 5 {
			p := pod(fmt.Sprint(ns, "-bad-", i)).Namespace(ns).Label("bad", "").Obj()
			w.Create(p)
			if failure == "Fail" {
				w.Pending(p, "told to panic")
			} else {
				w.Bound(p)
			}
		}
		w.Eventually(ns+" is quarantined", func() bool { return w.state(w.Named(ns), "Quarantined") })
		w.Eventually("it is reported", func() bool {
			return holds(w.Status(w.Named(ns)), `"state":"Quarantined"`, "told to panic") == nil
		})
	}
	ignored := pod("ignored").Namespace("q-ignore").Label("bad", "").Obj()
	w.Create(ignored)
	w.Bound(ignored)
	good := pod("good").Namespace("q-fail").Obj()
	w.Create(good)
	w.Pending(good, w.Named("q-fail")+": quarantined")
	for i := range 5 {
		name := fmt.Sprint("q-fail-bad-", i)
		if err := w.Client.CoreV1().Pods("q-fail").Delete(w.ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.Bound(good)
	w.Eventually("it is active again", func() bool { return w.state(w.Named("q-fail"), "Active") })
}
