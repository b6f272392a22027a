// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
)

// PodGroupPostFilter implements berth.PodGroupPostFilterPlugin: of the nodes that
// the config names it evicts the fewest pods of a lower priority.
func (p *placer) PodGroupPostFilter(c *berth.PodGroupCycle, group berth.Group) (map[string]string, *berth.Status) {
	switch group.Label("do") {
	case "final":
		return nil, berth.UnschedulableAndUnresolvable("told to reject for good")
	case "panic in preemption":
		panic("told to panic")
	case "error in preemption":
		return nil, berth.Error("told to fail")
	case "nominate nowhere":
		return map[string]string{firstPod(group): "nowhere"}, nil
	case "nominate a stranger":
		return map[string]string{"stranger": p.nodes[0]}, nil
	case "stranger as victim":
		_, s := c.DryRun([]berth.Victim{{Node: p.nodes[0], UID: "stranger"}})
		return nil, s
	case "preempt":
		read, s := c.Group(group.Namespace(), group.Name())
		if s != nil {
			return nil, s
		}
		if read.Get("unscheduled").Len() != group.Len() || read.Get("assumed").Len() != 0 {
			return nil, berth.Error("want the group's pods unscheduled")
		}
	default:
		return nil, berth.Unschedulable("told not to preempt")
	}
	priority := int32(0)
	for pod := range group.Pods() {
		priority = pod.Priority()
	}
	var victims []berth.Victim
	for node := range c.Nodes(append(p.nodes, "nowhere")...) {
		for pod := range node.Pods().All() {
			if pod.Priority() < priority {
				victims = append(victims, berth.Victim{Node: string([]byte(node.Name())), UID: string([]byte(pod.UID())), Priority: pod.Priority()})
			}
		}
	}
	nodes, s := c.DryRun(victims)
	if s != nil {
		return nil, s
	}
	slices.SortStableFunc(victims, func(a, b berth.Victim) int { return int(b.Priority) - int(a.Priority) })
	for i := 0; i < len(victims); {
		fewer := slices.Delete(slices.Clone(victims), i, i+1)
		if found, s := c.DryRun(fewer); s == nil {
			victims, nodes = fewer, found
		} else {
			i++
		}
	}
	c.Evict(victims, false)
	return nodes, nil
}

func firstPod(group berth.Group) string {
	for pod := range group.Pods() {
		return pod.UID()
	}
	return ""
}
