// SPDX-License-Identifier: Apache-2.0

package berth

import "github.com/berth-scheduler/berth/abi"

// PreScorePlugin prepares the scoring of a pod: once a cycle, after filtering.
type PreScorePlugin interface {
	PreScore(c *Cycle, pod Pod) *Status
}

// PreScoreNodesPlugin is a PreScore that needs every node that passed the
// filters. The host hands them out in chunks; what Begin set as state is there
// in Node and End.
type PreScoreNodesPlugin interface {
	// PreScoreBegin is called before the first node.
	PreScoreBegin(c *Cycle, pod Pod) *Status
	// PreScoreNode is called for each node.
	PreScoreNode(c *Cycle, pod Pod, node Node) *Status
	// PreScoreEnd is called after the last node.
	PreScoreEnd(c *Cycle, pod Pod) *Status
}

func (g *guest) preScore(f frame) bool {
	f.items(abi.VerdictSize)
	for i := range f.nodes() {
		f.verdict(i, nil)
	}
	s := g.plugin.preScore.PreScore(&g.cycle, f.pod())
	f.state(g.cycle.handle)
	f.done(s)
	return true
}

func (g *guest) preScoreNodes(f frame, phase abi.Phase) bool {
	p, c := g.plugin.preScoreNodes, &g.cycle
	var s *Status
	switch phase {
	case abi.Begin:
		s = p.PreScoreBegin(c, f.pod())
	case abi.Chunk:
		f.items(abi.VerdictSize)
		for i := range f.nodes() {
			f.verdict(i, p.PreScoreNode(c, f.pod(), f.node(i)))
		}
	case abi.End:
		s = p.PreScoreEnd(c, f.pod())
	default:
		return false
	}
	f.state(c.handle)
	f.done(s)
	return true
}
