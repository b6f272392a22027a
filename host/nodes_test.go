// SPDX-License-Identifier: Apache-2.0

package host

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// A node keeps its slot while it exists, wherever it stands; a slot is free for
// another node only after whoever asked has been told that it is gone.
func TestNodeIndex(t *testing.T) {
	var x nodeIndex
	a, b, c, d := testNodes("a")[0], testNodes("b")[0], testNodes("c")[0], testNodes("d")[0]
	b2 := testNodes("b")[0] // another info of the same node
	for _, step := range []struct {
		name  string
		list  []fwk.NodeInfo
		gone  []uint32
		slots map[string]uint32
	}{
		{"first", []fwk.NodeInfo{a, b}, nil, map[string]uint32{"a": 0, "b": 1}},
		{"one more, another order", []fwk.NodeInfo{c, b, a}, nil, map[string]uint32{"a": 0, "b": 1, "c": 2}},
		{"replaced in one step", []fwk.NodeInfo{c, d, b}, []uint32{0}, map[string]uint32{"b": 1, "c": 2, "d": 3}},
		{"a slot used again", []fwk.NodeInfo{a, c, d, b2}, nil, map[string]uint32{"a": 0, "b": 1, "c": 2, "d": 3}},
		{"none", nil, []uint32{0, 1, 2, 3}, map[string]uint32{}},
		{"all again", []fwk.NodeInfo{a, b, c, d}, nil, nil},
	} {
		gone := x.update(step.list)
		slices.Sort(gone)
		if diff := cmp.Diff(step.gone, gone); diff != "" {
			t.Errorf("%s: gone: -want +got\n%s", step.name, diff)
		}
		if diff := cmp.Diff(step.slots, x.slots); step.slots != nil && diff != "" {
			t.Errorf("%s: slots: -want +got\n%s", step.name, diff)
		}
		for i, ni := range step.list {
			slot, ok := x.snapshotSlot(ni)
			if !ok || x.at[i] != slot || x.pos[slot] != int32(i) || x.names[slot] != ni.Node().Name {
				t.Errorf("%s: node %s: got slot %d, %t", step.name, ni.Node().Name, slot, ok)
			}
			if _, ok := x.snapshotSlot(ni.Snapshot()); ok {
				t.Errorf("%s: want a modified copy told from node %s", step.name, ni.Node().Name)
			}
		}
	}
	if _, ok := x.snapshotSlot(testNodes("stranger")[0]); ok {
		t.Error("want a node that isn't listed unknown")
	}
	if gone := x.update(x.list); gone != nil {
		t.Errorf("want nothing to do for the same list, got %v", gone)
	}
}

func TestNodePlaces(t *testing.T) {
	var x nodeIndex
	x.update(testNodes("a", "b", "c", "d"))
	if diff := cmp.Diff([]int32{1, 3}, x.places(sets.New("d", "b", "ghost"))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if x.places(nil) == nil {
		t.Error("want no places told from all")
	}
}
