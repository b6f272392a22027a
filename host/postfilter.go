// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/evictor"
	"github.com/berth-scheduler/berth/host/guest"
	"github.com/berth-scheduler/berth/host/policy"
)

// What all calls of one policy's post_filter may use together: stepFuel times
// the fuel of one call, and this much time, the host's filters included.
const (
	stepFuel = 100
	stepTime = 10 * time.Second
)

// postFilter is what the policies are asked about a pod that fits no node.
type postFilter struct {
	*Berth
	ctx        context.Context
	cs         *cycleState
	state      fwk.CycleState
	pod        *v1.Pod
	nodes      fwk.NodeInfoLister // of the snapshot
	candidates []fwk.NodeInfo     // where the pod was rejected for what may change, in the list's order
}

// PostFilter asks the policies, in order, to make room for a pod that fits no
// node. The first that nominates a node or evicts pods ends the chain;
// Unschedulable goes on to the next and in the end to the next plugin;
// UnschedulableAndUnresolvable ends the chain with nothing done. A pod whose
// victims haven't ended isn't asked about: it must not choose others.
func (b *Berth) PostFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, m fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	nodes := b.handle.SnapshotSharedLister
	cs := stateOf(state)
	if cs == nil && !begun(state) { // another plugin's PreFilter ended the chain
		list, err := nodes().NodeInfos().List()
		if err != nil {
			return nil, fwk.AsStatus(err)
		}
		cs = b.host.begin(state, b.profile, pod, list)
	}
	serves := cs != nil && cs.serves(abi.PostFilter)
	if !serves && !b.host.evictor.Knows(pod.UID) { // the policy may be gone, its victims not yet
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	q := &postFilter{Berth: b, ctx: ctx, cs: cs, state: state, pod: pod, nodes: nodes().NodeInfos()}
	switch n := q.remaining(m); {
	case n == 0 && !serves:
		return nil, fwk.NewStatus(fwk.Unschedulable)
	case n > 0:
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("waiting for %d victims of its preemption to end", n))
	}
	var err error
	if q.candidates, err = m.NodesForStatusCode(q.nodes, fwk.Unschedulable); err != nil {
		return nil, fwk.AsStatus(err)
	}
	index := &b.host.index
	q.candidates = slices.DeleteFunc(slices.Clone(q.candidates), func(ni fwk.NodeInfo) bool { _, ok := index.snapshotSlot(ni); return !ok })
	slices.SortFunc(q.candidates, func(x, y fwk.NodeInfo) int { return int(index.place(x)) - int(index.place(y)) })
	cs.statuses = m
	defer func() { cs.statuses = nil }()
	return q.run()
}

// serves says whether any policy of the cycle that can run has a point.
func (c *cycle) serves(p abi.Point) bool {
	return slices.ContainsFunc(c.policies, func(cp *cyclePolicy) bool { return cp.version != nil && cp.points[p] })
}

// run asks the policies.
func (q *postFilter) run() (*fwk.PostFilterResult, *fwk.Status) {
	var reasons []string
	for i, cp := range q.cs.policies {
		if cp.version == nil || !cp.points[abi.PostFilter] {
			continue
		}
		verdict, reply, f := q.ask(i, cp)
		if err := q.ctx.Err(); err != nil {
			return nil, fwk.AsStatus(err)
		}
		var plan *evictor.Preemption
		if f == nil && verdict.Code == abi.Success {
			var refusal string
			if plan, refusal, f = q.plan(cp, reply); refusal != "" {
				verdict = guest.Verdict{Code: abi.Unschedulable, Reasons: []string{cp.name + ": " + refusal}}
			}
		}
		if f != nil {
			if s := cp.onFault(abi.PostFilter, f); s != nil {
				return nil, s
			}
			continue
		}
		switch verdict.Code {
		case abi.Success:
			return q.succeed(cp, plan, verdict)
		case abi.UnschedulableAndUnresolvable:
			// As DefaultPreemption does when it finds nothing: a nomination from
			// before is of no use any more.
			return framework.NewPostFilterResultWithNominatedNode(""), q.reject(q.cs.cycle, cp, status(verdict))
		case abi.Error:
			if cp.policy.OnFailure(abi.PostFilter) != policy.Ignore {
				return nil, status(verdict)
			}
		default:
			q.record(q.cs.cycle, cp)
			reasons = append(reasons, verdict.Reasons...)
		}
	}
	return nil, fwk.NewStatus(fwk.Unschedulable, reasons...)
}

// succeed starts the evictions and nominates the pod.
func (q *postFilter) succeed(cp *cyclePolicy, plan *evictor.Preemption, verdict guest.Verdict) (*fwk.PostFilterResult, *fwk.Status) {
	says := append([]string(nil), verdict.Reasons...)
	if n := len(plan.Victims); n > 0 {
		q.host.evictor.Start(plan)
		says = append(says, fmt.Sprintf("%s: evicting %d pods", cp.name, n))
	}
	if len(plan.Nodes) == 0 {
		return nil, fwk.NewStatus(fwk.Success, says...)
	}
	says = append(says, fmt.Sprintf("%s: nominated to node %s", cp.name, plan.Nodes[0]))
	return framework.NewPostFilterResultWithNominatedNode(plan.Nodes[0]), fwk.NewStatus(fwk.Success, says...)
}

// reply is a policy's last answer, read out of its payload.
type reply struct {
	node    string
	victims []guest.Intent
}

// ask holds the conversation with one policy. Between its steps the lock of the
// instance is free: a dry run asks the filters of the same policy.
func (q *postFilter) ask(i int, cp *cyclePolicy) (guest.Verdict, reply, *guest.Fault) {
	arg, err := abi.EncodeValue(map[string]any{"candidates": len(q.candidates)})
	if err != nil {
		return guest.Verdict{}, reply{}, q.fail(cp, guest.BadResult, err)
	}
	call := &guest.Call{Point: abi.PostFilter, Phase: abi.Begin, State: q.cs.states[i], Arg: arg}
	var (
		nodes []fwk.NodeInfo
		fuel  uint64
		since = time.Now()
		most  = stepFuel * uint64(cp.policy.Limits.Fuel.Base)
	)
	for step := 0; ; step++ {
		verdict, question, last, f := q.step(cp, call, nodes, &fuel)
		switch {
		case f != nil || question == nil:
			return verdict, last, f
		case step == abi.MaxSteps:
			return guest.Verdict{}, reply{}, q.fail(cp, guest.BadResult, fmt.Errorf("want at most %d steps, got more", abi.MaxSteps))
		case fuel > most:
			return guest.Verdict{}, reply{}, q.fail(cp, guest.Fuel, fmt.Errorf("want at most %d units in all steps, got %d", most, fuel))
		case time.Since(since) > stepTime:
			return guest.Verdict{}, reply{}, q.fail(cp, guest.Fuel, fmt.Errorf("want all steps and dry runs within %s, got no end", stepTime))
		case q.ctx.Err() != nil:
			return guest.Verdict{}, reply{}, nil
		}
		call = &guest.Call{Point: abi.PostFilter, Phase: abi.Step, State: q.cs.states[i]}
		var answers []any
		nodes, answers, err = q.answer(*question)
		if err == nil && answers != nil {
			call.Arg, err = abi.EncodeValue(map[string]any{"answers": answers})
		}
		if err != nil {
			return guest.Verdict{}, reply{}, q.fail(cp, guest.BadResult, err)
		}
	}
}

// step makes one call. It returns a question or the last answer.
func (q *postFilter) step(cp *cyclePolicy, call *guest.Call, nodes []fwk.NodeInfo, fuel *uint64) (guest.Verdict, *abi.Value, reply, *guest.Fault) {
	c, v := q.cs.cycle, cp.version
	v.mu.Lock()
	defer v.mu.Unlock()
	if f := cp.enter(c, abi.PostFilter); f != nil {
		return guest.Verdict{}, nil, reply{}, f
	}
	err := cp.refs(c, nodes)
	if err == nil {
		call.Nodes = v.refBuf
		err = cp.call(c, call)
		*fuel += v.inst.LastFuel()
	}
	if err != nil {
		return guest.Verdict{}, nil, reply{}, cp.fail(c, abi.PostFilter, err)
	}
	if v.result.Next {
		cp.states = true // the conversation dies with the instance, and ends with the cycle
		question := v.result.Reply
		return guest.Verdict{}, &question, reply{}, nil
	}
	node, _ := v.result.Reply.Get("node")
	return v.result.Verdict, nil, reply{node.Text(), slices.Clone(v.result.Intents)}, nil
}

// fail counts a fault between two calls.
func (q *postFilter) fail(cp *cyclePolicy, cause guest.Cause, err error) *guest.Fault {
	cp.version.mu.Lock()
	defer cp.version.mu.Unlock()
	return cp.fail(q.cs.cycle, abi.PostFilter, &guest.Fault{Cause: cause, Point: abi.PostFilter, Err: err})
}

// answer is what a question asks for: nodes for the next frame, or answers for
// its argument. The error is a fault of the guest.
func (q *postFilter) answer(question abi.Value) (nodes []fwk.NodeInfo, answers []any, err error) {
	what := question.At(0)
	switch question.Key(0) {
	case "candidates":
		from := what.Int()
		if from < 0 {
			return nil, nil, fmt.Errorf("candidates: want 0 or more, got %d", from)
		}
		lo := min(int(min(from, abi.MaxListLen*100)), len(q.candidates))
		return q.candidates[lo:min(lo+maxChunk, len(q.candidates))], nil, nil
	case "nodes":
		if what.Len() > maxChunk {
			return nil, nil, fmt.Errorf("nodes: want at most %d, got %d", maxChunk, what.Len())
		}
		for i := range what.Len() {
			if ni, err := q.nodes.Get(what.At(i).Text()); err == nil {
				nodes = append(nodes, ni)
			}
		}
		return nodes, nil, nil
	}
	answers, err = q.dryRuns(what)
	return nil, answers, err
}

// plan checks what a policy decided. refusal is why the host doesn't do it.
func (q *postFilter) plan(cp *cyclePolicy, r reply) (_ *evictor.Preemption, refusal string, _ *guest.Fault) {
	p := &evictor.Preemption{
		Policy: cp.name, Handle: q.handle, Pods: []*v1.Pod{q.pod}, Kind: "pod", UID: q.pod.UID, Object: q.pod,
		Priority: corev1.PodPriority(q.pod), Logger: klog.FromContext(q.ctx),
	}
	if r.node != "" {
		if _, err := q.nodes.Get(r.node); err != nil {
			return nil, "", q.fail(cp, guest.BadResult, fmt.Errorf("node: want one of the snapshot, got %q", r.node))
		}
		p.Nodes = []string{r.node}
	}
	victims, refusal, err := q.host.victims(q.handle, q.nodes, r.victims, p)
	if err != nil {
		return nil, "", q.fail(cp, guest.BadResult, err)
	}
	p.Victims = victims
	return p, refusal, nil
}
