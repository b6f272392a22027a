// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/guest"
	"github.com/berth-scheduler/berth/host/metrics"
	"github.com/berth-scheduler/berth/host/policy"
)

// scoreSetLife is how long raw scores are kept: the framework re-normalises
// those of a batch for up to 500 ms.
const scoreSetLife = 2 * time.Second

// tokenBits is how much of a token is a place in its set.
const tokenBits = 20

// scoreSet holds the raw scores of one PreScore, a vector a policy. The
// framework knows only a token a node, this set's id and the node's place.
type scoreSet struct {
	id       int64
	cycle    *cycle
	nodes    []fwk.NodeInfo
	made     time.Time
	policies []*policyScores
}

// policyScores is one policy's vector. version.mu guards it.
type policyScores struct {
	cp     *cyclePolicy
	state  uint32
	raw    []int64
	have   []bool
	chunk  int
	failed bool // with Ignore: the policy has no say about any node
}

// PreScore takes the list of the nodes that passed and asks the policies that
// implement pre_score. It answers Skip when no policy scores the pod.
func (b *Berth) PreScore(_ context.Context, state fwk.CycleState, _ *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	cs := stateOf(state)
	if cs == nil || len(nodes) >= 1<<tokenBits {
		return fwk.NewStatus(fwk.Skip)
	}
	set := &scoreSet{cycle: cs.cycle, nodes: nodes, made: b.host.clock()}
	for i, cp := range cs.policies {
		if cp.version == nil || !cp.points[abi.Score] {
			continue
		}
		ps := &policyScores{cp: cp, state: cs.states[i], chunk: 1}
		skip, status := ps.preScore(cs.cycle, nodes)
		if status != nil {
			return status
		}
		if !skip {
			ps.raw, ps.have = make([]int64, len(nodes)), make([]bool, len(nodes))
			set.policies = append(set.policies, ps)
		}
	}
	if len(set.policies) == 0 {
		return fwk.NewStatus(fwk.Skip)
	}
	b.host.scores.add(set)
	cs.mu.Lock()
	cs.scores = set
	cs.mu.Unlock()
	return nil
}

// preScore asks one policy. skip means that it doesn't score this pod.
func (ps *policyScores) preScore(c *cycle, nodes []fwk.NodeInfo) (skip bool, _ *fwk.Status) {
	cp := ps.cp
	if !cp.points[abi.PreScore] {
		return false, nil
	}
	cp.version.mu.Lock()
	defer cp.version.mu.Unlock()
	if f := cp.enter(c, abi.PreScore); f != nil {
		return true, cp.onFault(abi.PreScore, f)
	}
	cp.states = true // pre_score may have set one
	verdict, err := cp.askPreScore(c, ps.state, nodes)
	switch {
	case err != nil:
		return true, cp.onFault(abi.PreScore, cp.fail(c, abi.PreScore, err))
	case verdict.Code == abi.Skip:
		return true, nil
	case verdict.Code == abi.Error && cp.policy.OnFailure(abi.PreScore) == policy.Ignore:
		return true, nil
	}
	return false, status(verdict)
}

func (cp *cyclePolicy) askPreScore(c *cycle, state uint32, nodes []fwk.NodeInfo) (guest.Verdict, error) {
	v := cp.version
	if !v.chunked[abi.PreScore] {
		err := cp.call(c, &guest.Call{Point: abi.PreScore, State: state})
		return v.result.Verdict, err
	}
	if err := cp.call(c, &guest.Call{Point: abi.PreScore, Phase: abi.Begin, State: state}); err != nil || v.result.Code != abi.Success {
		return v.result.Verdict, err
	}
	for from := 0; from < len(nodes); from += maxChunk {
		part := nodes[from:min(from+maxChunk, len(nodes))]
		if err := cp.refs(c, part); err != nil {
			return guest.Verdict{}, err
		}
		if err := cp.call(c, &guest.Call{Point: abi.PreScore, Phase: abi.Chunk, Nodes: v.refBuf, State: state}); err != nil || v.result.Code != abi.Success {
			return v.result.Verdict, err
		}
	}
	err := cp.call(c, &guest.Call{Point: abi.PreScore, Phase: abi.End, State: state})
	return v.result.Verdict, err
}

// Score evaluates a node for every scoring policy and returns a token for the
// raw scores; NormalizeScore mixes them.
func (b *Berth) Score(_ context.Context, state fwk.CycleState, _ *v1.Pod, ni fwk.NodeInfo) (int64, *fwk.Status) {
	cs := stateOf(state)
	if cs == nil || cs.scores == nil {
		return 0, fwk.NewStatus(fwk.Error, "score without pre_score in this cycle")
	}
	set := cs.scores
	pos, ok := b.host.scores.pos(set, ni)
	if !ok {
		return 0, fwk.NewStatus(fwk.Error, fmt.Sprintf("node %q is not among the nodes of pre_score", ni.Node().Name))
	}
	for _, ps := range set.policies {
		if s := ps.score(set, pos); s != nil {
			return 0, s
		}
	}
	return set.id<<tokenBits | int64(pos), nil
}

// score makes sure that the policy's raw score of a node is there.
func (ps *policyScores) score(set *scoreSet, pos int) *fwk.Status {
	cp, c := ps.cp, set.cycle
	v := cp.version
	v.mu.Lock()
	defer v.mu.Unlock()
	if ps.have[pos] || ps.failed {
		if ps.have[pos] {
			v.scoreHits++
		}
		return nil
	}
	for {
		if f := cp.enter(c, abi.Score); f != nil {
			return ps.drop(cp.onFault(abi.Score, f))
		}
		err := ps.scoreChunk(set, pos)
		if err == nil {
			break
		}
		if len(v.places) > 1 {
			ps.chunk = 0 // each node alone from now on
			cp.note(c, abi.Score, err)
			continue
		}
		return ps.drop(cp.onFault(abi.Score, cp.charge(c, abi.Score, err)))
	}
	if !ps.have[pos] { // the guest answered Error for this node
		if cp.policy.OnFailure(abi.Score) == policy.Ignore {
			return ps.drop(nil)
		}
		return status(ps.cp.version.scoreError)
	}
	return nil
}

// drop takes the policy out of the mix unless its failure policy is Fail.
func (ps *policyScores) drop(s *fwk.Status) *fwk.Status {
	if s == nil {
		ps.failed = true
	}
	return s
}

// scoreChunk evaluates a node and those behind it that have no score yet.
func (ps *policyScores) scoreChunk(set *scoreSet, pos int) error {
	c, v := set.cycle, ps.cp.version
	v.places = append(v.places[:0], pos)
	if c.group == nil {
		for i := pos + 1; i < len(set.nodes) && len(v.places) < ps.chunk; i++ {
			if !ps.have[i] {
				v.places = append(v.places, i)
			}
		}
	}
	v.refBuf = v.refBuf[:0]
	for _, i := range v.places {
		ni := set.nodes[i]
		slot, inSnapshot := c.host.index.snapshotSlot(ni)
		ref, err := guest.NodeRef{}, error(nil)
		if c.group != nil || !inSnapshot {
			if len(v.refBuf) > 0 {
				break
			}
			ref, err = v.scratch(slot, ni)
		} else {
			ref, err = v.resident(slot, ni, false)
		}
		if err != nil {
			return err
		}
		v.refBuf = append(v.refBuf, ref)
		if !inSnapshot {
			break
		}
	}
	if err := ps.cp.call(c, &guest.Call{Point: abi.Score, Nodes: v.refBuf, State: ps.state}); err != nil {
		return err
	}
	if v.result.Code != abi.Success {
		return &guest.Fault{Cause: guest.BadResult, Point: abi.Score, Err: ps.cp.callRefused(v.result.Verdict)}
	}
	for j := range v.refBuf {
		if v.result.Verdicts[j].Code == abi.Success {
			ps.raw[v.places[j]], ps.have[v.places[j]] = v.result.Scores[j], true
		} else if j == 0 {
			v.scoreError = v.result.Verdicts[j]
		}
	}
	if ps.chunk > 0 && ps.chunk < maxChunk {
		ps.chunk *= 4
	}
	return nil
}

// flushHits moves look-ups into the metric. The caller holds mu.
func (v *version) flushHits() {
	for _, h := range []struct {
		point abi.Point
		n     *uint64
	}{{abi.Filter, &v.hits}, {abi.Score, &v.scoreHits}} {
		if *h.n > 0 {
			metrics.CacheHits.WithLabelValues(v.name, h.point.String()).Add(float64(*h.n))
			*h.n = 0
		}
	}
}
