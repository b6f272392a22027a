// SPDX-License-Identifier: Apache-2.0

package berth_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
)

// racks places groups in one rack.
type racks struct{ byRack map[string][]string }

var racksPolicy = berth.Policy{
	Name: "racks", Version: "1", Reads: []berth.Section{berth.NodeLabels, berth.NodePods}, Intents: []berth.Intent{berth.IntentEvict},
}

var rack = berth.NewSymbol("rack")

func (r *racks) GeneratePlacementsBegin(_ *berth.Cycle, group berth.Group) *berth.Status {
	if group.Len() == 0 {
		return berth.Unschedulable("no pods")
	}
	r.byRack = map[string][]string{}
	return nil
}

func (r *racks) GeneratePlacementsNode(_ *berth.Cycle, _ berth.Group, node berth.Node) *berth.Status {
	name, ok := node.Label(rack)
	if !ok {
		return berth.Error("a node without a rack")
	}
	r.byRack[name] = append(r.byRack[name], string([]byte(node.Name())))
	return nil
}

func (r *racks) GeneratePlacementsEnd(_ *berth.Cycle, group berth.Group) ([]berth.Placement, *berth.Status) {
	var names []string
	for name := range r.byRack {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []berth.Placement
	for _, name := range names {
		if len(r.byRack[name]) >= int(group.Spec().Get("minCount").Int()) {
			out = append(out, berth.Placement{Name: name, Nodes: r.byRack[name]})
		}
	}
	return out, nil
}

func (r *racks) ScorePlacementBegin(*berth.Cycle, berth.Group, berth.PlacementTrial) *berth.Status {
	r.byRack = map[string][]string{}
	return nil
}

func (r *racks) ScorePlacementNode(_ *berth.Cycle, _ berth.Group, trial berth.PlacementTrial, node berth.Node) *berth.Status {
	r.byRack[trial.Placement()] = append(r.byRack[trial.Placement()], string([]byte(node.Name())))
	return nil
}

func (r *racks) ScorePlacementEnd(_ *berth.Cycle, group berth.Group, trial berth.PlacementTrial) (int64, *berth.Status) {
	if group.Name() != "g" {
		return 0, berth.Error("another group")
	}
	score := int64(0)
	for uid, node := range trial.Assignments() {
		if uid != "" && slices.Contains(r.byRack[trial.Placement()], node) {
			score++
		}
	}
	return score, nil
}

func (r *racks) NormalizePlacementScore(_ *berth.Cycle, _ berth.Group, scores []int64) *berth.Status {
	for i := range scores {
		scores[i] *= 10
	}
	return nil
}

func (r *racks) PodGroupPostFilter(c *berth.PodGroupCycle, group berth.Group) (map[string]string, *berth.Status) {
	var victims []berth.Victim
	for node := range c.Nodes("a", "b") {
		for p := range node.Pods().All() {
			victims = append(victims, berth.Victim{Node: string([]byte(node.Name())), UID: string([]byte(p.UID()))})
		}
	}
	for n := range victims {
		if _, s := c.DryRun(victims[:n+1]); s == nil {
			c.Evict(victims[:n+1], true)
			nodes := map[string]string{}
			for p := range group.Pods() {
				nodes[p.UID()] = victims[0].Node
			}
			return nodes, nil
		}
	}
	return nil, berth.UnschedulableAndUnresolvable("no room for " + group.Label("team"))
}

func TestGroups(t *testing.T) {
	h := berthtest.New(t, &racksPolicy, &racks{}, nil)
	group := berthtest.Group("ns", "g").Label("team", "red").Spec(2, "minCount").
		Pod(berthtest.Pod("ns", "p0"), berthtest.Pod("ns", "p1"))
	var nodes []*berthtest.NodeBuilder
	for _, n := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		nodes = append(nodes, berthtest.Node(n).Label("rack", map[bool]string{true: "r0", false: "r1"}[n < "d"]))
	}
	got, v := h.GeneratePlacements(group, append(nodes, berthtest.Node("x").Label("rack", "r2"))...)
	want := []berth.Placement{{Name: "r0", Nodes: []string{"a", "b", "c"}}, {Name: "r1", Nodes: []string{"d", "e", "f", "g"}}}
	if diff := cmp.Diff(want, got); diff != "" || v.Code != berthtest.Success {
		t.Errorf("placements: %v, want (-), got (+):\n%s", v, diff)
	}
	if _, v := h.GeneratePlacements(berthtest.Group("ns", "none")); v.Code != berthtest.Unschedulable || v.Reason != "no pods" {
		t.Errorf("no pods: want unschedulable, got %v", v)
	}
	if _, v := h.GeneratePlacements(group, nodes[0], berthtest.Node("bare"), nodes[1]); v.Code != berthtest.Error {
		t.Errorf("no rack: want an error, got %v", v)
	}
	score, v := h.ScorePlacement(group, "r0", map[string]string{"uid-ns-p0": "a", "uid-ns-p1": "e"}, nodes[:3]...)
	if score != 1 || v.Code != berthtest.Success {
		t.Errorf("score: want 1, got %d, %v", score, v)
	}
	if scores, _ := h.NormalizePlacementScore(group, 1, 0, 9); !slices.Equal(scores, []int64{10, 0, 90}) {
		t.Errorf("normalised: want 10, 0, 90, got %v", scores)
	}
}

func TestPodGroupPostFilter(t *testing.T) {
	h := berthtest.New(t, &racksPolicy, &racks{}, nil)
	group := berthtest.Group("ns", "g").Label("team", "red").Pod(berthtest.Pod("ns", "p1"), berthtest.Pod("ns", "p0"))
	fits := func(least int) func([]string) (map[string]string, berthtest.Verdict) {
		return func(without []string) (map[string]string, berthtest.Verdict) {
			if len(without) < least {
				return nil, berthtest.Verdict{Code: berthtest.Unschedulable, Reason: "still full"}
			}
			return map[string]string{"uid-ns-p0": "a"}, berthtest.Verdict{}
		}
	}
	got := h.PodGroupPostFilter(group, fits(3), full("a", 1, 1), full("b", 1, 1))
	want := berthtest.PodGroupPostFilterResult{
		Nodes: map[string]string{"uid-ns-p0": "a", "uid-ns-p1": "a"}, Victims: []string{"uid-ns-a0", "uid-ns-a1", "uid-ns-b0"}, ViolatePDBs: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	got = h.PodGroupPostFilter(group, fits(5), full("a", 1, 1), full("b", 1, 1))
	if got.Reason != "no room for red" || got.Nodes != nil || got.Victims != nil {
		t.Errorf("want no room, got %v", got)
	}
}
