// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"iter"

	"github.com/berth-scheduler/berth/abi"
)

// PostFilterPlugin tries to make room for a pod that no node passed for.
type PostFilterPlugin interface {
	// PostFilter is ordinary code that asks the host as it goes along: which
	// nodes there are, and whether the pod would fit one without some of its pods.
	// (Each question ends a call of the module, so nothing that it holds blocks
	// the scheduler.) It nominates the pod to a node and names the victims, or
	// returns Unschedulable, and the next plugin tries; after
	// UnschedulableAndUnresolvable none does.
	PostFilter(c *PostFilterCycle, pod Pod) (*Nomination, *Status)
}

// Nomination is a node that a pod is to go to when its victims are gone.
type Nomination struct {
	Node    string
	Victims []Victim // evicted by the host: declare IntentEvict
	// ViolatePDBs evicts victims that a disruption budget protects, too.
	// Otherwise the host refuses the nomination if there is one.
	ViolatePDBs bool
	// AnyPriority evicts victims whose priority isn't below the pod's, too:
	// declare IntentReclaim. Otherwise the host refuses the nomination if there
	// is one.
	AnyPriority bool
}

// Victim is a pod that is to be evicted. The host needs its node and UID.
type Victim struct {
	Node, UID string
	Priority  int32
	Started   int64 // Unix seconds; 0 where it hasn't
}

// Trial asks whether the pod would fit a node without some pods.
type Trial struct {
	Node    string
	Victims []Victim
}

// PostFilterCycle is a Cycle in which a policy may ask the host questions. Nodes
// that it got are valid until the next question; Clone keeps one.
type PostFilterCycle struct {
	*Cycle
	pod        Pod
	candidates int // number of nodes that preemption may help on
	talk       *talk
}

// CandidateCount is the number of nodes that preemption may help on.
func (c *PostFilterCycle) CandidateCount() int { return c.candidates }

// Candidates ranges over the nodes that preemption may help on: those that
// rejected the pod otherwise than with UnschedulableAndUnresolvable. The body may
// ask questions; its node is gone after one.
func (c *PostFilterCycle) Candidates() iter.Seq[Node] { return c.CandidatesFrom(0) }

// CandidatesFrom is Candidates from a place on, and then from the first to that
// place.
func (c *PostFilterCycle) CandidatesFrom(start int) iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for i := 0; i < c.candidates; {
			place := (start + i) % c.candidates
			c.talk.ask("candidates", func(w *abi.ValueWriter, cell int) { w.Int(cell, int64(place)) })
			f, asked := c.talk.frame, c.talk.asked
			n := min(int(f.nodes()), c.candidates-place, c.candidates-i)
			if n == 0 {
				return
			}
			for k := 0; k < n && c.talk.asked == asked; k++ {
				i++
				if !yield(f.node(uint32(k))) {
					return
				}
			}
		}
	}
}

// Node is a node by its name.
func (c *PostFilterCycle) Node(name string) (Node, bool) {
	for n := range c.Nodes(name) {
		return n, true
	}
	return Node{}, false
}

// Nodes ranges over nodes by their names; names of no node are left out. The
// body must not ask questions.
func (c *PostFilterCycle) Nodes(names ...string) iter.Seq[Node] { return c.talk.nodes(names) }

// DryRun says of each trial whether the pod would fit: nil, or why not. It runs
// all filters, those of other policies and of the scheduler, too.
func (c *PostFilterCycle) DryRun(trials []Trial) []*Status {
	var all []*Status
	for len(trials) > 0 {
		n := min(len(trials), abi.MaxDryRuns)
		all = append(all, c.talk.dryRun(trials[:n])...)
		trials = trials[n:]
	}
	return all
}

// PodGroupPostFilterPlugin tries to make room for a pod group.
type PodGroupPostFilterPlugin interface {
	// PodGroupPostFilter is to a group what PostFilter is to a pod. It returns the
	// node that each pod is nominated to, by UID, and asks for evictions by Evict.
	PodGroupPostFilter(c *PodGroupCycle, group Group) (nominations map[string]string, s *Status)
}

// PodGroupCycle is a PostFilterCycle of a pod group.
type PodGroupCycle struct {
	*Cycle
	talk *talk
}

// Nodes is as that of PostFilterCycle.
func (c *PodGroupCycle) Nodes(names ...string) iter.Seq[Node] { return c.talk.nodes(names) }

// Node is a node by its name.
func (c *PodGroupCycle) Node(name string) (Node, bool) {
	for n := range c.Nodes(name) {
		return n, true
	}
	return Node{}, false
}

// DryRun says whether the whole group would fit without some pods: which of its
// pods, by UID, would get which node, or why it would not.
func (c *PodGroupCycle) DryRun(victims []Victim) (nodes map[string]string, s *Status) {
	c.talk.ask("dry_run", func(w *abi.ValueWriter, cell int) { writeVictims(w, cell, victims) })
	answers := c.talk.frame.argument().Get("answers")
	if s := statusOf(answers, 0); s != nil {
		return nil, s
	}
	nodes = map[string]string{}
	of := answers.At(0).Get("nodes")
	for i := range of.Len() {
		nodes[of.Key(i)] = of.At(i).Text()
	}
	return nodes, nil
}

// Evict asks for the eviction of pods; violatePDBs is Nomination.ViolatePDBs.
func (c *PodGroupCycle) Evict(victims []Victim, violatePDBs bool) {
	c.evict(IntentEvict, victims, violatePDBs)
}

func (c *Cycle) evict(kind Intent, victims []Victim, violatePDBs bool) {
	if len(victims) > abi.MaxVictims {
		panic("berth: too many victims")
	}
	c.ask(kind, 3, func(o *object) {
		o.text("kind", string(kind))
		pdb := "Respect"
		if violatePDBs {
			pdb = "Violate"
		}
		o.text("pdb", pdb)
		writeVictims(o.w, o.cell("pods"), victims)
	})
}

func writeVictims(w *abi.ValueWriter, cell int, victims []Victim) {
	first := w.List(cell, len(victims))
	for i, v := range victims {
		o := newObject(w, first+i*abi.CellSize, 2)
		o.text("node", v.Node)
		o.text("uid", v.UID)
	}
}

// statusOf is answer i of a dry run.
func statusOf(answers Object, i int) *Status {
	if i >= answers.Len() {
		return Error("the host gave no answer")
	}
	a := answers.At(i)
	code := Code(a.Get("code").Int())
	if code == abi.Success {
		return nil
	}
	text := ""
	for r := range a.Get("reasons").All() {
		if text != "" {
			text += "; "
		}
		text += r.Text()
	}
	return newStatus(code, text)
}
