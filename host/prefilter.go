// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/guest"
	"github.com/berth-scheduler/berth/host/policy"
)

// PreFilter starts a cycle: it fixes which policies match and on which version
// they run, asks those that implement pre_filter, and intersects their sets of
// nodes. It answers Skip when no policy has anything to filter.
func (b *Berth) PreFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	b.host.rejections.clear(pod)
	cs := b.host.begin(state, b.profile, pod, nodes)
	if b.host.closed.Load() {
		return nil, fwk.AsStatus(errClosed)
	}
	if cs == nil {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	var (
		allowed  sets.Set[string] // nil is all
		narrowed []string         // who narrowed it
		rejected *fwk.Status
		filters  bool
	)
	for i, cp := range cs.policies {
		if cp.blocked != nil {
			rejected = cmp.Or(rejected, b.reject(cs.cycle, cp, cp.blocked.Clone()))
			continue
		}
		status, set := cp.preFilter(cs, i, nodes)
		switch {
		case status.Code() == fwk.UnschedulableAndUnresolvable:
			return nil, b.reject(cs.cycle, cp, status)
		case status.Code() == fwk.Unschedulable:
			rejected = cmp.Or(rejected, b.reject(cs.cycle, cp, status))
		case status != nil:
			return nil, status
		}
		if set != nil {
			narrowed = append(narrowed, cp.name)
			b.record(cs.cycle, cp) // what lets it take other nodes may help, too
			allowed = narrow(allowed, set)
		}
		filters = filters || (!cp.skip && (cp.points[abi.Filter] || cp.points[abi.AddPod] || cp.points[abi.RemovePod]))
	}
	if rejected != nil {
		return nil, rejected
	}
	if allowed == nil && !filters {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	if allowed == nil {
		return nil, nil
	}
	if len(allowed) == 0 {
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("no node is in the sets of the policies %v together", narrowed))
	}
	cs.order = b.host.index.places(allowed)
	return &fwk.PreFilterResult{NodeNames: allowed}, nil
}

// PreFilterExtensions is the plugin itself.
func (b *Berth) PreFilterExtensions() fwk.PreFilterExtensions { return b }

// reject is the status of a policy that turned the pod down.
func (b *Berth) reject(c *cycle, cp *cyclePolicy, status *fwk.Status) *fwk.Status {
	b.record(c, cp)
	return status
}

// record notes which policy turned the pod down, so that only what concerns it
// requeues the pod. If the policy is another one by now, whoever swapped it has
// looked for its pods before this one was noted: the pod, which is in flight, is
// marked to be queued again at once.
func (b *Berth) record(c *cycle, cp *cyclePolicy) {
	if b.host.rejections.add(c.pod, cp.entry) && b.host.outdated(c, cp) {
		b.host.activate([]*v1.Pod{c.pod})
	}
}

// outdated says whether the policy's answer in this cycle is no longer the one
// that it would give.
func (h *Host) outdated(c *cycle, cp *cyclePolicy) bool {
	if set := h.active.Load(); set != c.set && !set.has(cp.entry) {
		return true
	}
	quarantined := cp.blocked != nil && cp.entry.version != nil
	return quarantined && !cp.entry.version.health.quarantined(h.clock())
}

// preFilter asks one policy. The set of nodes is nil if it doesn't narrow it.
func (cp *cyclePolicy) preFilter(cs *cycleState, i int, nodes []fwk.NodeInfo) (*fwk.Status, sets.Set[string]) {
	if !cp.points[abi.PreFilter] {
		return nil, nil
	}
	cp.version.mu.Lock()
	defer cp.version.mu.Unlock()
	if f := cp.enter(cs.cycle, abi.PreFilter); f != nil {
		return cp.onFault(abi.PreFilter, f), nil
	}
	set, verdict, handle, err := cp.askPreFilter(cs.cycle, nodes)
	if handle != 0 {
		cs.states[i] = handle
		cp.states = true
	}
	if err != nil {
		return cp.onFault(abi.PreFilter, cp.fail(cs.cycle, abi.PreFilter, err)), nil
	}
	switch verdict.Code {
	case abi.Success:
		return nil, set
	case abi.Skip:
		cp.skip = true
		return nil, nil
	case abi.Error:
		if cp.policy.OnFailure(abi.PreFilter) == policy.Ignore {
			cp.skip = true
			return nil, nil
		}
		return status(verdict), nil
	}
	if handle == 0 {
		v := verdict
		cp.rejected = &v
	}
	return status(verdict), nil
}

// askPreFilter makes the calls: one, or begin, chunks over all nodes, and end.
func (cp *cyclePolicy) askPreFilter(c *cycle, nodes []fwk.NodeInfo) (set sets.Set[string], verdict guest.Verdict, handle uint32, err error) {
	v := cp.version
	take := func() {
		verdict = v.result.Verdict
		if v.result.State != 0 {
			handle = v.result.State
		}
		if !v.result.ListSet {
			return
		}
		names := sets.New[string]()
		for _, name := range v.result.List {
			if _, ok := c.host.index.slot(name); ok { // names of no node would read as "all nodes" further on
				names.Insert(name)
			}
		}
		set = narrow(set, names)
	}
	if !v.chunked[abi.PreFilter] {
		err = cp.call(c, &guest.Call{Point: abi.PreFilter})
		if err == nil {
			take()
		}
		return set, verdict, handle, err
	}
	if err = cp.call(c, &guest.Call{Point: abi.PreFilter, Phase: abi.Begin}); err != nil {
		return nil, verdict, 0, err
	}
	if take(); verdict.Code != abi.Success {
		return set, verdict, handle, nil
	}
	left := sets.New[string]()
	out := false
	for from := 0; from < len(nodes); from += maxChunk {
		part := nodes[from:min(from+maxChunk, len(nodes))]
		if err = cp.refs(c, part); err != nil {
			return nil, verdict, handle, err
		}
		if err = cp.call(c, &guest.Call{Point: abi.PreFilter, Phase: abi.Chunk, Nodes: v.refBuf, State: handle}); err != nil {
			return nil, verdict, handle, err
		}
		if take(); verdict.Code != abi.Success {
			return set, verdict, handle, nil
		}
		for i, ni := range part {
			switch code := v.result.Verdicts[i].Code; code {
			case abi.Success:
				left.Insert(ni.Node().Name)
			case abi.Skip:
				out = true
			default:
				err = fmt.Errorf("node %q: want %s or %s in a chunk, got %s", ni.Node().Name, abi.Success, abi.Skip, code)
				return nil, verdict, handle, &guest.Fault{Cause: guest.BadResult, Err: err}
			}
		}
	}
	if err = cp.call(c, &guest.Call{Point: abi.PreFilter, Phase: abi.End, State: handle}); err != nil {
		return nil, verdict, handle, err
	}
	take()
	if out {
		set = narrow(set, left)
	}
	return set, verdict, handle, nil
}

// narrow is what two sets of nodes have in common; a nil set is all nodes.
func narrow(set, by sets.Set[string]) sets.Set[string] {
	if set == nil {
		return by
	}
	return set.Intersection(by)
}

// refs fills refBuf with the views of nodes of the snapshot.
func (cp *cyclePolicy) refs(c *cycle, nodes []fwk.NodeInfo) error {
	v := cp.version
	v.refBuf = v.refBuf[:0]
	for _, ni := range nodes {
		slot, ok := c.host.index.snapshotSlot(ni)
		if !ok {
			return fmt.Errorf("node %q is not in the snapshot", ni.Node().Name)
		}
		ref, err := v.resident(slot, ni, c.group != nil)
		if err != nil {
			return err
		}
		v.refBuf = append(v.refBuf, ref)
	}
	return nil
}

// status turns a guest's verdict into the framework's; the reasons have the
// policy's name already. Statuses aren't shared: the framework writes to them.
func status(v guest.Verdict) *fwk.Status {
	if v.Code == abi.Success {
		return nil
	}
	return fwk.NewStatus(fwk.Code(v.Code), v.Reasons[:len(v.Reasons):len(v.Reasons)]...)
}

// AddPod tells the policies that a pod is taken to be on a node. Without
// add_pod a policy's verdicts for this state are asked anew.
func (b *Berth) AddPod(_ context.Context, state fwk.CycleState, _ *v1.Pod, pod fwk.PodInfo, ni fwk.NodeInfo) *fwk.Status {
	return change(state, abi.AddPod, pod.GetPod(), ni)
}

// RemovePod tells the policies that a pod is taken to have left a node.
func (b *Berth) RemovePod(_ context.Context, state fwk.CycleState, _ *v1.Pod, pod fwk.PodInfo, ni fwk.NodeInfo) *fwk.Status {
	return change(state, abi.RemovePod, pod.GetPod(), ni)
}

func change(state fwk.CycleState, p abi.Point, pod *v1.Pod, ni fwk.NodeInfo) *fwk.Status {
	cs := stateOf(state)
	if cs == nil {
		return nil
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.changed = true
	for i, cp := range cs.policies {
		if cp.version == nil || cp.skip || !cp.points[p] {
			continue
		}
		if s := cp.change(cs, i, p, pod, ni); s != nil {
			return s
		}
	}
	return nil
}

func (cp *cyclePolicy) change(cs *cycleState, i int, p abi.Point, pod *v1.Pod, ni fwk.NodeInfo) *fwk.Status {
	if cp.rejected != nil {
		return nil // there is no state to change, and PreFilter's answer stands
	}
	v := cp.version
	v.mu.Lock()
	defer v.mu.Unlock()
	if f := cp.enter(cs.cycle, p); f != nil {
		return cp.onFault(p, f)
	}
	err := func() error {
		if cs.states[i] != 0 && !cs.owned[i] {
			handle, err := v.inst.CloneState(cs.states[i])
			if err != nil {
				return err
			}
			if handle == 0 {
				return &guest.Fault{Cause: guest.LostState, Point: p, Err: fmt.Errorf("state_clone: want the handle of a copy, got none")}
			}
			cs.states[i], cs.owned[i] = handle, true
		}
		other, err := v.otherPod(pod)
		if err != nil {
			return err
		}
		slot, _ := cs.host.index.slot(ni.Node().Name)
		ref, err := v.scratch(slot, ni)
		if err != nil {
			return err
		}
		v.refBuf = append(v.refBuf[:0], ref)
		return cp.call(cs.cycle, &guest.Call{Point: p, Nodes: v.refBuf, State: cs.states[i], Arg: other})
	}()
	if err != nil {
		return cp.onFault(p, cp.fail(cs.cycle, p, err))
	}
	if v.result.Code == abi.Error && cp.policy.OnFailure(p) == policy.Ignore {
		return nil
	}
	return status(v.result.Verdict)
}
