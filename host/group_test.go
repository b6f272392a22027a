// SPDX-License-Identifier: Apache-2.0

package host

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
)

// A composite group, its children and their pods are one cycle.
func TestGroupOfGroups(t *testing.T) {
	old, next := testVersion(t, "p", "", abi.Filter), testVersion(t, "p", "", abi.Filter)
	h, b, _ := testHost(entryOf(old))
	list := testNodes("n0")
	root := framework.NewCycleState()
	placement := framework.NewCycleState()
	placement.SetPodGroupSchedulingCycle(root)
	child := func() *framework.CycleState {
		state := framework.NewCycleState()
		state.SetPlacementCycleState(placement)
		return state
	}
	first := h.begin(groupState(child()), "berth", testPod("a"), list)
	first.assumed.Store(true)
	h.active.Store(newActiveSet(2, []*entry{entryOf(next)}))
	old.release()
	second := h.begin(groupState(child()), "berth", testPod("b"), list)
	if second.policies[0].version != old || second.group != first.group {
		t.Error("want the second child in the cycle of the first")
	}
	if first.done.Load() {
		t.Error("want the first child's pod, which may be committed, not ended")
	}
	h.begin(groupState(framework.NewCycleState()), b.profile, testPod("c"), list)
	if !first.done.Load() || !old.closed {
		t.Error("want another group to end the cycle and close the version")
	}
}

// When a group failed, other plugins look for victims by simulating it again,
// with copies of the nodes: that is the same cycle. The group's next attempt
// isn't.
func TestSimulationsOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		pod  *v1.Pod
		copy bool
		same bool
	}{
		"a simulation":         {testPod("a"), true, true},
		"another group's pod":  {testPod("b"), true, false},
		"the group once more":  {testPod("a"), false, false},
		"another group's turn": {testPod("b"), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			old, next := testVersion(t, "p", "", abi.Filter), testVersion(t, "p", "", abi.Filter)
			h, b, _ := testHost(entryOf(old))
			list, copies := testNodes("n0", "n1"), testNodes("n0", "n1")
			cs := h.begin(groupState(framework.NewCycleState()), b.profile, testPod("a"), list)
			cs.pods = []*v1.Pod{cs.pod}
			h.leaveGroup(cs.cycle)
			h.active.Store(newActiveSet(2, []*entry{entryOf(next)}))
			nodes := list
			if c.copy {
				nodes = copies
			}
			want := map[bool]*version{true: old, false: next}[c.same]
			if got := h.begin(groupState(framework.NewCycleState()), b.profile, c.pod, nodes); got.policies[0].version != want {
				t.Errorf("same cycle: want %t, got the other version", c.same)
			}
			if got := h.begin(groupState(framework.NewCycleState()), b.profile, testPod("a"), list); got.policies[0].version != next {
				t.Error("want the group's next attempt on the new version")
			}
		})
	}
}

// What a host simulates itself is part of the cycle that it is for; afterwards
// the nodes are those of before.
func TestOwnSimulation(t *testing.T) {
	old, next := testVersion(t, "p", "", abi.Filter), testVersion(t, "p", "", abi.Filter)
	h, b, _ := testHost(entryOf(old))
	list, copies := testNodes("n0", "n1"), testNodes("n0", "n1")
	b.handle = &snapshotHandle{list: list}
	first := h.begin(groupState(framework.NewCycleState()), b.profile, testPod("a"), list)
	h.active.Store(newActiveSet(2, []*entry{entryOf(next)}))
	h.startSimulation()
	inner := h.begin(groupState(framework.NewCycleState()), b.profile, testPod("a"), copies)
	if inner.group != first.group || inner.policies[0].version != old {
		t.Error("want the simulation in the group's cycle")
	}
	if err := h.endSimulation(first.set, b.handle); err != nil {
		t.Fatal(err)
	}
	if !inner.done.Load() {
		t.Error("want the simulation's cycles ended")
	}
	if _, ok := h.index.snapshotSlot(list[0]); !ok {
		t.Error("want the nodes of before in the index")
	}
	if got := h.begin(groupState(framework.NewCycleState()), b.profile, testPod("a"), list); got.policies[0].version != next {
		t.Error("want the next attempt on the new version")
	}
}

// snapshotHandle is a handle with a snapshot of some nodes.
type snapshotHandle struct {
	fwk.Handle
	fwk.SharedLister
	fwk.NodeInfoLister
	list []fwk.NodeInfo
}

func (h *snapshotHandle) SnapshotSharedLister() fwk.SharedLister { return h }
func (h *snapshotHandle) NodeInfos() fwk.NodeInfoLister          { return h }
func (h *snapshotHandle) List() ([]fwk.NodeInfo, error)          { return h.list, nil }
