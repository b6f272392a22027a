// SPDX-License-Identifier: Apache-2.0

package berth_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
)

// evictor preempts as the scheduler does, where the node has as many cpus as the
// pods and the pod ask for. Its Filter sees what is free.
type evictor struct {
	body func(c *berth.PostFilterCycle, pod berth.Pod) (*berth.Nomination, *berth.Status)
}

var evictorPolicy = berth.Policy{
	Name: "evictor", Version: "1", Reads: []berth.Section{berth.NodePods, berth.NodeResources, berth.PodResources, berth.PodIdentity},
	Intents: []berth.Intent{berth.IntentEvict, berth.IntentReclaim},
}

func (*evictor) Filter(_ *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	if node.Resource(berth.CPU).Free() < pod.Resource(berth.CPU).Request() {
		return berth.Unschedulable("not enough cpu")
	}
	return nil
}

func (e *evictor) PostFilter(c *berth.PostFilterCycle, pod berth.Pod) (*berth.Nomination, *berth.Status) {
	if e.body != nil {
		return e.body(c, pod)
	}
	if s := c.MayPreempt(); s != nil {
		return nil, s
	}
	var nodes []string
	var choices [][]berth.Victim
	for node := range c.Candidates() {
		name := strings.Clone(node.Name())
		victims, s := c.SelectVictims(node, func(p berth.NodePod) bool { return p.Name() != "sacred" })
		if s == nil {
			nodes, choices = append(nodes, name), append(choices, victims)
		}
	}
	best := berth.PickNode(choices)
	if best < 0 {
		return nil, berth.Unschedulable("no room to make")
	}
	return &berth.Nomination{Node: nodes[best], Victims: choices[best], ViolatePDBs: true}, nil
}

// full is a node of 4 cpus with a pod of one each, of these priorities.
func full(name string, priorities ...int32) *berthtest.NodeBuilder {
	n := berthtest.Node(name).Allocatable("cpu", int64(1000*len(priorities)))
	for i, p := range priorities {
		n.Pod(berthtest.Pod("ns", name+strconv.Itoa(i)).Priority(p).Started(int64(100+i)).Request("cpu", 1000))
	}
	return n
}

func TestPreemption(t *testing.T) {
	pod := func() *berthtest.PodBuilder { return berthtest.Pod("ns", "new").Priority(10).Request("cpu", 2000) }
	uid := func(names ...string) (uids []string) {
		for _, n := range names {
			uids = append(uids, "uid-ns-"+n)
		}
		return uids
	}
	none := berthtest.PostFilterResult{Verdict: berthtest.Verdict{Code: berthtest.Unschedulable, Reason: "no room to make"}}
	for name, c := range map[string]struct {
		pod   *berthtest.PodBuilder
		nodes []*berthtest.NodeBuilder
		want  berthtest.PostFilterResult
	}{
		"the least important go":              {pod(), []*berthtest.NodeBuilder{full("a", 5, 1, 3, 2)}, berthtest.PostFilterResult{Node: "a", Victims: uid("a3", "a1"), ViolatePDBs: true}},
		"of equal ones the latest go":         {pod(), []*berthtest.NodeBuilder{full("a", 1, 1, 1, 1)}, berthtest.PostFilterResult{Node: "a", Victims: uid("a2", "a3"), ViolatePDBs: true}},
		"nobody is less important":            {pod(), []*berthtest.NodeBuilder{full("a", 10, 11)}, none},
		"too few are":                         {pod(), []*berthtest.NodeBuilder{full("a", 1, 11, 12)}, none},
		"lowest highest priority":             {pod(), []*berthtest.NodeBuilder{full("a", 3, 1), full("b", 2, 2)}, berthtest.PostFilterResult{Node: "b", Victims: uid("b0", "b1"), ViolatePDBs: true}},
		"smallest sum":                        {pod(), []*berthtest.NodeBuilder{full("a", 3, 3), full("b", 3, 2)}, berthtest.PostFilterResult{Node: "b", Victims: uid("b0", "b1"), ViolatePDBs: true}},
		"the first of equal ones":             {pod(), []*berthtest.NodeBuilder{full("a", 3, 3), full("b", 3, 3)}, berthtest.PostFilterResult{Node: "a", Victims: uid("a0", "a1"), ViolatePDBs: true}},
		"many candidates":                     {pod(), []*berthtest.NodeBuilder{full("a", 20), full("b", 20), full("c", 20), full("d", 20), full("e", 20), full("f", 20, 2, 1)}, berthtest.PostFilterResult{Node: "f", Victims: uid("f1", "f2"), ViolatePDBs: true}},
		"many pods":                           {pod(), []*berthtest.NodeBuilder{full("a", slices.Repeat([]int32{5}, 60)...)}, berthtest.PostFilterResult{Node: "a", Victims: uid("a58", "a59"), ViolatePDBs: true}},
		"no candidates":                       {pod(), nil, none},
		"never":                               {pod().NeverPreempts(), []*berthtest.NodeBuilder{full("a", 1, 1)}, berthtest.PostFilterResult{Verdict: berthtest.Verdict{Code: berthtest.Unschedulable, Reason: "the pod's preemption policy is Never"}}},
		"nominated to a node that is no more": {pod().NominatedNode("gone"), []*berthtest.NodeBuilder{full("a", 1, 1)}, berthtest.PostFilterResult{Node: "a", Victims: uid("a0", "a1"), ViolatePDBs: true}},
		"nominated, and victims terminating": {pod().NominatedNode("b"), []*berthtest.NodeBuilder{full("a", 1, 1), berthtest.Node("b").Pod(berthtest.Pod("ns", "x").Deleted(5))},
			berthtest.PostFilterResult{Verdict: berthtest.Verdict{Code: berthtest.Unschedulable, Reason: "pods on the nominated node are terminating"}}},
		"one isn't eligible": {pod(), []*berthtest.NodeBuilder{berthtest.Node("a").Allocatable("cpu", 2000).Pod(berthtest.Pod("ns", "sacred").Request("cpu", 2000))}, none},
	} {
		t.Run(name, func(t *testing.T) {
			h := berthtest.New(t, &evictorPolicy, &evictor{}, nil)
			cycle := h.Cycle(c.pod)
			defer cycle.End()
			if diff := cmp.Diff(c.want, cycle.PostFilter(nil, c.nodes...)); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

// The nominated node doesn't hold preemption up once the pod can't go there.
func TestNominatedNodeLost(t *testing.T) {
	h := berthtest.New(t, &evictorPolicy, &evictor{}, nil)
	h.SetNodeStatus("b", berthtest.Verdict{Code: berthtest.UnschedulableAndUnresolvable, Reason: "cordoned"})
	h.SetNodes(berthtest.Node("b").Pod(berthtest.Pod("ns", "x").Deleted(5)))
	c := h.Cycle(berthtest.Pod("ns", "new").Priority(10).Request("cpu", 1000).NominatedNode("b"))
	if got := c.PostFilter(nil, full("a", 1)); got.Node != "a" {
		t.Errorf("want a, got %v", got)
	}
}

func TestConversation(t *testing.T) {
	e := &evictor{}
	h := berthtest.New(t, &evictorPolicy, e, nil)
	nodes := []*berthtest.NodeBuilder{full("a", 1), full("b", 1), full("c", 1), full("d", 1), full("e", 1)}
	c := h.Cycle(berthtest.Pod("ns", "new").Priority(10).Request("cpu", 1000))
	var seen []string
	e.body = func(c *berth.PostFilterCycle, pod berth.Pod) (*berth.Nomination, *berth.Status) {
		for n := range c.CandidatesFrom(3) {
			seen = append(seen, strings.Clone(n.Name()))
		}
		var kept []berth.Node
		for n := range c.Nodes("e", "none", "a") {
			kept = append(kept, n.Clone())
		}
		if _, ok := c.Node("none"); ok {
			seen = append(seen, "none")
		}
		got := c.DryRun([]berth.Trial{{Node: "a"}, {Node: "b", Victims: []berth.Victim{{Node: "b", UID: "uid-ns-b0"}}}, {Node: "none"}})
		for _, s := range got {
			seen = append(seen, strconv.Itoa(int(s.Code()))+s.Reason())
		}
		for _, n := range kept {
			seen = append(seen, n.Name())
		}
		seen = append(seen, pod.Name(), strconv.Itoa(len(c.DryRun(make([]berth.Trial, 300)))))
		for n := range c.Candidates() {
			return &berth.Nomination{Node: strings.Clone(n.Name()), Victims: []berth.Victim{{Node: "a", UID: "u"}}, AnyPriority: true}, nil
		}
		return nil, nil
	}
	got := c.PostFilter(func(n *berthtest.NodeBuilder) berthtest.Verdict {
		if n.Name() == "a" {
			return berthtest.Verdict{Code: berthtest.Unschedulable, Reason: "told so"}
		}
		return berthtest.Verdict{}
	}, nodes...)
	if diff := cmp.Diff(berthtest.PostFilterResult{Node: "a", Victims: []string{"u"}, AnyPriority: true}, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	want := "d e a b c 2told so 0 3there is no such node e a new 300"
	if got := strings.Join(seen, " "); got != want {
		t.Errorf("want %s, got %s", want, got)
	}
	c.End()
}

// A panic of the author's function reaches the test, and a conversation that
// nobody goes on with is unwound at the cycle's end, deferred functions included.
func TestConversationEnds(t *testing.T) {
	e := &evictor{}
	h := berthtest.New(t, &evictorPolicy, e, nil)
	c := h.Cycle(berthtest.Pod("ns", "new"))
	e.body = func(c *berth.PostFilterCycle, _ berth.Pod) (*berth.Nomination, *berth.Status) {
		c.DryRun([]berth.Trial{{Node: "a"}})
		panic("told to")
	}
	if got := panics(t, func() { c.PostFilter(nil) }); got != "told to" {
		t.Errorf("want the panic, got %q", got)
	}
	unwound := 0
	e.body = func(c *berth.PostFilterCycle, _ berth.Pod) (*berth.Nomination, *berth.Status) {
		defer func() { unwound++ }()
		defer func() {
			c.DryRun([]berth.Trial{{Node: "b"}}) // nobody answers
			unwound++
		}()
		c.DryRun([]berth.Trial{{Node: "a"}})
		return nil, nil
	}
	for range 2 {
		panics(t, func() {
			c.PostFilter(func(*berthtest.NodeBuilder) berthtest.Verdict { panic("the scheduler ends") }, full("a", 1))
		})
	}
	if unwound != 1 {
		t.Errorf("after a second conversation: want the first unwound, got %d", unwound)
	}
	c.End()
	if unwound != 2 {
		t.Errorf("after the cycle: want both unwound, got %d", unwound)
	}
}
