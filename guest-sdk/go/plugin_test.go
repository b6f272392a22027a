// SPDX-License-Identifier: Apache-2.0

package berth_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
)

var zone = berth.NewSymbol("zone")

// zones is a policy with every point in its short form: at most max pods of an
// app in a zone, and a zone's node is the better the fewer it has.
type zones struct{ max int64 }

type zoneCount struct{ pods map[berth.ID]int64 }

func (c *zoneCount) Clone() berth.State {
	clone := &zoneCount{pods: map[berth.ID]int64{}}
	for zone, n := range c.pods {
		clone.pods[zone] = n
	}
	return clone
}

var zonesPolicy = berth.Policy{
	Name: "zones", Version: "1",
	Reads: []berth.Section{berth.NodeLabels, berth.NodePods, berth.PodLabels, berth.PodIdentity},
}

func (p *zones) Config() []berth.Property {
	return []berth.Property{berth.Bind("max", &p.max, berth.Int()).Default(1)}
}

func (p *zones) PreFilterBegin(c *berth.Cycle, pod berth.Pod) *berth.Status {
	if !pod.HasLabel(berth.NewSymbol("app")) {
		return berth.Skip()
	}
	c.SetState(&zoneCount{pods: map[berth.ID]int64{}})
	return nil
}

func (p *zones) PreFilterNode(c *berth.Cycle, _ berth.Pod, node berth.Node) *berth.Status {
	counts, s := berth.StateOf[*zoneCount](c)
	if s != nil {
		return s
	}
	id, ok := node.LabelID(zone)
	if !ok {
		return berth.Skip()
	}
	counts.pods[id] += int64(node.Pods().Len())
	return nil
}

func (p *zones) PreFilterEnd(*berth.Cycle, berth.Pod) *berth.Status { return nil }

func (p *zones) add(c *berth.Cycle, node berth.Node, n int64) *berth.Status {
	counts, s := berth.StateOf[*zoneCount](c)
	if s != nil {
		return s
	}
	id, _ := node.LabelID(zone)
	counts.pods[id] += n
	return nil
}

func (p *zones) AddPod(c *berth.Cycle, _, _ berth.Pod, node berth.Node) *berth.Status {
	return p.add(c, node, 1)
}

func (p *zones) RemovePod(c *berth.Cycle, _, _ berth.Pod, node berth.Node) *berth.Status {
	return p.add(c, node, -1)
}

func (p *zones) Filter(c *berth.Cycle, _ berth.Pod, node berth.Node) *berth.Status {
	counts, s := berth.StateOf[*zoneCount](c)
	if s != nil {
		return s
	}
	if id, _ := node.LabelID(zone); counts.pods[id] >= p.max {
		return berth.Unschedulable("the zone is full")
	}
	return nil
}

func (p *zones) Score(c *berth.Cycle, _ berth.Pod, node berth.Node) (int64, *berth.Status) {
	counts, s := berth.StateOf[*zoneCount](c)
	if s != nil {
		return 0, s
	}
	id, _ := node.LabelID(zone)
	return counts.pods[id], nil
}

func (p *zones) NormalizeScore(_ *berth.Cycle, _ berth.Pod, scores []int64) *berth.Status {
	for i := range scores {
		scores[i] = max(0, 100-10*scores[i])
	}
	return nil
}

func zoneNode(name, zone string, pods int) *berthtest.NodeBuilder {
	n := berthtest.Node(name)
	if zone != "" {
		n.Label("zone", zone)
	}
	for range pods {
		n.Pod(berthtest.Pod("default", "p"))
	}
	return n
}

func TestCycle(t *testing.T) {
	h := berthtest.New(t, &zonesPolicy, &zones{}, map[string]any{"max": 3})
	pod := berthtest.Pod("default", "web-1").Label("app", "web")
	nodes := []*berthtest.NodeBuilder{
		zoneNode("a1", "a", 2), zoneNode("a2", "a", 1), zoneNode("b1", "b", 0), zoneNode("none", "", 0),
		zoneNode("b2", "b", 1), zoneNode("b3", "b", 0), zoneNode("c1", "c", 0),
	}
	full := berthtest.Verdict{Code: berthtest.Unschedulable, Reason: "the zone is full"}
	out := berthtest.Verdict{Code: berthtest.UnschedulableAndUnresolvable, Reason: berthtest.LeftOut}
	want := []berthtest.Verdict{full, full, {}, out, {}, {}, {}}
	if diff := cmp.Diff(want, h.Filter(pod, nodes...)); diff != "" {
		t.Errorf("filter: want (-), got (+):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b1", "b2", "b3", "c1"}, h.Feasible(pod, nodes...)); diff != "" {
		t.Errorf("feasible: want (-), got (+):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{70, 70, 90, 100, 90, 90, 100}, h.NormalizeScore(pod, nodes...)); diff != "" {
		t.Errorf("scores: want (-), got (+):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"none", "c1", "b1", "b2", "b3", "a1", "a2"}, h.Ranking(pod, nodes...)); diff != "" {
		t.Errorf("ranking: want (-), got (+):\n%s", diff)
	}
	if got := h.Filter(berthtest.Pod("default", "other"), nodes[0]); got[0] != (berthtest.Verdict{}) {
		t.Errorf("a pod that PreFilter skips: want no verdict, got %v", got)
	}
}

func TestStateIsCloned(t *testing.T) {
	h := berthtest.New(t, &zonesPolicy, &zones{}, nil)
	pod, other := berthtest.Pod("default", "web-1").Label("app", "web"), berthtest.Pod("default", "web-0")
	node := zoneNode("a1", "a", 1)
	c := h.Cycle(pod)
	if got := c.PreFilter(node); got.Code != berthtest.Success || !got.All {
		t.Fatalf("pre_filter: want success and all nodes, got %v", got)
	}
	full, ok := berthtest.Verdict{Code: berthtest.Unschedulable, Reason: "the zone is full"}, berthtest.Verdict{}
	check := func(what string, c *berthtest.Cycle, want berthtest.Verdict) {
		t.Helper()
		if got := c.Filter(node)[0]; got != want {
			t.Errorf("%s: want %v, got %v", what, want, got)
		}
	}
	check("before", c, full)
	clone := c.Clone()
	if got := clone.RemovePod(other, node); got != ok {
		t.Errorf("remove_pod: want success, got %v", got)
	}
	check("on the clone without the pod", clone, ok)
	check("the original", c, full)
	twice := clone.Clone()
	twice.AddPod(other, node)
	check("on the clone's clone with the pod", twice, full)
	check("the clone", clone, ok)
	c.End()
	gone := c.Filter(node)[0]
	if gone.Code != berthtest.Error || !strings.Contains(gone.Reason, "no cycle state") {
		t.Errorf("after the cycle: want an error about state, got %v", gone)
	}
}

// A state that PreScore sets needs none from PreFilter.
type preScored struct{}

func (preScored) PreScore(c *berth.Cycle, _ berth.Pod) *berth.Status {
	c.SetState(&zoneCount{pods: map[berth.ID]int64{0: c.Now()}})
	return nil
}

func (preScored) Score(c *berth.Cycle, _ berth.Pod, _ berth.Node) (int64, *berth.Status) {
	counts, s := berth.StateOf[*zoneCount](c)
	if s != nil {
		return 0, s
	}
	return counts.pods[0], nil
}

func TestPreScoreState(t *testing.T) {
	h := berthtest.New(t, &berth.Policy{Name: "p", Version: "1", Normalize: berth.NormalizeMax}, preScored{}, nil)
	scores := h.Score(berthtest.Pod("default", "p"), berthtest.Node("a"), berthtest.Node("b"))
	if scores[0] == 0 || scores[0] != scores[1] {
		t.Errorf("want the time of the cycle twice, got %v", scores)
	}
	if got := h.NormalizeScore(berthtest.Pod("default", "p"), berthtest.Node("a")); got[0] != 100 {
		t.Errorf("want 100 for the highest, got %v", got)
	}
}

// PreFilter in its short form narrows the nodes.
type named struct{ names []string }

func (p *named) Config() []berth.Property {
	return []berth.Property{berth.Bind("names", &p.names, berth.ListOf(berth.String()))}
}

func (p *named) PreFilter(_ *berth.Cycle, pod berth.Pod) (*berth.NodeSet, *berth.Status) {
	if p.names == nil {
		return nil, berth.UnschedulableAndUnresolvable("no names")
	}
	set := berth.Nodes()
	for _, n := range p.names {
		set.Add(n)
	}
	berth.LogInfo("narrowed", "namespace", pod.Namespace().String(), "note", `a "b"`)
	return set, nil
}

func TestNodeSet(t *testing.T) {
	h := berthtest.New(t, &berth.Policy{Name: "p", Version: "1"}, &named{}, map[string]any{"names": []any{"b", "gone"}})
	a, b := berthtest.Node("a"), berthtest.Node("b")
	if got := h.Feasible(berthtest.Pod("ns", "p"), a, b); !cmp.Equal(got, []string{"b"}) {
		t.Errorf("want b, got %v", got)
	}
	if diff := cmp.Diff([]string{`info: narrowed namespace=ns note="a \"b\""`}, h.Logs()); diff != "" {
		t.Errorf("log: want (-), got (+):\n%s", diff)
	}
	if err := h.Configure(map[string]any{"names": []any{}}); err != nil {
		t.Fatal(err)
	}
	if got := h.Cycle(berthtest.Pod("ns", "p")).PreFilter(a); got.All || len(got.Nodes) != 0 {
		t.Errorf("the empty set: want no nodes, got %v", got)
	}
	if err := h.Configure(nil); err != nil {
		t.Fatal(err)
	}
	want := berthtest.Verdict{Code: berthtest.UnschedulableAndUnresolvable, Reason: "no names"}
	if got := h.Filter(berthtest.Pod("ns", "p"), a); got[0] != want {
		t.Errorf("rejected by PreFilter: want %v, got %v", want, got)
	}
}
