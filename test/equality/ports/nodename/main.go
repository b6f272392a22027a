// SPDX-License-Identifier: Apache-2.0

// Command nodename is a port of the in-tree plugin NodeName: a pod that names
// its node runs there only.
package main

import berth "github.com/berth-scheduler/berth/guest-sdk/go"

func main() {}

func init() {
	berth.Register(&berth.Policy{
		Name: "NodeName", Version: "1", Reads: []berth.Section{berth.PodIdentity},
	}, plugin{})
}

type plugin struct{}

// PreFilter implements berth.PreFilterPlugin.
func (plugin) PreFilter(_ *berth.Cycle, pod berth.Pod) (*berth.NodeSet, *berth.Status) {
	if name := pod.AssignedNode(); name != "" {
		return berth.Nodes(name), nil
	}
	return nil, nil
}

// Filter implements berth.FilterPlugin.
func (plugin) Filter(_ *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	if name := pod.AssignedNode(); name != "" && name != node.Name() {
		return berth.UnschedulableAndUnresolvable("node(s) didn't match the requested node name")
	}
	return nil
}
