// SPDX-License-Identifier: Apache-2.0

package abi

// Read is what the import read asks for, its first parameter.
type Read uint32

// Reads.
const (
	ReadPod Read = iota
	ReadNode
	ReadPodOnNode
	ReadObject
	ReadObjects
	ReadState
	ReadDataSet
	ReadAggregate
	ReadWaiting
	ReadGroup
	ReadNominated
	ReadNodeStatus
)

// ReadInfo is a row of the table of reads.
type ReadInfo struct {
	Read  Read
	Name  string // wire name
	Key   string // what the key holds; its parts are joined by a NUL
	Cycle bool   // read from the scheduler's snapshot: not at points outside a cycle
	Doc   string
}

// ReadTable is the table of reads, indexed by Read. (It is a function so that
// guests, which don't call it, don't hold the table.)
func ReadTable() []ReadInfo {
	return []ReadInfo{
		{ReadPod, "pod", "empty", false, "the whole pod of the call"},
		{ReadNode, "node", "name", true, "the whole node"},
		{ReadPodOnNode, "pod_on_node", "node, UID", true, "a whole pod that is on a node or assumed there"},
		{ReadObject, "object", "resource, namespace, name", false, "an object of a declared resource; the resource as in the document, the namespace empty where it has none"},
		{ReadObjects, "objects", "resource, namespace, label selector", false, "a list of the objects of a declared resource, by namespace and name; an empty namespace is all, an empty selector everything"},
		{ReadState, "state", "key", false, "what an intent state kept"},
		{ReadDataSet, "data_set", "name, key", false, "a map: value, a float, and age_ns, how old it is; with an empty key values, a map of all, and age_ns"},
		{ReadAggregate, "aggregate", "name, value", false, "a map: pods, how many assigned pods have the value, and requests, the sum of what they ask for by resource"},
		{ReadWaiting, "waiting", "empty", false, "a list of pods that wait in permit, those that this policy holds first, then by since_ns: maps of uid, namespace, name, node, labels, since_ns, 0 where no policy holds it, and held, whether this one does"},
		{ReadGroup, "group", "namespace, name", true, "a pod group: a map of name, namespace, spec, and lists of UIDs: all, unscheduled, assumed, assigned"},
		{ReadNominated, "nominated", "node", true, "a list of the pods nominated to a node: maps of uid, namespace, name, priority"},
		{ReadNodeStatus, "node_status", "node", true, "post_filter: a map of code and reasons, why the node was rejected"},
	}
}

// Negative answers of the import read.
const (
	ReadAbsent   = -1 // there is no such thing
	ReadNotReady = -2 // the host hasn't fetched it yet
	ReadRefused  = -3 // not declared, not granted, or not at this point
	ReadTooLarge = -4 // more than a value record may hold: ask for less, or declare fields
)
