// SPDX-License-Identifier: Apache-2.0

package berth

// QueueingHintPlugin says which events may help a pod that the policy rejected.
// Without it every event that changes what the policy reads does.
type QueueingHintPlugin interface {
	// QueueingHint says whether the event may have made the pod schedulable. It is
	// called for the events in Policy.Events.
	QueueingHint(c *Cycle, pod Pod, event Event) bool
}

// Event is something that happened in the cluster. It is valid during the call.
type Event struct{ arg Object }

// Name is the event's name: "node/label".
func (e Event) Name() string { return e.arg.Get("event").Text() }

// Old is the object before the event; it doesn't exist where there was none.
func (e Event) Old() Object { return e.arg.Get("old") }

// New is the object after the event; it doesn't exist where there is none.
func (e Event) New() Object { return e.arg.Get("new") }
