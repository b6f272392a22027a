// SPDX-License-Identifier: Apache-2.0

package extender_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
	"github.com/berth-scheduler/berth/guest-sdk/go/extender"
)

// Extenders with some of the verbs each.
type filters struct{ calls []string }

func (f *filters) Filter(args *extender.Args) *extender.FilterResult {
	f.calls = append(f.calls, fmt.Sprint(args.NodeNames))
	r := &extender.FilterResult{FailedNodes: map[string]string{}, FailedAndUnresolvableNodes: map[string]string{}}
	for i, name := range args.NodeNames {
		if args.Nodes[i].Name() != name {
			return &extender.FilterResult{Error: "names and nodes differ"}
		}
		switch role, _ := args.Nodes[i].Label(berth.NewSymbol("role")); role {
		case "good":
			r.NodeNames = append(r.NodeNames, name)
		case "full":
			r.FailedNodes[name] = "full"
		case "wrong":
			r.FailedAndUnresolvableNodes[name] = "wrong"
		case "broken":
			r.Error = "no answer today"
		}
	}
	return r
}

type ranks struct{ best int64 }

func (p *ranks) Prioritize(args *extender.Args) extender.HostPriorityList {
	var list extender.HostPriorityList
	for i, name := range args.NodeNames[1:] { // the first is left out
		list = append(list, extender.HostPriority{Host: name, Score: min(int64(i+1), p.best)})
	}
	if p.best > extender.MaxPriority {
		list[0].Score = p.best
	}
	return list
}

type preempts struct{}

func (preempts) ProcessPreemption(args *extender.PreemptionArgs) *extender.PreemptionResult {
	delete(args.NodeNameToMetaVictims, "n1")
	return &extender.PreemptionResult{NodeNameToMetaVictims: args.NodeNameToMetaVictims}
}

type all struct {
	filters
	ranks
	preempts
}

func newHost(t *testing.T, e any) *berthtest.Host {
	t.Helper()
	p := &berth.Policy{
		Name: "extender", Version: "1",
		Reads: []berth.Section{berth.NodeLabels, berth.NodePods, berth.PodIdentity},
	}
	if _, ok := e.(extender.Preempter); ok {
		p.Intents = []berth.Intent{berth.IntentEvict}
	}
	return berthtest.New(t, p, extender.Plugin(e), nil)
}

func nodes(roles ...string) []*berthtest.NodeBuilder {
	var list []*berthtest.NodeBuilder
	for i, role := range roles {
		list = append(list, berthtest.Node(fmt.Sprintf("n%d", i)).Label("role", role))
	}
	return list
}

func TestVerbs(t *testing.T) {
	for _, test := range []struct {
		extender any
		want     []string
	}{
		{&filters{}, []string{"pre_filter", "filter"}},
		{&ranks{}, []string{"pre_score", "score"}},
		{preempts{}, []string{"post_filter"}},
		{&all{}, []string{"pre_filter", "filter", "pre_score", "score", "post_filter"}},
		{&struct {
			filters
			ranks
		}{}, []string{"pre_filter", "filter", "pre_score", "score"}},
		{&struct {
			filters
			preempts
		}{}, []string{"pre_filter", "filter", "post_filter"}},
		{&struct {
			ranks
			preempts
		}{}, []string{"pre_score", "score", "post_filter"}},
	} {
		h := newHost(t, test.extender)
		if diff := cmp.Diff(test.want, h.Points()); diff != "" {
			t.Errorf("%T (-want +got)\n%s", test.extender, diff)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("want a panic for an extender without a verb")
		}
	}()
	extender.Plugin(struct{}{})
}

// The filter verb is one call about all nodes, whatever their number.
func TestFilter(t *testing.T) {
	e := &filters{}
	h := newHost(t, e)
	var got []string
	for _, v := range h.Filter(berthtest.Pod("default", "p"), nodes("good", "full", "wrong", "unknown", "good", "good", "good")...) {
		got = append(got, v.String())
	}
	want := []string{"success", "unschedulable: full", "unschedulable_and_unresolvable: wrong", "unschedulable: the extender doesn't list the node", "success", "success", "success"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"[n0 n1 n2 n3 n4 n5 n6]"}, e.calls); diff != "" {
		t.Errorf("calls: %s", diff)
	}
	if v := h.Cycle(berthtest.Pod("default", "p")).PreFilter(nodes("broken")...).Verdict; v.String() != "error: no answer today" {
		t.Errorf("want the extender's error, got %v", v)
	}
}

func TestPrioritize(t *testing.T) {
	h := newHost(t, &ranks{best: 10})
	if diff := cmp.Diff([]int64{0, 10, 20}, h.Score(berthtest.Pod("default", "p"), nodes("a", "b", "c")...)); diff != "" {
		t.Error(diff)
	}
	h = newHost(t, &ranks{best: 11})
	if v := h.Cycle(berthtest.Pod("default", "p")).PreScore(nodes("a", "b")...); v.String() != "error: the extender's score is not 0 to 10" {
		t.Errorf("want a score out of range refused, got %v", v)
	}
}

// The preempt verb goes over the scheduler's victims.
func TestPreempt(t *testing.T) {
	h := newHost(t, preempts{})
	pod := berthtest.Pod("default", "p").Priority(10).Request("cpu", 1000)
	var list []*berthtest.NodeBuilder
	for i := range 3 {
		name := fmt.Sprintf("n%d", i+1)
		list = append(list, berthtest.Node(name).Allocatable("cpu", 1000).Pod(berthtest.Pod("default", "on-"+name).Priority(int32(i)).Request("cpu", 1000)))
	}
	h.SetNodes(list...)
	got := h.Cycle(pod).PostFilter(berthtest.Fits(pod), list...)
	if got.Node != "n2" || fmt.Sprint(got.Victims) != "[uid-default-on-n2]" {
		t.Errorf("want n2, the best that the extender leaves, got %q, %v (%v)", got.Node, got.Victims, got.Verdict)
	}
}
