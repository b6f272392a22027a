// SPDX-License-Identifier: Apache-2.0

//go:build !berth_without_preemption

package berth

import (
	"iter"
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// talk is a conversation with the host: the author's function runs as a
// coroutine, which stands still from a question to its answer. Other calls, the
// filters of a dry run, come between the two, so the conversation has a Cycle and
// memory of its own.
type talk struct {
	cycle  Cycle
	space  space
	frame  frame // of the call in progress
	asked  int   // number of questions
	status *Status

	yield func(question) bool // in the coroutine: asks
	next  func() (question, bool)
	stop  func()
}

// question is the one key of a payload that asks.
type question = replyKey

// stopped unwinds a conversation that the host doesn't come back to.
type stopped struct{}

// begin starts a conversation; body is the author's function. It runs to its
// first question in the first resume.
func (g *guest) beginTalk(body func(t *talk) *Status) {
	g.plugin.preemption.end()
	t := &talk{cycle: g.cycle}
	t.cycle.space = &t.space
	t.next, t.stop = iter.Pull(func(yield func(question) bool) {
		defer func() {
			if r := recover(); r != nil && r != any(stopped{}) {
				panic(r)
			}
		}()
		t.yield = yield
		t.status = body(t)
	})
	g.plugin.preemption.talk = t
}

// resume runs the conversation to its next question or its end, and answers
// the call.
func (t *talk) resume(g *guest, f frame) {
	t.frame, t.cycle.now, t.cycle.handle = f, g.cycle.now, g.cycle.handle
	q, ok := t.next()
	if ok {
		setU32(f.result, abi.ResultNext, 1)
		g.cycle.answer(q.key, q.write)
		f.done(nil)
		return
	}
	g.plugin.preemption.talk = nil
	if t.cycle.finish != nil {
		t.cycle.finish(&t.cycle, f)
	}
	f.done(t.status)
}

// ask asks the host; when it returns, frame is that of the answer.
func (t *talk) ask(key string, write func(w *abi.ValueWriter, cell int)) {
	t.asked++
	if !t.yield(question{key, write}) {
		panic(stopped{})
	}
}

func (t *talk) nodes(names []string) iter.Seq[Node] {
	return func(yield func(Node) bool) {
		t.ask("nodes", func(w *abi.ValueWriter, cell int) { w.Strings(cell, names) })
		f := t.frame
		for i := range f.nodes() {
			if !yield(f.node(i)) {
				return
			}
		}
	}
}

func (t *talk) dryRun(trials []Trial) []*Status {
	t.ask("dry_run", func(w *abi.ValueWriter, cell int) {
		first := w.List(cell, len(trials))
		for i, trial := range trials {
			o := newObject(w, first+i*abi.CellSize, 2)
			o.text("node", trial.Node)
			writeVictims(w, o.cell("remove"), trial.Victims)
		}
	})
	answers := t.frame.argument().Get("answers")
	all := make([]*Status, len(trials))
	for i := range all {
		all[i] = statusOf(answers, i)
	}
	return all
}

// preemptionPlugin is what a plugin implements of the points that make room.
type preemptionPlugin struct {
	post  PostFilterPlugin
	group PodGroupPostFilterPlugin
	talk  *talk // the conversation in progress
}

var preemptionPoints = []servedPoint{{abi.PostFilter, "post_filter"}, {abi.PodGroupPostFilter, "pod_group_post_filter"}}

func (p *preemptionPlugin) find(impl any) {
	p.post, _ = impl.(PostFilterPlugin)
	p.group, _ = impl.(PodGroupPostFilterPlugin)
}

func (p *preemptionPlugin) implements(point abi.Point) bool {
	switch point {
	case abi.PostFilter:
		return p.post != nil
	case abi.PodGroupPostFilter:
		return p.group != nil
	}
	return false
}

// end ends a conversation that the host didn't come back to.
func (p *preemptionPlugin) end() {
	if t := p.talk; t != nil {
		p.talk = nil
		t.stop()
	}
}

// endTalk ends the conversation of a cycle.
func (g *guest) endTalk(cycle uint64) {
	if t := g.plugin.preemption.talk; t != nil && t.cycle.id == cycle {
		g.plugin.preemption.end()
	}
}

func (g *guest) answerPreemption(f frame) bool {
	p := &g.plugin.preemption
	if !p.implements(f.point()) {
		return false
	}
	switch f.phase() {
	case abi.Begin:
		if f.point() == abi.PostFilter {
			g.beginPostFilter(f)
		} else {
			g.beginPodGroupPostFilter(f)
		}
	case abi.Step:
		if p.talk == nil || p.talk.cycle.point != f.point() {
			return false
		}
	default:
		return false
	}
	p.talk.resume(g, f)
	return true
}

func (g *guest) beginPostFilter(f frame) {
	candidates := int(f.argument().Get("candidates").Int())
	pod := f.pod().Clone()
	g.beginTalk(func(t *talk) *Status {
		n, s := g.plugin.preemption.post.PostFilter(&PostFilterCycle{&t.cycle, pod, candidates, t}, pod)
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

func (g *guest) beginPodGroupPostFilter(f frame) {
	group := Group{f.kept()}
	g.beginTalk(func(t *talk) *Status {
		nodes, s := g.plugin.preemption.group.PodGroupPostFilter(&PodGroupCycle{&t.cycle, t}, group)
		if len(nodes) > 0 && s.IsSuccess() {
			pairs := make([]pair, 0, len(nodes))
			for uid, node := range nodes {
				pairs = append(pairs, pair{key: uid, value: node})
			}
			slices.SortFunc(pairs, func(a, b pair) int {
				if a.key < b.key {
					return -1
				}
				return 1
			})
			t.cycle.answer("nodes", func(w *abi.ValueWriter, cell int) { writePairs(w, cell, pairs) })
		}
		return s
	})
}
