// SPDX-License-Identifier: Apache-2.0

//go:build !berth_without_preemption || !berth_without_group_preemption

package berth

import (
	"iter"
	"runtime"

	"github.com/berth-scheduler/berth/abi"
)

// talk is a conversation with the host: the author's function runs in a
// goroutine of its own, which stands still from a question to its answer. (That
// is what iter.Pull is for; but it costs a module 25 KB.) Other calls, the
// filters of a dry run, come between the two, so the conversation has a Cycle and
// memory of its own.
type talk struct {
	cycle  Cycle
	space  space
	frame  frame // of the call in progress
	asked  int   // number of questions
	status *Status
	panic  any  // of the author's function, natively
	left   bool // there won't be another answer

	questions chan replyKey // closed when the function has returned
	answered  chan bool     // closed when the talk is left
}

// talking is the conversation in progress.
type talking struct {
	_ [0]func()
	*talk
}

// begin starts a conversation; body is the author's function. It runs from the
// first resume on.
func (g *guest) beginTalk(body func(t *talk) *Status) {
	g.talking.end()
	t := &talk{cycle: g.cycle, questions: make(chan replyKey), answered: make(chan bool)}
	t.cycle.space = &t.space
	g.talking.talk = t
	go func() {
		defer close(t.questions)
		if <-t.answered {
			guarded(&t.panic, func() { t.status = body(t) })
		}
	}()
}

// resume runs the conversation to its next question or its end, and answers
// the call.
func (t *talk) resume(g *guest, f frame) {
	t.frame, t.cycle.now, t.cycle.handle = f, g.cycle.now, g.cycle.handle
	t.answered <- true
	if q, ok := <-t.questions; ok {
		setU32(f.result, abi.ResultNext, 1)
		g.cycle.answer(q.key, q.write)
		f.done(nil)
		return
	}
	g.talking.talk = nil
	if t.panic != nil {
		panic(t.panic)
	}
	if t.cycle.finish != nil {
		t.cycle.finish(&t.cycle, f)
	}
	f.done(t.status)
}

// end ends a conversation that the host didn't come back to.
func (c *talking) end() {
	if t := c.talk; t != nil {
		c.talk, t.left = nil, true
		close(t.answered)
		<-t.questions // closed, when what the function deferred has run
	}
}

// endTalk ends the conversation of a cycle.
func (g *guest) endTalk(cycle uint64) {
	if t := g.talking.talk; t != nil && t.cycle.id == cycle {
		g.talking.end()
	}
}

// ask asks the host; when it returns, frame is that of the answer.
//
//go:noinline
func (t *talk) ask(key string, write func(w *abi.ValueWriter, cell int)) {
	if t.asked++; t.asked == abi.MaxSteps {
		panic("berth: too many questions in one conversation")
	}
	if t.left { // from a deferred function
		runtime.Goexit()
	}
	t.questions <- replyKey{key, write}
	if !<-t.answered {
		runtime.Goexit()
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
