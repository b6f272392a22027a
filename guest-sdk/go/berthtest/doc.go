// SPDX-License-Identifier: Apache-2.0

// Package berthtest runs a policy natively, in an ordinary go test, through the
// same frames, records and results as in the scheduler.
//
//	func TestFilter(t *testing.T) {
//		h := berthtest.New(t, &policy, &teamPools{}, map[string]any{"teamLabel": "team"})
//		pod := berthtest.Pod("default", "web").Label("team", "red")
//		blue := berthtest.Node("blue-1").Label("pool", "blue")
//		got := h.Filter(pod, blue)
//		want := []berthtest.Verdict{{Code: berthtest.Unschedulable, Reason: "the pool belongs to another team"}}
//		...
//	}
//
// Host plays the scheduler: its methods run the points that a cycle would. Cycle
// gives control over the single points, and over clones of cycle state as
// preemption makes them. Only the sections that the policy declares are there: one
// that it forgot to declare is a panic that names it.
//
// What a test can't show here: limits of fuel and memory, and the module's
// size. berth build says the size; berth check runs describe and configure under
// the limits of policy.yaml.
package berthtest
