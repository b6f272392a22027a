// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
)

type pointer = unsafe.Pointer

// call answers the export of a point.
func (g *guest) call(point abi.Point, at uint32) uint32 {
	unpublish()
	forgetStatuses()
	f := newFrame(at)
	if f.point() != point {
		return abi.NotHandled
	}
	g.begin(f)
	if !g.answer(f) {
		return abi.NotHandled
	}
	if g.cycle.finish != nil {
		g.cycle.finish(&g.cycle, f)
	}
	return abi.Answered
}

// begin reads what every frame holds.
func (g *guest) begin(f frame) {
	g.strings, g.stringsLen = at(u32(f.at, abi.FrameStringsPtr)), u32(f.at, abi.FrameStringsLen)
	g.interned = g.interned[:0]
	g.cycle = Cycle{
		guest: g, point: f.point(),
		id: u64(f.at, abi.FrameCycle), now: i64(f.at, abi.FrameNow), handle: u32(f.at, abi.FrameState),
		nodes: u32(f.at, abi.FrameCluster), group: u32(f.at, abi.FrameGroup),
		space: &g.space,
	}
	g.space.reset()
}

// answer runs the plugin; false means that it doesn't know the frame's point or
// phase.
func (g *guest) answer(f frame) bool {
	pl, phase, whole := &g.plugin, f.phase(), f.phase() == abi.Whole
	switch f.point() {
	case abi.Describe:
		return whole && g.describe(f)
	case abi.Configure:
		return whole && g.configure(f)
	case abi.PreFilter:
		switch {
		case pl.preFilterNodes != nil:
			return g.preFilterNodes(f, phase)
		case pl.preFilter != nil && whole:
			return g.preFilter(f)
		}
	case abi.AddPod:
		return pl.preFilterExt != nil && whole && g.addPod(f)
	case abi.RemovePod:
		return pl.preFilterExt != nil && whole && g.removePod(f)
	case abi.Filter:
		return pl.filter != nil && whole && g.filter(f)
	case abi.PreScore:
		switch {
		case pl.preScoreNodes != nil:
			return g.preScoreNodes(f, phase)
		case pl.preScore != nil && whole:
			return g.preScore(f)
		}
	case abi.Score:
		return pl.score != nil && whole && g.score(f)
	case abi.NormalizeScore:
		return pl.normalize != nil && g.normalizeScore(f, phase)
	}
	return g.answerQueue(f) || g.answerBinding(f) || g.answerPreemption(f) || g.answerGroupPreemption(f) || g.answerPlacement(f)
}

// endCycle frees what the guest keeps for a cycle.
func (g *guest) endCycle(cycle uint64) {
	g.states.end(cycle)
	g.endTalk(cycle)
}
