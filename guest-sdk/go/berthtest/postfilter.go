// SPDX-License-Identifier: Apache-2.0

package berthtest

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// PostFilterResult is PostFilter's answer.
type PostFilterResult struct {
	Verdict
	Node        string   // the node that the pod is nominated to
	Victims     []string // UIDs of the pods to evict
	ViolatePDBs bool     // those that a disruption budget protects, too
	AnyPriority bool     // those that are as important as the pod, too
}

// maxViews is how many candidates a frame holds: few, so that tests meet more
// than one frame.
const maxViews = 4

// PostFilter runs PostFilter; the candidates are the nodes that preemption may
// help on. It plays the host's part of the conversation: for a dry run, fits says
// whether the pod would fit a node, which is a copy without the pods in question.
// With nil the policy's own Filter does, after its RemovePod.
func (c *Cycle) PostFilter(fits func(node *NodeBuilder) Verdict, candidates ...*NodeBuilder) PostFilterResult {
	c.h.t.Helper()
	nodes := append(slices.Clone(candidates), c.h.world.nodes...)
	r := c.call(abi.PostFilter, abi.Begin, nil, map[string]any{"candidates": len(candidates)})
	for steps := 1; r.next; steps++ {
		if steps > abi.MaxSteps {
			c.h.t.Fatalf("berthtest: post_filter: want at most %d steps", abi.MaxSteps)
		}
		var views []*NodeBuilder
		answers := []any{}
		switch q, v := r.reply.Key(0), r.reply.At(0); q {
		case "candidates":
			from := int(min(max(v.Int(), 0), int64(len(candidates))))
			views = candidates[from:min(from+maxViews, len(candidates))]
		case "nodes":
			views = named(nodes, v)
		case "dry_run":
			for i := range v.Len() {
				answers = append(answers, statusTree(c.trial(nodes, v.At(i), fits)))
			}
		}
		r = c.call(abi.PostFilter, abi.Step, views, map[string]any{"answers": answers})
	}
	out := PostFilterResult{Verdict: r.verdict}
	node, _ := r.reply.Get("node")
	out.Node = node.Text()
	out.Victims, out.ViolatePDBs, out.AnyPriority = evictions(r)
	return out
}

// named are the nodes of a list of names.
func named(nodes []*NodeBuilder, names abi.Value) (list []*NodeBuilder) {
	for i := range names.Len() {
		if n := (&world{nodes: nodes}).node(names.At(i).Text()); n != nil {
			list = append(list, n)
		}
	}
	return list
}

// trial is the answer to a question of a dry run.
func (c *Cycle) trial(nodes []*NodeBuilder, question abi.Value, fits func(*NodeBuilder) Verdict) Verdict {
	c.h.t.Helper()
	name, _ := question.Get("node")
	remove, _ := question.Get("remove")
	node := (&world{nodes: nodes}).node(name.Text())
	if node == nil {
		return Verdict{UnschedulableAndUnresolvable, "there is no such node"}
	}
	left := *node
	left.pods = slices.Clone(node.pods)
	clone := c.Clone()
	for i := range remove.Len() {
		uid, _ := remove.At(i).Get("uid")
		at := slices.IndexFunc(left.pods, func(p *PodBuilder) bool { return p.uid == uid.Text() })
		if at < 0 {
			return Verdict{UnschedulableAndUnresolvable, "there is no such pod on the node"}
		}
		gone := left.pods[at]
		left.pods = slices.Delete(left.pods, at, at+1)
		if fits == nil && c.h.implements(abi.RemovePod) {
			if v := clone.RemovePod(gone, &left); v.Code != Success {
				return v
			}
		}
	}
	switch {
	case fits != nil:
		return fits(&left)
	case c.h.implements(abi.Filter):
		return clone.Filter(&left)[0]
	}
	return Verdict{}
}

// evictions are the victims of the intents of a result.
func evictions(r response) (victims []string, violatePDBs, anyPriority bool) {
	list, _ := r.reply.Get(abi.IntentsKey)
	for i := range list.Len() {
		in := list.At(i)
		kind, _ := in.Get("kind")
		if kind.Text() != abi.IntentEvict && kind.Text() != abi.IntentReclaim {
			continue
		}
		pods, _ := in.Get("pods")
		for j := range pods.Len() {
			uid, _ := pods.At(j).Get("uid")
			victims = append(victims, uid.Text())
		}
		pdb, _ := in.Get("pdb")
		violatePDBs = violatePDBs || pdb.Text() == "Violate"
		anyPriority = anyPriority || kind.Text() == abi.IntentReclaim
	}
	return victims, violatePDBs, anyPriority
}
