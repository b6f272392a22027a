// SPDX-License-Identifier: Apache-2.0

package berth

// PreEnqueuePlugin gates pods before they are queued.
type PreEnqueuePlugin interface {
	// PreEnqueue keeps the pod out of the queue with UnschedulableAndUnresolvable.
	// It is asked again when something that concerns the pod changes, and when the
	// policy activates it.
	PreEnqueue(c *Cycle, pod Pod) *Status
}
