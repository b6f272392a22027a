// SPDX-License-Identifier: Apache-2.0

// Command tainttoleration is a port of the in-tree plugin TaintToleration.
package main

import berth "github.com/berth-scheduler/berth/guest-sdk/go"

func main() {}

func init() {
	berth.Register(&berth.Policy{
		Name: "TaintToleration", Version: "1", Pure: true, Normalize: berth.NormalizeReversed,
		Reads: []berth.Section{berth.PodTolerations, berth.NodeTaints},
	}, plugin{})
}

type plugin struct{}

// Filter implements berth.FilterPlugin.
func (plugin) Filter(_ *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	if _, untolerated := pod.UntoleratedTaint(node); untolerated {
		return berth.UnschedulableAndUnresolvable("node(s) had untolerated taint(s)")
	}
	return nil
}

// Score implements berth.ScorePlugin: the number of taints that the node would
// rather be spared from.
func (plugin) Score(_ *berth.Cycle, pod berth.Pod, node berth.Node) (n int64, _ *berth.Status) {
	for taint := range node.Taints().All() {
		if taint.Effect() == berth.PreferNoSchedule && !pod.Tolerates(taint) {
			n++
		}
	}
	return n, nil
}
