// SPDX-License-Identifier: Apache-2.0

// Command nodeports is a port of the in-tree plugin NodePorts.
package main

import berth "github.com/berth-scheduler/berth/guest-sdk/go"

func main() {}

func init() {
	berth.Register(&berth.Policy{
		Name: "NodePorts", Version: "1", Pure: true,
		Reads: []berth.Section{berth.PodPorts, berth.NodePorts},
	}, plugin{})
}

type plugin struct{}

// Filter implements berth.FilterPlugin.
func (plugin) Filter(_ *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	if _, conflict := pod.PortConflict(node); conflict {
		return berth.Unschedulable("node(s) didn't have free ports for the requested pod ports")
	}
	return nil
}
