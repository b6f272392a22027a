// SPDX-License-Identifier: Apache-2.0

// Command nodeunschedulable is a port of the in-tree plugin NodeUnschedulable:
// cordoned nodes are for pods that tolerate that.
package main

import berth "github.com/berth-scheduler/berth/guest-sdk/go"

func main() {}

func init() {
	berth.Register(&berth.Policy{
		Name: "NodeUnschedulable", Version: "1", Pure: true,
		Reads: []berth.Section{berth.PodTolerations},
	}, plugin{})
}

var cordoned = berth.NewSymbol("node.kubernetes.io/unschedulable")

type plugin struct{}

// Filter implements berth.FilterPlugin.
func (plugin) Filter(_ *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	if !node.Unschedulable() || pod.Covers(cordoned.ID(), 0, berth.NoSchedule) {
		return nil
	}
	return berth.UnschedulableAndUnresolvable("node(s) were unschedulable")
}
