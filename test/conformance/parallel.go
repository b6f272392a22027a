// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// testParallel is C6: 200 nodes and 16 workers give what one worker gives, for
// guests that write to a memory of their own in Filter, for nominated pods (each
// worker clones the cycle state) and for preemption (each candidate does).
// Run it with -race, too.
func testParallel(t *testing.T, e Engine) {
	for name, p := range map[string]Policy{
		"memory": {Name: "twin", Module: goGuest(t, chameleon), Config: "{filter: count, score: free, value: 2}"},
		"state":  {Name: "twin", Module: goGuest(t, stateful), Config: "{most: 120}"},
		"max":    {Name: "twin", Module: goGuest(t, chameleonMax), Config: "{filter: room, score: free}"},
	} {
		t.Run(name, func(t *testing.T) {
			script := func(parallelism int32) any {
				w := e.NewWorld(t, Setting{Parallelism: parallelism, Fit: true})
				policy := w.Load(p)
				cluster(w, 199)
				w.AddNodes(node("huge", "a", 32)) // the one candidate for preemption
				w.AddPods(pod("fat").Node("huge").Req(map[v1.ResourceName]string{"cpu": "30"}).Obj())
				for i := range 40 {
					w.Nominate(pod(fmt.Sprint("vip-", i)).Priority(100).Label("group", "g0").Obj(), fmt.Sprintf("n%03d", i*5))
				}
				var all []any
				for i := range 4 {
					a := w.Evaluate(pod(fmt.Sprint("p", i)).Priority(int32(50*i)).Label("group", "g0").Req(map[v1.ResourceName]string{"cpu": "1"}).Obj())
					all = append(all, a.Outcome())
				}
				all = append(all, preempt(w, pod("big").Priority(1000).Label("group", "g0").Req(map[v1.ResourceName]string{"cpu": "20"}).Obj()))
				for _, cause := range []string{"trap", "fuel", "bad_result", "lost_state"} {
					if n := w.faults(policy, "filter", cause); n != 0 {
						t.Errorf("want no fault, got %v of cause %s", n, cause)
					}
				}
				return strings.ReplaceAll(fmt.Sprintf("%+v", all), policy, "twin")
			}
			if diff := cmp.Diff(script(1), script(16)); diff != "" {
				t.Errorf("-serial +parallel\n%s", diff)
			}
		})
	}
}
