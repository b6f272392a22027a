// SPDX-License-Identifier: Apache-2.0

package berth

// QueueKeyPlugin orders the queue.
type QueueKeyPlugin interface {
	// QueueKey is the pod's place: pods with a lower key come first, of equal
	// ones those of higher priority. It is asked when the pod is queued, and
	// stays.
	QueueKey(c *Cycle, pod Pod) int64
}
