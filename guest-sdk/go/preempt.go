// SPDX-License-Identifier: Apache-2.0

package berth

import "github.com/berth-scheduler/berth/abi"

var (
	noVictims   = &Status{code: abi.UnschedulableAndUnresolvable, reason: "no pod on the node may be evicted"}
	neverEvicts = &Status{code: abi.Unschedulable, reason: "the pod's preemption policy is Never"}
	makingRoom  = &Status{code: abi.Unschedulable, reason: "pods on the nominated node are terminating"}
)

// MayPreempt says whether the pod may evict others now: nil, or why not. A pod
// whose preemption policy is Never never may. One that is nominated to a node
// waits while less important pods terminate there, unless it can't go there any
// more. It reads PodIdentity and NodePods, and asks for the nominated node.
func (c *PostFilterCycle) MayPreempt() *Status {
	if c.pod.NeverPreempts() {
		return neverEvicts
	}
	name := c.pod.NominatedNode()
	if name == "" {
		return nil
	}
	why, s := c.NodeStatus(name)
	if s != nil {
		return s
	}
	if Code(why.Get("code").Int()) == abi.UnschedulableAndUnresolvable {
		return nil
	}
	node, ok := c.Node(name)
	if !ok {
		return nil
	}
	for p := range node.Pods().All() {
		if p.Terminating() && p.Priority() < c.pod.Priority() {
			return makingRoom
		}
	}
	return nil
}

// SelectVictims finds the fewest and least important pods to evict from a node,
// as the scheduler's own preemption does: it takes away all pods of a lower
// priority than the pod's that are eligible (with nil all of them), and puts back
// as many as it can, the most important first. The status says why the pod
// doesn't fit all the same. It reads NodePods, and asks: the node is gone
// afterwards.
//
// Disruption budgets aren't looked at: the host keeps them, or not, by
// Nomination.ViolatePDBs.
func (c *PostFilterCycle) SelectVictims(node Node, eligible func(NodePod) bool) ([]Victim, *Status) {
	return c.ReclaimVictims(node, func(p NodePod) bool {
		return p.Priority() < c.pod.Priority() && (eligible == nil || eligible(p))
	})
}

// ReclaimVictims is SelectVictims among eligible pods of any priority, for a
// policy by which other things count more: what was borrowed is given back. Its
// victims need Nomination.AnyPriority.
func (c *PostFilterCycle) ReclaimVictims(node Node, eligible func(NodePod) bool) ([]Victim, *Status) {
	name := string([]byte(node.Name()))
	var pods []Victim
	for p := range node.Pods().All() {
		if !p.Nominated() && eligible(p) {
			pods = append(pods, Victim{Node: name, UID: string([]byte(p.UID())), Priority: p.Priority(), Started: p.Started()})
		}
	}
	return c.FewestVictims(name, pods)
}

// FewestVictims is SelectVictims among pods that the caller found, on whatever
// nodes. It asks.
func (c *PostFilterCycle) FewestVictims(node string, among []Victim) ([]Victim, *Status) {
	var pods []Victim // most important first
	for _, v := range among {
		at := len(pods)
		for at > 0 && moreImportant(v, pods[at-1]) {
			at--
		}
		pods = append(pods, Victim{})
		copy(pods[at+1:], pods[at:])
		pods[at] = v
	}
	if len(pods) == 0 {
		return nil, noVictims
	}
	if s := c.DryRun([]Trial{{node, pods}})[0]; !s.IsSuccess() {
		return nil, s
	}
	return c.reprieve(node, pods), nil
}

// maxTrials is how many dry runs a step asks for: work that is in vain when an
// early one says no.
const maxTrials = 16

// reprieve puts pods back, the first one first, and returns those that have to
// go. Putting one back depends on whether those before could be, so the trials of
// a step suppose that all could: what comes behind the first no is asked anew.
func (c *PostFilterCycle) reprieve(node string, pods []Victim) (victims []Victim) {
	for next, n := 0, 1; next < len(pods); {
		n = min(n, maxTrials, len(pods)-next)
		trials := make([]Trial, n)
		for i := range trials {
			trials[i] = Trial{node, append(victims[:len(victims):len(victims)], pods[next+i+1:]...)}
		}
		fit := 0
		for _, s := range c.DryRun(trials) {
			if !s.IsSuccess() {
				break
			}
			fit++
		}
		next += fit
		if fit == n {
			n *= 2
			continue
		}
		victims = append(victims, pods[next])
		next, n = next+1, 1
	}
	return victims
}

// moreImportant says whether a is to be spared before b: for its priority, or
// since it started earlier.
func moreImportant(a, b Victim) bool {
	if a.Priority != b.Priority {
		return a.Priority > b.Priority
	}
	return started(a) < started(b)
}

// started is when a pod started; one that hasn't comes last.
func started(v Victim) int64 {
	if v.Started == 0 {
		return 1<<63 - 1
	}
	return v.Started
}

// PickNode is the index of the choice that hurts least, one list of victims a
// node; -1 if there is none. Its highest priority of a victim is the lowest; of
// equal ones the sum of priorities; then the number of victims; then the one
// whose most important victims started last; then the first.
func PickNode(choices [][]Victim) int {
	best := -1
	for i := range choices {
		if best < 0 || hurtsLess(choices[i], choices[best]) {
			best = i
		}
	}
	return best
}

func hurtsLess(a, b []Victim) bool {
	x, y := harmOf(a), harmOf(b)
	switch {
	case x.highest != y.highest:
		return x.highest < y.highest
	case x.sum != y.sum:
		return x.sum < y.sum
	case len(a) != len(b):
		return len(a) < len(b)
	}
	return x.started > y.started
}

// harm is what the loss of some victims weighs.
type harm struct {
	highest, sum int64
	started      int64 // the earliest among those of the highest priority
}

func harmOf(victims []Victim) harm {
	h := harm{highest: -1 << 63, started: 1<<63 - 1}
	for _, v := range victims {
		priority := int64(v.Priority)
		h.sum += priority + 1<<31 // all positive: more victims weigh more
		if priority > h.highest {
			h.highest, h.started = priority, started(v)
		} else if priority == h.highest {
			h.started = min(h.started, started(v))
		}
	}
	return h
}
