// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/guest"
	"github.com/berth-scheduler/berth/host/policy"
)

// rank is what a policy said about a placement. Without have it has no say about
// any placement of the group.
type rank struct {
	raw  int64
	have bool
}

// ScorePlacement asks the policies that implement score_placement. The framework
// gets 0: what they said is kept until NormalizePlacementScore.
func (b *Berth) ScorePlacement(_ context.Context, state fwk.PlacementCycleState, info fwk.PodGroupInfo, placement *fwk.PodGroupAssignments) (int64, *fwk.Status) {
	cs, err := b.host.beginGroup(state.GetPodGroupSchedulingCycle(), b.profile, b.handle, info)
	if err != nil {
		return 0, fwk.AsStatus(err)
	}
	if cs == nil {
		return 0, nil
	}
	ranks := make([]rank, len(cs.policies))
	for i, cp := range cs.policies {
		if !cp.points[abi.ScorePlacement] {
			continue
		}
		var status *fwk.Status
		if ranks[i], status = cp.rank(cs, i, b.handle, placement); status != nil {
			return 0, status
		}
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.ranks == nil {
		cs.ranks = map[*fwk.Placement][]rank{}
	}
	cs.ranks[placement.Placement] = ranks
	return 0, nil
}

// rank asks one policy about a placement: begin with what goes where, the nodes
// of the assignments in chunks, and end, which has the score.
func (cp *cyclePolicy) rank(cs *cycleState, i int, handle fwk.Handle, placement *fwk.PodGroupAssignments) (rank, *fwk.Status) {
	c, v := cs.cycle, cp.version
	v.mu.Lock()
	defer v.mu.Unlock()
	fault := func(f *guest.Fault) (rank, *fwk.Status) { return rank{}, cp.onFault(abi.ScorePlacement, f) }
	if f := cp.enter(c, abi.ScorePlacement); f != nil {
		return fault(f)
	}
	raw, err := cp.askRank(cs, i, handle, placement)
	switch {
	case err != nil:
		return fault(cp.charge(c, abi.ScorePlacement, err))
	case v.result.Code == abi.Success:
		return rank{raw, true}, nil
	case cp.policy.OnFailure(abi.ScorePlacement) == policy.Ignore:
		return rank{}, nil
	}
	return rank{}, status(v.result.Verdict)
}

func (cp *cyclePolicy) askRank(cs *cycleState, i int, handle fwk.Handle, placement *fwk.PodGroupAssignments) (int64, error) {
	c, v := cs.cycle, cp.version
	assignments := make([]any, len(placement.ProposedAssignments))
	var nodes []fwk.NodeInfo
	seen := sets.New[string]()
	for j, a := range placement.ProposedAssignments {
		name := a.GetNodeName()
		assignments[j] = map[string]any{"uid": string(a.GetPod().UID), "node": name}
		if seen.Has(name) {
			continue
		}
		seen.Insert(name)
		ni, err := handle.SnapshotSharedLister().NodeInfos().Get(name)
		if err != nil {
			return 0, err
		}
		nodes = append(nodes, ni)
	}
	arg, err := c.groupArg(false, map[string]any{"placement": placement.Name, "assignments": assignments})
	if err != nil {
		return 0, err
	}
	state := cs.states[i] // what the guest sets from here on is this placement's
	ask := func(call *guest.Call) error {
		call.Point, call.State = abi.ScorePlacement, state
		err := cp.call(c, call)
		if s := v.result.State; err == nil && s != 0 {
			state, cp.states = s, true
		}
		return err
	}
	if err := ask(&guest.Call{Phase: abi.Begin, Arg: arg}); err != nil || v.result.Code != abi.Success {
		return 0, err
	}
	for from := 0; from < len(nodes); from += maxChunk {
		if err := cp.refs(c, nodes[from:min(from+maxChunk, len(nodes))]); err != nil {
			return 0, err
		}
		if err := ask(&guest.Call{Phase: abi.Chunk, Nodes: v.refBuf}); err != nil || v.result.Code != abi.Success {
			return 0, err
		}
	}
	if err := ask(&guest.Call{Phase: abi.End}); err != nil || v.result.Code != abi.Success {
		return 0, err
	}
	score, _ := v.result.Reply.Get("score")
	return score.Int(), nil
}

// PlacementScoreExtensions is the plugin itself.
func (b *Berth) PlacementScoreExtensions() fwk.PlacementScoreExtensions { return b }

// NormalizePlacementScore mixes what the policies said as NormalizeScore does
// for nodes. A policy with normalize_placement_score maps its scores to 0..100;
// those of one without it must be in that range. One that failed for a placement
// (Ignore) has no say about the others.
func (b *Berth) NormalizePlacementScore(_ context.Context, state fwk.PodGroupCycleState, _ fwk.PodGroupInfo, scores []fwk.PlacementScore) *fwk.Status {
	d, err := state.Read(stateKey)
	if err != nil {
		return nil // ScorePlacement had nothing to say
	}
	cs := d.(*cycleState)
	sum := make([]int64, len(scores))
	raw := make([]int64, len(scores))
	for i, cp := range cs.policies {
		if !cp.points[abi.ScorePlacement] || !cs.gather(i, scores, raw) {
			continue
		}
		if f := cp.normalizePlacements(cs, i, scores, raw); f != nil {
			if s := cp.onFault(abi.NormalizePlacementScore, f); s != nil {
				return s
			}
			continue
		}
		for j := range raw {
			sum[j] += cp.policy.Weight * raw[j]
		}
	}
	over := max(b.host.weight(b.profile, abi.ScorePlacement), cs.set.scoreWeights(b.profile, abi.ScorePlacement))
	for j := range scores {
		scores[j].Score = (sum[j] + over/2) / over
	}
	return nil
}

// gather collects one policy's raw scores. It is false if the policy has no say.
func (s *cycleState) gather(i int, scores []fwk.PlacementScore, raw []int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for j := range scores {
		ranks := s.ranks[scores[j].Placement]
		if i >= len(ranks) || !ranks[i].have {
			return false
		}
		raw[j] = ranks[i].raw
	}
	return true
}

// normalizePlacements maps raw to 0..100 in place.
func (cp *cyclePolicy) normalizePlacements(cs *cycleState, i int, scores []fwk.PlacementScore, raw []int64) *guest.Fault {
	c, v := cs.cycle, cp.version
	v.mu.Lock()
	defer v.mu.Unlock()
	at := abi.ScorePlacement
	if cp.points[abi.NormalizePlacementScore] {
		at = abi.NormalizePlacementScore
		if f := cp.enter(c, at); f != nil {
			return f
		}
		if err := cp.askNormalized(cs, i, raw); err != nil {
			return cp.fail(c, at, err)
		}
	}
	for j := range raw {
		if err := guest.ScoreInRange(raw[j]); err != nil {
			return cp.fail(c, at, &guest.Fault{Cause: guest.BadResult, Err: fmt.Errorf("placement %q: %w", scores[j].Placement.Name, err)})
		}
	}
	return nil
}

func (cp *cyclePolicy) askNormalized(cs *cycleState, i int, raw []int64) error {
	v := cp.version
	list := make([]any, len(raw))
	for j := range raw {
		list[j] = raw[j]
	}
	arg, err := cs.groupArg(false, map[string]any{"scores": list})
	if err != nil {
		return err
	}
	if err := cp.groupCall(cs, i, &guest.Call{Point: abi.NormalizePlacementScore, Arg: arg}); err != nil {
		return err
	}
	if v.result.Code != abi.Success {
		return &guest.Fault{Cause: guest.BadResult, Err: cp.callRefused(v.result.Verdict)}
	}
	got, _ := v.result.Reply.Get("scores")
	if got.Len() != len(raw) {
		return &guest.Fault{Cause: guest.BadResult, Err: fmt.Errorf("scores: want %d, got %d", len(raw), got.Len())}
	}
	for j := range raw {
		raw[j] = got.At(j).Int()
	}
	return nil
}
