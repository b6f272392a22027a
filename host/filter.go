// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/guest"
	"github.com/berth-scheduler/berth/host/policy"
)

// Filter answers for one node. The first policy that rejects it wins. The
// framework asks node by node, from up to 16 goroutines; the first question
// about a node evaluates a chunk of its neighbours too, so most are look-ups.
func (b *Berth) Filter(_ context.Context, state fwk.CycleState, _ *v1.Pod, ni fwk.NodeInfo) *fwk.Status {
	cs := stateOf(state)
	if cs == nil {
		return nil
	}
	slot, resident := b.host.index.snapshotSlot(ni)
	resident = resident && !cs.changed && cs.group == nil
	for i, cp := range cs.policies {
		if cp.blocked != nil {
			return b.reject(cs.cycle, cp, cp.blocked.Clone())
		}
		if cp.skip || !cp.points[abi.Filter] {
			continue
		}
		verdict, f := cp.filter(cs, i, ni, slot, resident)
		if f != nil {
			if s := cp.onFault(abi.Filter, f); s != nil {
				return s
			}
			continue
		}
		if verdict.Code == abi.Error {
			if cp.policy.OnFailure(abi.Filter) == policy.Ignore {
				continue
			}
			return status(verdict)
		}
		if verdict.Code != abi.Success {
			return b.reject(cs.cycle, cp, status(verdict))
		}
	}
	return nil
}

// filter is one policy's verdict for one node. What isn't resident, a modified
// copy or a node in a state that AddPod or RemovePod changed, is asked anew.
func (cp *cyclePolicy) filter(cs *cycleState, i int, ni fwk.NodeInfo, slot uint32, resident bool) (guest.Verdict, *guest.Fault) {
	c, v := cs.cycle, cp.version
	v.mu.Lock()
	defer v.mu.Unlock()
	if cp.rejected != nil {
		return *cp.rejected, nil
	}
	if !resident {
		return cp.filterScratch(cs, i, slot, ni)
	}
	for int(slot) >= len(v.answers) {
		v.answers = append(v.answers, answer{})
	}
	if m := &v.answers[slot]; m.cycle == c.id && m.node == ni && m.generation == ni.GetGeneration() {
		v.hits++
		return m.verdict, nil
	}
	for {
		if f := cp.enter(c, abi.Filter); f != nil {
			return guest.Verdict{}, f
		}
		err := cp.filterChunk(cs, i, slot, ni)
		if err == nil {
			return v.answers[slot].verdict, nil
		}
		if len(v.pending) > 1 {
			// One of the neighbours may be to blame: from now on each node that is
			// asked for is asked alone.
			cp.alone = true
			cp.note(c, abi.Filter, err)
			continue
		}
		return guest.Verdict{}, cp.charge(c, abi.Filter, err)
	}
}

// pick fills pending with a node and those that go along in its call: they will
// be asked for next, being behind it in the list, or left by PreFilter.
func (cp *cyclePolicy) pick(c *cycle, slot uint32, ni fwk.NodeInfo) {
	v, x := cp.version, &c.host.index
	v.pending = append(v.pending[:0], pendingNode{slot, ni})
	want := cp.chunk
	if cp.alone {
		want = 1
	}
	goAlong := func(place int32) {
		s := x.at[place]
		if s != slot && (int(s) >= len(v.answers) || v.answers[s].cycle != c.id) {
			v.pending = append(v.pending, pendingNode{s, x.list[place]})
		}
	}
	if c.order != nil {
		for ; len(v.pending) < want && cp.next < len(c.order); cp.next++ {
			goAlong(c.order[cp.next])
		}
		return
	}
	for i := 1; len(v.pending) < want && i < len(x.list); i++ {
		goAlong(int32((int(x.pos[slot]) + i) % len(x.list)))
	}
}

// filterChunk evaluates a node and those that go along.
func (cp *cyclePolicy) filterChunk(cs *cycleState, i int, slot uint32, ni fwk.NodeInfo) error {
	c, v := cs.cycle, cp.version
	cp.pick(c, slot, ni)
	v.refBuf = v.refBuf[:0]
	for _, n := range v.pending {
		ref, err := v.resident(n.slot, n.node, false)
		if err != nil {
			return err
		}
		v.refBuf = append(v.refBuf, ref)
	}
	if err := cp.call(c, &guest.Call{Point: abi.Filter, Nodes: v.refBuf, State: cs.states[i]}); err != nil {
		return err
	}
	if v.result.Code != abi.Success {
		return &guest.Fault{Cause: guest.BadResult, Point: abi.Filter, Err: cp.callRefused(v.result.Verdict)}
	}
	for j, n := range v.pending {
		for int(n.slot) >= len(v.answers) {
			v.answers = append(v.answers, answer{})
		}
		v.answers[n.slot] = answer{c.id, n.node.GetGeneration(), n.node, cp.bounded(v.result.Verdicts[j])}
	}
	if cp.chunk < maxChunk {
		cp.chunk *= 2
	}
	return nil
}

// filterScratch evaluates a node info that isn't the snapshot's, or a state
// that AddPod or RemovePod changed: nothing of it is kept.
func (cp *cyclePolicy) filterScratch(cs *cycleState, i int, slot uint32, ni fwk.NodeInfo) (guest.Verdict, *guest.Fault) {
	c, v := cs.cycle, cp.version
	if f := cp.enter(c, abi.Filter); f != nil {
		return guest.Verdict{}, f
	}
	ref, err := v.scratch(slot, ni)
	if err == nil {
		v.refBuf = append(v.refBuf[:0], ref)
		err = cp.call(c, &guest.Call{Point: abi.Filter, Nodes: v.refBuf, State: cs.states[i]})
	}
	if err == nil && v.result.Code != abi.Success {
		err = &guest.Fault{Cause: guest.BadResult, Point: abi.Filter, Err: cp.callRefused(v.result.Verdict)}
	}
	if err != nil {
		return guest.Verdict{}, cp.charge(c, abi.Filter, err)
	}
	return cp.bounded(v.result.Verdicts[0]), nil
}

// bounded replaces the reasons of a verdict for which the policy has given too
// many different ones in this cycle. Reasons count, not lists of them: a policy
// may give any of a few reasons together.
func (cp *cyclePolicy) bounded(v guest.Verdict) guest.Verdict {
	kept := 0
	for _, r := range v.Reasons {
		if !slices.Contains(cp.reasons, r) {
			if len(cp.reasons) == maxReasons {
				continue
			}
			cp.reasons = append(cp.reasons, r)
		}
		kept++
	}
	if kept == len(v.Reasons) {
		return v
	}
	reasons := make([]string, 0, kept+1)
	for _, r := range v.Reasons {
		if slices.Contains(cp.reasons, r) {
			reasons = append(reasons, r)
		}
	}
	v.Reasons = append(reasons, cp.name+": other reasons")
	return v
}

// callRefused is the error of a call that the guest answered with a code of
// its own where the verdicts were wanted.
func (cp *cyclePolicy) callRefused(v guest.Verdict) error {
	if len(v.Reasons) > 0 { // they name the policy, as the error will
		return fmt.Errorf("the call ended with %s: %s", v.Code, strings.TrimPrefix(v.Reasons[0], cp.name+": "))
	}
	return fmt.Errorf("the call ended with %s", v.Code)
}
