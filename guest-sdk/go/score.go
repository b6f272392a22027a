// SPDX-License-Identifier: Apache-2.0

package berth

import "github.com/berth-scheduler/berth/abi"

// ScorePlugin ranks the nodes that a pod may run on.
type ScorePlugin interface {
	// Score answers for one node: any number if the scores are normalised, else
	// 0 to 100. Cycle state may only be read.
	Score(c *Cycle, pod Pod, node Node) (int64, *Status)
}

// NormalizeScorePlugin maps raw scores to 0..100 in its own way.
type NormalizeScorePlugin interface {
	// NormalizeScore changes the scores in place; there is one for each node
	// that passed the filters. It must depend on the scores alone: the
	// scheduler normalises scores again that it kept from another cycle.
	NormalizeScore(c *Cycle, pod Pod, scores []int64) *Status
}

func (g *guest) score(f frame) bool {
	f.items(abi.ScoreSize)
	pod := f.pod()
	for i := range f.nodes() {
		score, s := g.plugin.score.Score(&g.cycle, pod, f.node(i))
		f.score(i, score, s)
	}
	f.done(nil)
	return true
}

// normalizeScore gathers the scores chunk by chunk, normalises all of them, and
// hands them out in the same order.
func (g *guest) normalizeScore(f frame, phase abi.Phase) bool {
	var s *Status
	switch phase {
	case abi.Begin:
		g.scores, g.applied = g.scores[:0], 0
	case abi.Chunk:
		g.scores = append(g.scores, f.scores()...)
	case abi.End:
		s = g.plugin.normalize.NormalizeScore(&g.cycle, f.pod(), g.scores)
	case abi.Apply:
		f.items(abi.ScoreSize)
		n := f.nodes()
		if int(n) > len(g.scores)-g.applied {
			panic("berth: normalize_score: more nodes in apply than scores in chunks")
		}
		for i := range n {
			f.score(i, g.scores[g.applied], nil)
			g.applied++
		}
	default:
		return false
	}
	f.done(s)
	return true
}
