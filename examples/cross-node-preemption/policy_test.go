// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
)

const zoneKey = "topology.kubernetes.io/zone"

// loud is a pod that quiet must not share a zone with.
func loud(name string, priority int32) *berthtest.PodBuilder {
	return berthtest.Pod("default", name).Label("noise", "loud").Priority(priority).Request("cpu", 1000)
}

func quiet(priority int32) *berthtest.PodBuilder {
	return berthtest.Pod("default", "quiet").Priority(priority).Request("cpu", 1000).AvoidPods(zoneKey, map[string]string{"noise": "loud"})
}

func node(name, zone string, pods ...*berthtest.PodBuilder) *berthtest.NodeBuilder {
	return berthtest.Node(name).Label(zoneKey, zone).Allocatable("cpu", 4000).Pod(pods...)
}

// victims runs the policy; of a trial it is told whether the node has room. What
// rules say of whole zones is tried on a real scheduler, in test/e2e.
func victims(t *testing.T, config map[string]any, pod *berthtest.PodBuilder, nodes ...*berthtest.NodeBuilder) berthtest.PostFilterResult {
	t.Helper()
	h := berthtest.New(t, &policy, &crossNode{}, config)
	h.SetNodes(nodes...)
	c := h.Cycle(pod)
	c.PreFilter(nodes...)
	got := c.PostFilter(berthtest.Fits(pod), nodes...)
	slices.Sort(got.Victims)
	return got
}

// Pods of lower priority on the candidate itself are victims as ever.
func TestOneNode(t *testing.T) {
	pod := berthtest.Pod("default", "big").Priority(10).Request("cpu", 4000).AvoidPods(zoneKey, map[string]string{"noise": "loud"})
	got := victims(t, nil, pod, node("n1", "a", loud("x", 1), loud("y", 2)), node("n2", "b", loud("z", 20)))
	if diff := cmp.Diff([]string{"uid-default-x", "uid-default-y"}, got.Victims); diff != "" || got.Node != "n1" {
		t.Errorf("want both pods of n1, got node %q (-want +got)\n%s", got.Node, diff)
	}
}

// More victims than the budget has are none.
func TestBudget(t *testing.T) {
	pod := berthtest.Pod("default", "big").Priority(10).Request("cpu", 4000).AvoidPods(zoneKey, map[string]string{"noise": "loud"})
	got := victims(t, map[string]any{"maxVictims": 1}, pod, node("n1", "a", loud("x", 1), loud("y", 2)))
	if got.Code != berthtest.Unschedulable || len(got.Victims) > 0 {
		t.Errorf("want nothing within the budget, got %v, %v", got.Verdict, got.Victims)
	}
}

// Who is in the way in a zone, and who isn't.
func TestObstacles(t *testing.T) {
	h := berthtest.New(t, &policy, &crossNode{}, nil)
	tests := []struct {
		name string
		pod  *berthtest.PodBuilder
		want berthtest.Code
	}{
		{"anti-affinity", quiet(10), berthtest.Success},
		{"spread", berthtest.Pod("default", "p").Priority(10).Spread(1, zoneKey, "DoNotSchedule", map[string]string{"noise": "loud"}), berthtest.Success},
		{"spread that may be off", berthtest.Pod("default", "p").Priority(10).Spread(1, zoneKey, "ScheduleAnyway", map[string]string{"noise": "loud"}), berthtest.Skip},
		{"no rule", berthtest.Pod("default", "p").Priority(10), berthtest.Skip},
		{"never preempts", quiet(10).Copy("never").NeverPreempts(), berthtest.Skip},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := h.Cycle(test.pod).PreFilter(node("n1", "a", loud("x", 1))).Code; got != test.want {
				t.Errorf("want %v, got %v", test.want, got)
			}
		})
	}
}
