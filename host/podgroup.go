// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/evictor"
	"github.com/berth-scheduler/berth/host/guest"
	"github.com/berth-scheduler/berth/host/policy"
)

// PodGroupPostFilter asks the policies that implement pod_group_post_filter, in
// order. The first that makes room, or says that nobody can, ends it; the
// reasons of the others are put together. With nothing to say it is
// Unschedulable without reasons, which leaves the group to the next plugin.
func (b *Berth) PodGroupPostFilter(ctx context.Context, state fwk.PodGroupCycleState, info fwk.PodGroupInfo, schedule fwk.PodGroupSchedulingFunc) (*fwk.PodGroupPostFilterResult, *fwk.Status) {
	cs, err := b.host.beginGroup(state, b.profile, b.handle, info)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	if cs == nil {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	if n := b.remainingOf(cs.pods, b.handle.SnapshotSharedLister().NodeInfos()); n > 0 && cs.serves(abi.PodGroupPostFilter) {
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("waiting for %d victims of its preemption to end", n))
	}
	var reasons []string
	for i, cp := range cs.policies {
		if !cp.points[abi.PodGroupPostFilter] {
			continue
		}
		t := &groupTalk{b: b, cs: cs, i: i, cp: cp, schedule: schedule}
		verdict, f := t.run(ctx)
		if f != nil {
			if s := cp.onFault(abi.PodGroupPostFilter, f); s != nil {
				return nil, s
			}
			continue
		}
		switch verdict.Code {
		case abi.Success:
			refusal, f := t.evict(ctx)
			if f != nil {
				if s := cp.onFault(abi.PodGroupPostFilter, f); s != nil {
					return nil, s
				}
				continue
			}
			if refusal != "" {
				reasons = append(reasons, cp.name+": "+refusal)
				continue
			}
			return &fwk.PodGroupPostFilterResult{NominatingInfos: t.nominated}, nil
		case abi.Unschedulable:
			b.host.recordGroup(cs.cycle, cp)
			reasons = append(reasons, verdict.Reasons...)
		case abi.UnschedulableAndUnresolvable:
			b.host.recordGroup(cs.cycle, cp)
			return nil, status(verdict)
		default:
			if cp.policy.OnFailure(abi.PodGroupPostFilter) != policy.Ignore {
				return nil, status(verdict)
			}
		}
	}
	b.host.leaveGroup(cs.cycle)
	return nil, fwk.NewStatus(fwk.Unschedulable, reasons...)
}

// leaveGroup notes that other plugins may now look for victims for the group:
// their simulations are part of its cycle.
func (h *Host) leaveGroup(c *cycle) {
	h.cycleMu.Lock()
	defer h.cycleMu.Unlock()
	c.group.failed = sets.New[types.UID]()
	for _, p := range c.pods {
		c.group.failed.Insert(p.UID)
	}
}

// groupTalk is what one policy and the host say to each other in
// pod_group_post_filter: the guest asks, the host answers in the next call.
type groupTalk struct {
	b        *Berth
	cs       *cycleState
	i        int
	cp       *cyclePolicy
	schedule fwk.PodGroupSchedulingFunc

	gen       uint64 // of the instance that is asked: the talk ends with it
	nominated map[types.NamespacedName]*fwk.NominatingInfo
	victims   []guest.Intent
}

// groupQuestion is what a guest asked, copied out of its result.
type groupQuestion struct {
	nodes  []string
	dryRun []podOnNode
}

// podOnNode names a pod by the node that it is on.
type podOnNode struct{ node, uid string }

var podOnNodeKeys = []abi.KeyInfo{{Key: "node", Type: "string", Required: true}, {Key: "uid", Type: "string", Required: true}}

// run asks until the guest has an answer. The guest is not in a call, and its
// lock is free, while the group is simulated: its own Filter takes part in that.
func (t *groupTalk) run(ctx context.Context) (guest.Verdict, *guest.Fault) {
	arg, err := t.cs.groupArg(true, nil)
	if err != nil {
		return guest.Verdict{}, t.fault(err)
	}
	call := &guest.Call{Point: abi.PodGroupPostFilter, Phase: abi.Begin, Arg: arg}
	var nodes []fwk.NodeInfo
	for range abi.MaxSteps {
		verdict, question, err := t.step(call, nodes)
		if err != nil {
			return guest.Verdict{}, t.fault(err)
		}
		if question == nil {
			return verdict, nil
		}
		call, nodes = &guest.Call{Point: abi.PodGroupPostFilter, Phase: abi.Step}, nil
		if question.dryRun == nil {
			nodes = t.views(question.nodes)
			continue
		}
		answer, err := t.dryRun(ctx, question.dryRun)
		if err != nil {
			return guest.Verdict{}, t.fault(err)
		}
		if call.Arg, err = abi.EncodeValue(map[string]any{"answers": []any{answer}}); err != nil {
			return guest.Verdict{}, t.fault(err)
		}
	}
	return guest.Verdict{}, t.fault(bad("want an answer within %d steps, got none", abi.MaxSteps))
}

func bad(format string, args ...any) error {
	return &guest.Fault{Cause: guest.BadResult, Point: abi.PodGroupPostFilter, Err: fmt.Errorf(format, args...)}
}

// fault charges the policy, once a fault.
func (t *groupTalk) fault(err error) *guest.Fault {
	t.cp.version.mu.Lock()
	defer t.cp.version.mu.Unlock()
	if t.cp.failed != nil && errors.Is(err, t.cp.failed) {
		return t.cp.failed
	}
	return t.cp.fail(t.cs.cycle, abi.PodGroupPostFilter, err)
}

// step makes one call and copies what it says. The question is nil at the end.
func (t *groupTalk) step(call *guest.Call, nodes []fwk.NodeInfo) (guest.Verdict, *groupQuestion, error) {
	cp, c := t.cp, t.cs.cycle
	v := cp.version
	v.mu.Lock()
	defer v.mu.Unlock()
	if call.Phase == abi.Step && (v.inst == nil || v.inst.Dead() || v.gen != t.gen) {
		return guest.Verdict{}, nil, &guest.Fault{Cause: guest.LostState, Point: call.Point, Err: errors.New("the instance died between two steps")}
	}
	if f := cp.enter(c, call.Point); f != nil {
		return guest.Verdict{}, nil, f
	}
	t.gen = v.gen
	if err := cp.refs(c, nodes); err != nil {
		return guest.Verdict{}, nil, err
	}
	call.Nodes = v.refBuf
	if err := cp.groupCall(t.cs, t.i, call); err != nil {
		return guest.Verdict{}, nil, err
	}
	if v.result.Next {
		q, err := readQuestion(v.result.Reply)
		return guest.Verdict{}, q, err
	}
	if v.result.Code == abi.Success {
		if err := t.take(&v.result); err != nil {
			return guest.Verdict{}, nil, err
		}
	}
	return v.result.Verdict, nil, nil
}

func readQuestion(reply abi.Value) (*groupQuestion, error) {
	q := &groupQuestion{}
	if list, ok := reply.Get("nodes"); ok {
		if list.Len() > maxChunk {
			return nil, bad("nodes: want at most %d, got %d", maxChunk, list.Len())
		}
		for i := range list.Len() {
			q.nodes = append(q.nodes, list.At(i).Text())
		}
		return q, nil
	}
	list, _ := reply.Get("dry_run")
	q.dryRun = make([]podOnNode, list.Len())
	for i := range q.dryRun {
		item := list.At(i)
		if err := abi.CheckKeys(item, podOnNodeKeys); err != nil {
			return nil, bad("dry_run: pod %d: %w", i, err)
		}
		node, _ := item.Get("node")
		uid, _ := item.Get("uid")
		q.dryRun[i] = podOnNode{node.Text(), uid.Text()}
	}
	return q, nil
}

// take keeps what the guest decided: which of the group's pods are nominated to
// which nodes, and whom to evict.
func (t *groupTalk) take(r *guest.Result) error {
	pods := make(map[string]*v1.Pod, len(t.cs.pods))
	for _, p := range t.cs.pods {
		pods[string(p.UID)] = p
	}
	t.nominated = map[types.NamespacedName]*fwk.NominatingInfo{}
	nodes, _ := r.Reply.Get("nodes")
	for i := range nodes.Len() {
		uid, name := nodes.Key(i), nodes.At(i)
		pod := pods[uid]
		if pod == nil {
			return bad("nodes: want UIDs of the group's pods, got %q", uid)
		}
		if name.Kind() != abi.String {
			return bad("nodes: pod %q: want the name of a node, got %s", uid, name.Kind())
		}
		if _, ok := t.b.host.index.slot(name.Text()); !ok {
			return bad("nodes: pod %q: want a node of the cluster, got %q", uid, name.Text())
		}
		t.nominated[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = &fwk.NominatingInfo{
			NominatingMode: fwk.ModeOverride, NominatedNodeName: name.Text(),
		}
	}
	t.victims = slices.Clone(r.Intents)
	return nil
}

// views are the nodes of these names; those of no node are left out.
func (t *groupTalk) views(names []string) []fwk.NodeInfo {
	var nodes []fwk.NodeInfo
	for _, name := range names {
		if ni, err := t.b.handle.SnapshotSharedLister().NodeInfos().Get(name); err == nil {
			nodes = append(nodes, ni)
		}
	}
	return nodes
}

// dryRun simulates the group in a cluster without some pods. The answer is the
// group's status, and which pod would go where.
func (t *groupTalk) dryRun(ctx context.Context, without []podOnNode) (answer map[string]any, err error) {
	lister := t.b.handle.MutableSnapshotSharedLister()
	if err := lister.StartMutations(); err != nil {
		return nil, err
	}
	h := t.b.host
	defer func() {
		err = errors.Join(err, lister.EndMutations(), h.endSimulation(t.cs.set, t.b.handle))
	}()
	for _, p := range without {
		if reason := removePod(ctx, lister, p); reason != "" {
			return map[string]any{"code": int64(abi.UnschedulableAndUnresolvable), "reasons": []string{reason}, "nodes": map[string]any{}}, nil
		}
	}
	h.startSimulation()
	assignments, s := t.schedule(ctx)
	nodes := map[string]any{}
	if s.IsSuccess() && assignments != nil {
		for _, a := range assignments.ProposedAssignments {
			nodes[string(a.GetPod().UID)] = a.GetNodeName()
		}
	}
	answer = statusTree(s)
	answer["nodes"] = nodes
	return answer, nil
}

// removePod takes a pod out of the snapshot. It says why it can't.
func removePod(ctx context.Context, lister fwk.MutableSnapshotSharedLister, p podOnNode) string {
	ni, err := lister.NodeInfos().Get(p.node)
	if err != nil {
		return fmt.Sprintf("there is no node %q", p.node)
	}
	for _, pi := range ni.GetPods() {
		if string(pi.GetPod().UID) != p.uid {
			continue
		}
		if err := lister.RemovePod(klog.FromContext(ctx), pi.GetPod(), p.node); err != nil {
			return err.Error()
		}
		return ""
	}
	return fmt.Sprintf("there is no pod %q on node %q", p.uid, p.node)
}

// startSimulation says that the groups' cycles from here on are part of the one
// that the scheduler is at.
func (h *Host) startSimulation() {
	h.cycleMu.Lock()
	defer h.cycleMu.Unlock()
	h.simulating = true
}

// endSimulation ends the cycles of a simulation and goes back to the scheduler's
// own nodes.
func (h *Host) endSimulation(set *activeSet, handle fwk.Handle) error {
	nodes, err := handle.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		return err
	}
	h.cycleMu.Lock()
	defer h.cycleMu.Unlock()
	h.simulating = false
	for _, c := range h.open {
		c.end()
	}
	h.open = nil
	h.noteNodes(set, nodes)
	return nil
}

// evict starts what the guest asked for. refusal is why the host doesn't.
func (t *groupTalk) evict(ctx context.Context) (refusal string, _ *guest.Fault) {
	p := &evictor.Preemption{
		Policy: t.cp.name, Handle: t.b.handle, Pods: t.cs.pods, Kind: "pod group", UID: types.UID(t.cs.info.GetKey()), Object: t.cs.pods[0],
		Priority: corev1.PodPriority(t.cs.pods[0]), Logger: klog.FromContext(ctx),
	}
	if g := t.cs.info.GetPodGroup(); g != nil {
		p.UID, p.Object, p.Priority = g.UID, g, util.PodGroupPriority(g)
	} else if g := t.cs.info.GetCompositePodGroup(); g != nil {
		p.UID, p.Object, p.Priority = g.UID, g, util.CompositePodGroupPriority(g)
	}
	for _, n := range t.nominated {
		p.Nodes = append(p.Nodes, n.NominatedNodeName)
	}
	var err error
	if p.Victims, refusal, err = t.b.host.victims(t.b.handle, t.b.handle.SnapshotSharedLister().NodeInfos(), t.victims, p); err != nil {
		return "", t.fault(bad("%w", err))
	}
	if refusal == "" && len(p.Victims) > 0 {
		t.b.host.evictor.Start(p)
	}
	return refusal, nil
}
