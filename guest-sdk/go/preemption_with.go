// SPDX-License-Identifier: Apache-2.0

//go:build !berth_without_preemption

package berth

import "github.com/berth-scheduler/berth/abi"

// preemptionPlugin is what a plugin implements of post_filter.
type preemptionPlugin struct {
	_    [0]func()
	impl PostFilterPlugin
}

var preemptionPoints = []servedPoint{{abi.PostFilter, "post_filter"}}

func (p *preemptionPlugin) find(impl any) { p.impl, _ = impl.(PostFilterPlugin) }
func (p *preemptionPlugin) implements(point abi.Point) bool {
	return point == abi.PostFilter && p.impl != nil
}

func (g *guest) answerPreemption(f frame) bool {
	if !g.plugin.preemption.implements(f.point()) {
		return false
	}
	switch f.phase() {
	case abi.Begin:
		g.beginPostFilter(f)
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

func (g *guest) beginPostFilter(f frame) {
	candidates := int(f.argument().Get("candidates").Int())
	pod := f.pod().Clone()
	g.beginTalk(func(t *talk) *Status {
		n, s := g.plugin.preemption.impl.PostFilter(&PostFilterCycle{&t.cycle, pod, candidates, t}, pod)
		if n != nil && s.IsSuccess() {
			if n.Node != "" {
				t.cycle.answer("node", func(w *abi.ValueWriter, cell int) { w.String(cell, n.Node) })
			}
			if len(n.Victims) > 0 {
				kind := IntentEvict
				if n.AnyPriority {
					kind = IntentReclaim
				}
				t.cycle.evict(kind, n.Victims, n.ViolatePDBs)
			}
		}
		return s
	})
}
