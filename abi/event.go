// SPDX-License-Identifier: Apache-2.0

package abi

// EventInfo is a row of the table of events that a policy may ask queueing_hint
// to be called for.
type EventInfo struct{ Name, Doc string }

// EventResource is the event of a declared resource or of a data set, which the
// scheduler's own queue doesn't know of.
const EventResource = "resource"

// Events is the table of events. (It is a function so that guests, which don't
// call it, don't hold the table.)
func Events() []EventInfo {
	return []EventInfo{
		{"node/add", "a node came"},
		{"node/label", "a node's labels changed"},
		{"node/taint", "a node's taints changed, or it was cordoned or uncordoned"},
		{"node/allocatable", "what a node can hold changed"},
		{"node/condition", "a node's conditions changed"},
		{"node/annotation", "a node's annotations changed"},
		{"node/feature", "a node's declared features changed"},
		{"assigned_pod/add", "a pod was given a node"},
		{"assigned_pod/delete", "a pod that had a node is gone"},
		{"assigned_pod/label", "a pod's labels changed, which has a node"},
		{"assigned_pod/scale_down", "a pod that has a node asks for less"},
		{"pod/label", "the rejected pod's labels changed"},
		{"pod/scale_down", "the rejected pod asks for less"},
		{"pod/toleration", "the rejected pod's tolerations changed"},
		{"pod/gate", "the rejected pod's scheduling gates are gone"},
		{"pod/update", "something else of a pod changed; where the scheduler is set to tell"},
		{EventResource, "an object of a declared resource came, changed, or is gone"},
	}
}
