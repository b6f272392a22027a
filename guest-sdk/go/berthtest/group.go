// SPDX-License-Identifier: Apache-2.0

package berthtest

import (
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/guest-sdk/go"
)

// GroupBuilder makes a pod group. Its methods change it and return it.
type GroupBuilder struct {
	namespace, name string
	labels          map[string]string
	spec            map[string]any
	pods            []*PodBuilder
}

// Group returns a pod group without pods.
func Group(namespace, name string) *GroupBuilder {
	return &GroupBuilder{namespace: namespace, name: name, labels: map[string]string{}, spec: map[string]any{}}
}

// Label sets a label.
func (g *GroupBuilder) Label(key, value string) *GroupBuilder {
	g.labels[key] = value
	return g
}

// Spec sets a field of the spec.
func (g *GroupBuilder) Spec(value any, path ...string) *GroupBuilder {
	g.spec = setField(g.spec, value, path)
	return g
}

// Pod adds pods that are to be scheduled.
func (g *GroupBuilder) Pod(pods ...*PodBuilder) *GroupBuilder {
	g.pods = append(g.pods, pods...)
	return g
}

// tree is the group as an argument has it, with its pods or without.
func (g *GroupBuilder) tree(pods bool) map[string]any {
	tree := map[string]any{"group": map[string]any{
		"namespace": g.namespace, "name": g.name, "uid": "uid-" + g.namespace + "-" + g.name, "labels": texts(g.labels), "spec": g.spec,
	}}
	if pods {
		list := []any{}
		for _, p := range g.pods {
			list = append(list, map[string]any{"uid": p.uid, "namespace": p.namespace, "name": p.name, "priority": int64(p.priority), "labels": texts(p.labels)})
		}
		tree["pods"] = list
	}
	return tree
}

// PodGroupPostFilterResult is PodGroupPostFilter's answer.
type PodGroupPostFilterResult struct {
	Verdict
	Nodes       map[string]string // the node that each pod, by UID, is nominated to
	Victims     []string          // UIDs of the pods to evict
	ViolatePDBs bool
}

// groupCycle begins a cycle of a pod group.
func (h *Host) groupCycle() *Cycle {
	return h.Cycle(nil)
}

// PodGroupPostFilter runs PodGroupPostFilter, for which the nodes are there. In
// a dry run, fits says whether the group would fit without some pods, by UID, and
// the node that each of its pods would get.
func (h *Host) PodGroupPostFilter(group *GroupBuilder, fits func(without []string) (map[string]string, Verdict), nodes ...*NodeBuilder) PodGroupPostFilterResult {
	h.t.Helper()
	c := h.groupCycle()
	defer c.End()
	r := c.call(abi.PodGroupPostFilter, abi.Begin, nil, group.tree(true))
	for steps := 1; r.next; steps++ {
		if steps > abi.MaxSteps {
			h.t.Fatalf("berthtest: pod_group_post_filter: want at most %d steps", abi.MaxSteps)
		}
		var views []*NodeBuilder
		answers := []any{}
		switch q, v := r.reply.Key(0), r.reply.At(0); q {
		case "nodes":
			views = named(nodes, v)
		case "dry_run":
			without := []string{}
			for i := range v.Len() {
				uid, _ := v.At(i).Get("uid")
				without = append(without, uid.Text())
			}
			found, verdict := fits(without)
			answer := statusTree(verdict)
			answer["nodes"] = texts(found)
			answers = append(answers, answer)
		}
		r = c.call(abi.PodGroupPostFilter, abi.Step, views, map[string]any{"answers": answers})
	}
	out := PodGroupPostFilterResult{Verdict: r.verdict}
	if nominated, ok := r.reply.Get("nodes"); ok {
		out.Nodes = map[string]string{}
		for i := range nominated.Len() {
			out.Nodes[nominated.Key(i)] = nominated.At(i).Text()
		}
	}
	out.Victims, out.ViolatePDBs, _ = evictions(r)
	return out
}

// GeneratePlacements runs the policy's GeneratePlacements over nodes.
func (h *Host) GeneratePlacements(group *GroupBuilder, nodes ...*NodeBuilder) ([]berth.Placement, Verdict) {
	h.t.Helper()
	r := h.overNodes(abi.GeneratePlacements, group.tree(true), nodes)
	var placements []berth.Placement
	list, _ := r.reply.Get("placements")
	for i := range list.Len() {
		name, _ := list.At(i).Get("name")
		names, _ := list.At(i).Get("nodes")
		p := berth.Placement{Name: name.Text()}
		for j := range names.Len() {
			p.Nodes = append(p.Nodes, names.At(j).Text())
		}
		placements = append(placements, p)
	}
	return placements, r.verdict
}

// ScorePlacement runs the policy's ScorePlacement: the group's pods, by UID, found
// these nodes in the placement.
func (h *Host) ScorePlacement(group *GroupBuilder, placement string, found map[string]string, nodes ...*NodeBuilder) (int64, Verdict) {
	h.t.Helper()
	arg := group.tree(false)
	list := []any{}
	for _, uid := range slices.Sorted(maps.Keys(found)) {
		list = append(list, map[string]any{"uid": uid, "node": found[uid]})
	}
	arg["placement"], arg["assignments"] = placement, list
	r := h.overNodes(abi.ScorePlacement, arg, nodes)
	score, _ := r.reply.Get("score")
	return score.Int(), r.verdict
}

// NormalizePlacementScore runs the policy's NormalizePlacementScore. The test
// fails if a score isn't 0 to 100 then.
func (h *Host) NormalizePlacementScore(group *GroupBuilder, scores ...int64) ([]int64, Verdict) {
	h.t.Helper()
	c := h.groupCycle()
	defer c.End()
	arg, raw := group.tree(false), []any{}
	for _, s := range scores {
		raw = append(raw, s)
	}
	arg["scores"] = raw
	r := c.call(abi.NormalizePlacementScore, abi.Whole, nil, arg)
	list, _ := r.reply.Get("scores")
	var normalized []int64
	for i := range list.Len() {
		s := list.At(i).Int()
		if s < abi.MinScore || s > abi.MaxScore {
			h.t.Fatalf("berthtest: score %d: want %d to %d after normalising, got %d", i, abi.MinScore, abi.MaxScore, s)
		}
		normalized = append(normalized, s)
	}
	if r.verdict.Code == Success && len(normalized) != len(scores) {
		h.t.Fatalf("berthtest: normalize_placement_score: want %d scores, got %d", len(scores), len(normalized))
	}
	return normalized, r.verdict
}

// overNodes runs a point in its form of begin, chunks and end.
func (h *Host) overNodes(point abi.Point, arg map[string]any, nodes []*NodeBuilder) response {
	h.t.Helper()
	c := h.groupCycle()
	defer c.End()
	r := c.call(point, abi.Begin, nil, arg)
	chunks(len(nodes), func(from, to int) {
		if r.verdict.Code == Success {
			r = c.call(point, abi.Chunk, nodes[from:to], nil)
		}
	})
	if r.verdict.Code == Success {
		r = c.call(point, abi.End, nil, nil)
	}
	return r
}
