// SPDX-License-Identifier: Apache-2.0

package host

import (
	"runtime"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// groupKey is where the cycle of a pod group is in the state of its root.
const groupKey fwk.StateKey = "berth-group"

// group is the cycle of a pod group with all that it holds: its children's, its
// pods' and, after it failed, the simulations that look for victims. One set of
// versions decides about all of it. host.cycleMu guards it.
type group struct {
	set    *activeSet
	held   []*version          // so that none of the set is closed before the cycle ends
	cycles []*cycle            // of points that are about a group, not about a pod
	ended  sync.Once           // by the next cycle, or when the root's state is gone
	failed sets.Set[types.UID] // its pods, once its simulation is over and another plugin may look for victims
}

// groupRef is a group in the state of a root.
type groupRef struct{ *group }

// Clone shares the group.
func (r *groupRef) Clone() fwk.StateData { return r }

// rootOf finds the group that isn't part of another.
func rootOf(state fwk.PodGroupCycleState) fwk.PodGroupCycleState {
	for {
		parent := state.GetParentPlacementCycleState()
		if parent == nil || parent.GetPodGroupSchedulingCycle() == nil {
			return state
		}
		state = parent.GetPodGroupSchedulingCycle()
	}
}

// groupOf finds the cycle of a group, or begins it. The caller holds cycleMu. A
// simulation that looks for victims is part of the cycle that failed, though
// the framework gives it a state of its own: while this host runs it, and when
// another plugin does, which is seen by the copies of the nodes.
func (h *Host) groupOf(state fwk.PodGroupCycleState, profile string, pod *v1.Pod, nodes []fwk.NodeInfo) *group {
	root := rootOf(state)
	if d, err := root.Read(groupKey); err == nil {
		if r, ok := d.(*groupRef); ok && r.group == h.group {
			return r.group
		}
	}
	if g := h.group; g != nil && (h.simulating || g.failed.Has(pod.UID) && h.index.copied(nodes)) {
		g.failed = nil // the next time it is another attempt
		root.Write(groupKey, &groupRef{g})
		return g
	}
	g := h.hold(profile)
	ref := &groupRef{g}
	root.Write(groupKey, ref)
	runtime.AddCleanup(ref, func(g *group) {
		h.cycleMu.Lock()
		defer h.cycleMu.Unlock()
		g.end()
	}, g)
	return g
}

// hold begins a group's cycle on the active set.
func (h *Host) hold(profile string) *group {
	for {
		g := &group{set: h.active.Load()}
		if g.retain(profile) {
			return g
		}
	}
}

// retain is false if a version of the set is closed already.
func (g *group) retain(profile string) bool {
	for _, e := range g.set.entries {
		if e.version == nil || e.policy == nil || !e.policy.MatchesProfile(profile) {
			continue
		}
		if !e.version.retain() {
			g.end()
			return false
		}
		g.held = append(g.held, e.version)
	}
	return true
}

// end ends the cycles of the group's own points and gives the versions back.
// Those of its pods end by themselves.
func (g *group) end() {
	g.ended.Do(func() {
		for _, c := range g.cycles {
			c.end()
		}
		for _, v := range g.held {
			v.release()
		}
		g.cycles, g.held = nil, nil
	})
}

// turn makes a group's cycle, or with a nil state none, the one that the
// scheduler is at, and ends what it is done with. Cycles past Reserve go on
// beside the next one. In a group's cycle those that had a node stay, too: they
// may be undone and, when the best placement is known, done again. The caller
// holds cycleMu.
func (h *Host) turn(state fwk.PodGroupCycleState, profile string, pod *v1.Pod, nodes []fwk.NodeInfo) *group {
	var g *group
	if state != nil {
		g = h.groupOf(state, profile, pod, nodes)
	}
	if g != nil && g == h.group {
		if n := len(h.open); n > 0 && !h.open[n-1].assumed.Load() {
			h.open[n-1].end()
			h.open = h.open[:n-1]
		}
		return g
	}
	for _, c := range h.open {
		if !c.reserved.Load() {
			c.end()
		}
	}
	h.open = nil
	if h.group != nil {
		h.group.end()
	}
	h.group = g
	return g
}

// beginGroup is the cycle of a group's own points: all of them, of one group,
// share it. Its policies are those that match all pods of the group that have no
// node yet, and can run: of the others the pods themselves hear. It is nil if
// there is no such pod.
func (h *Host) beginGroup(state fwk.PodGroupCycleState, profile string, handle fwk.Handle, info fwk.PodGroupInfo) (*cycleState, error) {
	if state == nil || info == nil {
		return nil, nil
	}
	pods := info.GetUnscheduledPods()
	if len(pods) == 0 {
		return nil, nil
	}
	nodes, err := handle.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		return nil, err
	}
	h.cycleMu.Lock()
	defer h.cycleMu.Unlock()
	g := h.turn(state, profile, pods[0], nodes)
	h.noteNodes(g.set, nodes)
	if d, err := state.Read(stateKey); err == nil {
		if cs, ok := d.(*cycleState); ok && cs.group == g {
			return cs, nil
		}
	}
	h.cycles++
	c := &cycle{id: h.cycles, host: h, set: g.set, profile: profile, now: h.clock().UnixNano(), nodes: len(nodes), group: g, info: info, pods: pods}
	for _, e := range g.set.entries {
		if !matchesAll(e, profile, pods) {
			continue
		}
		if v, _ := e.available(h.clock()); v != nil && v.retain() {
			c.policies = append(c.policies, &cyclePolicy{entry: e, version: v})
		}
	}
	cs := &cycleState{cycle: c, states: make([]uint32, len(c.policies)), owned: make([]bool, len(c.policies))}
	state.Write(stateKey, cs)
	g.cycles = append(g.cycles, c)
	return cs, nil
}

// groupPolicy is a policy in the cycle of a group's own points.
type groupPolicy struct {
	cs *cycleState
	i  int
}

// joinPolicies lets the policies of a pod's cycle know what they keep for its
// group.
func joinPolicies(policies []*cyclePolicy, state fwk.PodGroupCycleState) {
	d, err := state.Read(stateKey)
	if err != nil {
		return // no point of the group was reached
	}
	cs, ok := d.(*cycleState)
	if !ok {
		return
	}
	for _, cp := range policies {
		for i, x := range cs.policies {
			if x.version == cp.version && cp.version != nil {
				cp.group = &groupPolicy{cs, i}
			}
		}
	}
}

// state is the handle of what the policy keeps for the group, 0 for none: it
// dies with its instance. The caller holds the version's lock.
func (g *groupPolicy) state() uint32 {
	if g == nil {
		return 0
	}
	if cp := g.cs.policies[g.i]; !cp.states || cp.gen != cp.version.gen || cp.version.inst.Dead() {
		return 0
	}
	return g.cs.states[g.i]
}

func matchesAll(e *entry, profile string, pods []*v1.Pod) bool {
	for _, p := range pods {
		if !e.matches(profile, p) {
			return false
		}
	}
	return true
}

// noteNodes brings the index of nodes to a list. The caller holds cycleMu.
func (h *Host) noteNodes(set *activeSet, nodes []fwk.NodeInfo) {
	gone := h.index.update(nodes)
	if len(gone) == 0 {
		return
	}
	for _, e := range set.entries {
		if e.version != nil {
			e.version.noteGone(gone)
		}
	}
}
