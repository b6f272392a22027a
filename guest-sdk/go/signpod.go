// SPDX-License-Identifier: Apache-2.0

package berth

// SignPlugin narrows which pods are alike, for the scheduler's batching: those
// whose specs are equal, and whose keys are, too.
type SignPlugin interface {
	// SignPod is the pod's key. Unschedulable says that the pod is like no other.
	SignPod(c *Cycle, pod Pod) (key string, s *Status)
}
