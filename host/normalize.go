// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/guest"
)

// ScoreExtensions is the plugin itself.
func (b *Berth) ScoreExtensions() fwk.ScoreExtensions { return b }

// NormalizeScore turns tokens into scores: each policy's raw scores are
// normalised over these nodes, then mixed as
//
//	round(Σ weight·score / max(W, Σ weight))
//
// where W is Berth's weight in the profile and Σ weight goes over all scoring
// policies of the profile; one that doesn't score the pod adds 0. It changes
// nothing but the list: in a batch the framework calls it again with scores of
// earlier cycles.
func (b *Berth) NormalizeScore(_ context.Context, state fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	cs := stateOf(state)
	if cs == nil || cs.scores == nil {
		return fwk.NewStatus(fwk.Error, "normalize_score without pre_score in this cycle")
	}
	now := cs.scores
	sum := make([]int64, len(scores))
	raw := make([]int64, len(scores))
	for k, ps := range now.policies {
		use, err := b.gather(now, k, scores, raw)
		if err != nil {
			return fwk.AsStatus(err)
		}
		if !use {
			continue
		}
		if f := ps.normalize(now.cycle, raw, scores); f != nil {
			if s := ps.cp.onFault(abi.NormalizeScore, f); s != nil {
				return s
			}
			continue
		}
		for i := range raw {
			sum[i] += ps.cp.policy.Weight * raw[i]
		}
	}
	over := max(b.host.weight(b.profile, abi.Score), now.cycle.set.scoreWeights(b.profile, abi.Score))
	for i := range scores {
		scores[i].Score = (sum[i] + over/2) / over
	}
	return nil
}

// gather collects one policy's raw scores. use is false if the policy dropped
// out for any of the nodes: then it has no say about the others either.
func (b *Berth) gather(now *scoreSet, k int, scores fwk.NodeScoreList, raw []int64) (use bool, _ error) {
	for i := range scores {
		set, pos, ok := b.host.scores.get(scores[i].Score)
		if !ok {
			return false, fmt.Errorf("node %q: the raw scores are too old", scores[i].Name)
		}
		if k >= len(set.policies) || len(set.policies) != len(now.policies) || set.policies[k].cp.version != now.policies[k].cp.version {
			return false, fmt.Errorf("node %q: the raw scores are of other policies", scores[i].Name)
		}
		value, have := set.policies[k].value(pos)
		if !have {
			return false, nil
		}
		raw[i] = value
	}
	return true, nil
}

func (ps *policyScores) value(pos int) (int64, bool) {
	ps.cp.version.mu.Lock()
	defer ps.cp.version.mu.Unlock()
	return ps.raw[pos], ps.have[pos] && !ps.failed
}

// normalize maps raw to 0..100 in place.
func (ps *policyScores) normalize(c *cycle, raw []int64, scores fwk.NodeScoreList) *guest.Fault {
	cp := ps.cp
	cp.version.mu.Lock()
	defer cp.version.mu.Unlock()
	var err error
	switch how := cp.desc.Normalize; how {
	case abi.NormalizeMax, abi.NormalizeReversed:
		err = normalizeMax(raw, scores, how == abi.NormalizeReversed)
	case abi.NormalizeCustom:
		if f := cp.enter(c, abi.NormalizeScore); f != nil {
			return f
		}
		err = ps.normalizeCustom(c, raw)
	}
	for i := 0; err == nil && i < len(raw); i++ {
		if err = guest.ScoreInRange(raw[i]); err != nil {
			err = fmt.Errorf("node %q: %w", scores[i].Name, err)
		}
	}
	if err == nil {
		return nil
	}
	if _, ok := guest.AsFault(err); !ok {
		err = &guest.Fault{Cause: guest.BadResult, Err: err}
	}
	return cp.fail(c, abi.NormalizeScore, err)
}

// normalizeMax scales so that the highest becomes 100, as the in-tree plugins
// do; reversed takes that from 100. All zero stays 0, reversed 100.
func normalizeMax(raw []int64, scores fwk.NodeScoreList, reversed bool) error {
	var highest int64
	for i, s := range raw {
		if s < 0 {
			return fmt.Errorf("node %q: raw score: want at least 0 to scale by the highest, got %d", scores[i].Name, s)
		}
		highest = max(highest, s)
	}
	for i, s := range raw {
		if highest > 0 {
			hi, lo := bits.Mul64(uint64(s), abi.MaxScore)
			q, _ := bits.Div64(hi, lo, uint64(highest))
			s = int64(q)
		}
		if reversed {
			s = abi.MaxScore - s
		}
		raw[i] = s
	}
	return nil
}

// normalizeCustom asks the guest: all raw scores in chunks, then the normalised
// ones in chunks. The caller holds mu and entered.
func (ps *policyScores) normalizeCustom(c *cycle, raw []int64) error {
	cp := ps.cp
	v := cp.version
	ask := func(phase abi.Phase, from, to int) error {
		call := &guest.Call{Point: abi.NormalizeScore, Phase: phase, State: ps.state}
		for i := from; i < to; i++ {
			call.Arg = binary.LittleEndian.AppendUint64(call.Arg, uint64(raw[i]))
		}
		call.Nodes = make([]guest.NodeRef, to-from)
		if err := cp.call(c, call); err != nil {
			return err
		}
		if v.result.Code != abi.Success {
			return &guest.Fault{Cause: guest.BadResult, Point: abi.NormalizeScore, Err: cp.callRefused(v.result.Verdict)}
		}
		return nil
	}
	if err := ask(abi.Begin, 0, 0); err != nil {
		return err
	}
	for from := 0; from < len(raw); from += maxChunk {
		if err := ask(abi.Chunk, from, min(from+maxChunk, len(raw))); err != nil {
			return err
		}
	}
	if err := ask(abi.End, 0, 0); err != nil {
		return err
	}
	for from := 0; from < len(raw); from += maxChunk {
		to := min(from+maxChunk, len(raw))
		if err := ask(abi.Apply, from, to); err != nil {
			return err
		}
		copy(raw[from:to], v.result.Scores)
	}
	return nil
}
