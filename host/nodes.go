// SPDX-License-Identifier: Apache-2.0

package host

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// nodeIndex gives each node of the snapshot a slot that it keeps while it
// exists, and remembers where it stands in the framework's list. All policies
// share it. It changes only at the start of a serial cycle; in between any
// goroutine may read it.
type nodeIndex struct {
	slots map[string]uint32
	names []string // by slot; "" is free
	pos   []int32  // by slot: place in list
	free  []uint32
	list  []fwk.NodeInfo
	at    []uint32 // by place in list: slot
}

// update takes the list that the framework passed to PreFilter. The framework
// passes the same slice until a node comes or goes, so most calls do nothing.
// It returns the slots of nodes that are gone.
func (x *nodeIndex) update(list []fwk.NodeInfo) (gone []uint32) {
	if len(list) == len(x.list) && (len(list) == 0 || &list[0] == &x.list[0]) {
		return nil
	}
	if x.slots == nil {
		x.slots = make(map[string]uint32, len(list))
	}
	x.list, x.at = list, make([]uint32, len(list))
	for i := range x.pos {
		x.pos[i] = -1
	}
	for i, ni := range list {
		name := ni.Node().Name
		slot, ok := x.slots[name]
		if !ok {
			slot = x.take(name)
		}
		x.pos[slot], x.at[i] = int32(i), slot
	}
	for name, slot := range x.slots {
		if x.pos[slot] < 0 {
			delete(x.slots, name)
			x.names[slot] = ""
			x.free = append(x.free, slot)
			gone = append(gone, slot)
		}
	}
	return gone
}

func (x *nodeIndex) take(name string) uint32 {
	var slot uint32
	if n := len(x.free); n > 0 {
		slot = x.free[n-1]
		x.free = x.free[:n-1]
		x.names[slot] = name
	} else {
		slot = uint32(len(x.names))
		x.names = append(x.names, name)
		x.pos = append(x.pos, -1)
	}
	x.slots[name] = slot
	return slot
}

// slot finds a node by name.
func (x *nodeIndex) slot(name string) (uint32, bool) {
	s, ok := x.slots[name]
	return s, ok
}

// places are where nodes stand in the list, in its order. It is not nil.
func (x *nodeIndex) places(names sets.Set[string]) []int32 {
	places := make([]int32, 0, len(names))
	for name := range names {
		if slot, ok := x.slots[name]; ok {
			places = append(places, x.pos[slot])
		}
	}
	slices.Sort(places)
	return places
}

// snapshotSlot finds the slot of exactly this node info: one from the list of
// this cycle, not a modified copy of it.
func (x *nodeIndex) snapshotSlot(ni fwk.NodeInfo) (uint32, bool) {
	slot, ok := x.slots[ni.Node().Name]
	if !ok {
		return 0, false
	}
	p := x.pos[slot]
	return slot, p >= 0 && x.list[p] == ni
}

// copied says whether nodes are copies of those in the list, as while another
// plugin takes pods away from them to look for victims.
func (x *nodeIndex) copied(nodes []fwk.NodeInfo) bool {
	if len(nodes) == 0 {
		return false
	}
	slot, ok := x.slots[nodes[0].Node().Name]
	return ok && x.list[x.pos[slot]] != nodes[0]
}

// place is where a node of the list stands in it.
func (x *nodeIndex) place(ni fwk.NodeInfo) int32 { return x.pos[x.slots[ni.Node().Name]] }
