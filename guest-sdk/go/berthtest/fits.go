// SPDX-License-Identifier: Apache-2.0

package berthtest

// Fits says whether what a pod requests is free on a node: a function for
// Cycle.PostFilter where resources are what the pod lacks.
func Fits(pod *PodBuilder) func(node *NodeBuilder) Verdict {
	return func(node *NodeBuilder) Verdict {
		for _, resource := range byID(pod.requests) {
			free := node.allocatable[resource]
			for _, p := range node.pods {
				free -= p.requests[resource]
			}
			if pod.requests[resource] > free {
				return Verdict{Unschedulable, "Insufficient " + resource}
			}
		}
		return Verdict{}
	}
}
