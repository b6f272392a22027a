// SPDX-License-Identifier: Apache-2.0

//go:build !berth_without_group_preemption

package berth

import "github.com/berth-scheduler/berth/abi"

// groupPreemptionPlugin is what a plugin implements of pod_group_post_filter.
type groupPreemptionPlugin struct {
	_    [0]func()
	impl PodGroupPostFilterPlugin
}

var groupPreemptionPoints = []servedPoint{{abi.PodGroupPostFilter, "pod_group_post_filter"}}

func (p *groupPreemptionPlugin) find(impl any) { p.impl, _ = impl.(PodGroupPostFilterPlugin) }
func (p *groupPreemptionPlugin) implements(point abi.Point) bool {
	return point == abi.PodGroupPostFilter && p.impl != nil
}

func (g *guest) answerGroupPreemption(f frame) bool {
	if !g.plugin.groupPreemption.implements(f.point()) {
		return false
	}
	switch f.phase() {
	case abi.Begin:
		g.beginPodGroupPostFilter(f)
	case abi.Step:
		if g.talking.talk == nil || g.talking.cycle.point != f.point() {
			return false
		}
	default:
		return false
	}
	g.talking.resume(g, f)
	return true
}

func (g *guest) beginPodGroupPostFilter(f frame) {
	group := Group{f.kept()}
	g.beginTalk(func(t *talk) *Status {
		nodes, s := g.plugin.groupPreemption.impl.PodGroupPostFilter(&PodGroupCycle{&t.cycle, t}, group)
		if len(nodes) > 0 && s.IsSuccess() {
			var pairs []pair
			for uid, node := range nodes {
				pairs = putPair(pairs, pair{key: uid, value: node})
			}
			t.cycle.answer("nodes", func(w *abi.ValueWriter, cell int) { writePairs(w, cell, pairs) })
		}
		return s
	})
}
