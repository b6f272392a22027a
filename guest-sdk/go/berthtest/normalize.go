// SPDX-License-Identifier: Apache-2.0

package berthtest

import (
	"math/bits"
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// NormalizeScore normalises raw scores as the policy declares it.
func (c *Cycle) NormalizeScore(raw ...int64) []int64 {
	c.h.t.Helper()
	scores := slices.Clone(raw)
	switch c.h.description.Normalize {
	case abi.NormalizeCustom:
		scores = c.custom(raw)
	case abi.NormalizeMax, abi.NormalizeReversed:
		c.toHighest(scores, c.h.description.Normalize == abi.NormalizeReversed)
	}
	for i, s := range scores {
		if s < abi.MinScore || s > abi.MaxScore {
			c.h.t.Fatalf("berthtest: score %d: want %d to %d after normalising, got %d", i, abi.MinScore, abi.MaxScore, s)
		}
	}
	return scores
}

// toHighest makes the highest score 100 and the others their share of it.
func (c *Cycle) toHighest(scores []int64, reversed bool) {
	c.h.t.Helper()
	highest := int64(0)
	for i, s := range scores {
		if s < 0 {
			c.h.t.Fatalf("berthtest: score %d: want at least 0 to scale by the highest, got %d", i, s)
		}
		highest = max(highest, s)
	}
	for i, s := range scores {
		if highest > 0 {
			hi, lo := bits.Mul64(uint64(s), abi.MaxScore)
			q, _ := bits.Div64(hi, lo, uint64(highest))
			scores[i] = int64(q)
		}
		if reversed {
			scores[i] = abi.MaxScore - scores[i]
		}
	}
}

// custom runs the policy's own NormalizeScore: gather, end, hand out.
func (c *Cycle) custom(raw []int64) []int64 {
	c.h.t.Helper()
	nodes := make([]*NodeBuilder, len(raw))
	for i := range nodes {
		nodes[i] = Node("node")
	}
	step := func(phase abi.Phase, from, to int) response {
		r := c.call(abi.NormalizeScore, phase, nodes[from:to], raw[from:to])
		if r.verdict.Code != Success {
			c.h.t.Fatalf("berthtest: normalize_score: %v", r.verdict)
		}
		return r
	}
	step(abi.Begin, 0, 0)
	chunks(len(raw), func(from, to int) { step(abi.Chunk, from, to) })
	step(abi.End, 0, 0)
	var scores []int64
	chunks(len(raw), func(from, to int) { scores = append(scores, step(abi.Apply, from, to).scores...) })
	return scores
}
