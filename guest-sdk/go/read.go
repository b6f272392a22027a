// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
)

// The reads of Cycle ask the host for what isn't in views. Of each,
//
//   - an Object that doesn't exist says that there is no such thing;
//   - a Status says that the host hasn't fetched it yet: return it, and the pod
//     is tried again;
//   - a panic says that the policy may not read it: it isn't declared in Policy,
//     policy.yaml doesn't grant it, or not at this point.

// WholePod is the call's pod with all of its fields.
func (c *Cycle) WholePod() (Object, *Status) { return c.read(abi.ReadPod, "pod", here) }

// WholeNode is a node with all of its fields. It is read from the scheduler's
// snapshot, as are pods, groups and nominations: not at points outside the
// scheduling cycle.
func (c *Cycle) WholeNode(name string) (Object, *Status) {
	return c.read(abi.ReadNode, "node", here, name)
}

// PodOn is a pod that is on a node or assumed there, with all of its fields.
func (c *Cycle) PodOn(node, uid string) (Object, *Status) {
	return c.read(abi.ReadPodOnNode, "pod_on_node", here, node, uid)
}

// Object is an object of a resource that is in Policy.Resources, named as there;
// the namespace is empty where the resource has none.
func (c *Cycle) Object(resource, namespace, name string) (Object, *Status) {
	return c.read(abi.ReadObject, "object", "add it to Policy.Resources and to the grants of policy.yaml", resource, namespace, name)
}

// Objects are the objects of a resource that a label selector ("app=web,tier")
// selects, a list by namespace and name. An empty namespace is all of them, an
// empty selector every object.
func (c *Cycle) Objects(resource, namespace, selector string) (Object, *Status) {
	return c.read(abi.ReadObjects, "objects", "add it to Policy.Resources and to the grants of policy.yaml", resource, namespace, selector)
}

// Kept is what Keep kept under a key.
func (c *Cycle) Kept(key string) (Object, *Status) {
	return c.read(abi.ReadState, "state", here, key)
}

// DataSet is a number of a data set that is in Policy.DataSets: a map of value
// and age_ns. With an empty key it is a map of values, itself a map of all, and
// age_ns.
func (c *Cycle) DataSet(name, key string) (Object, *Status) {
	return c.read(abi.ReadDataSet, "data_set", "add it to Policy.DataSets and to policy.yaml", name, key)
}

// Aggregate is what assigned pods have in common whose namespace or label has a
// value: a map of pods, their number, and requests, a map of what they ask for
// in all. The name is one in Policy.Aggregates: "namespace" or "label/KEY".
func (c *Cycle) Aggregate(name, value string) (Object, *Status) {
	return c.read(abi.ReadAggregate, "aggregate", "add it to Policy.Aggregates", name, value)
}

// Waiting are the pods that wait in Permit, a list of maps of uid, namespace,
// name, node, labels, since_ns, and held: whether this policy holds it.
func (c *Cycle) Waiting() (Object, *Status) { return c.read(abi.ReadWaiting, "waiting", here) }

// Group is a pod group: a map of name, namespace, spec, and lists of pods' UIDs:
// all, unscheduled, assumed, assigned.
func (c *Cycle) Group(namespace, name string) (Object, *Status) {
	return c.read(abi.ReadGroup, "group", here, namespace, name)
}

// Nominated are the pods that are nominated to a node: a list of maps of uid,
// namespace, name, priority.
func (c *Cycle) Nominated(node string) (Object, *Status) {
	return c.read(abi.ReadNominated, "nominated", here, node)
}

// NodeStatus says, in PostFilter, why a node was rejected: a map of code and
// reasons.
func (c *Cycle) NodeStatus(node string) (Object, *Status) {
	return c.read(abi.ReadNodeStatus, "node_status", here, node)
}

// here is what there is to do about a refused read that needs no declaration.
const here = "it can't be read at this point"

var (
	notReady = &Status{code: abi.Error, reason: "what the policy reads is not there yet"}
	tooLarge = &Status{code: abi.Error, reason: "what the policy reads doesn't fit a record: declare fields, or ask for less"}
)

// read asks the host; the parts make the key.
func (c *Cycle) read(what abi.Read, name, remedy string, parts ...string) (Object, *Status) {
	key := ""
	for i, p := range parts {
		if i > 0 {
			key += "\x00"
		}
		key += p
	}
	record, n := c.space.fetch(what, key)
	switch {
	case record != nil:
		return Object{abi.TrustValue(record)}, nil
	case n == abi.ReadAbsent:
		return Object{}, nil
	case n == abi.ReadNotReady:
		return Object{}, notReady
	case n == abi.ReadTooLarge:
		return Object{}, tooLarge
	}
	for _, p := range parts {
		name += " \"" + p + "\""
	}
	panic("berth: " + pointName(c.point) + ": the host refuses to read " + name + ": " + remedy)
}

// space is memory for what is read. What a call read is overwritten by the next,
// but for a conversation's, which has a space of its own.
type space struct{ all, free []uint64 }

// spaceWords is how much is taken at once.
const spaceWords = 1 << 10

func (s *space) reset() { s.free = s.all }

// fetch returns what the host has, or the number that says why it has none.
func (s *space) fetch(what abi.Read, key string) (record []byte, n int64) {
	for {
		n = hostRead(uint32(what), key, unsafe.Pointer(unsafe.SliceData(s.free)), uint32(8*len(s.free)))
		if n < 0 {
			return nil, n
		}
		words := int(n+7) / 8
		if words <= len(s.free) {
			record = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s.free))), int(n))
			s.free = s.free[words:]
			return record, n
		}
		s.all = make([]uint64, max(words, spaceWords))
		s.free = s.all
	}
}
