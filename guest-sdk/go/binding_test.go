// SPDX-License-Identifier: Apache-2.0

package berth_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
)

// gang lets pods of a node wait until two are there.
type gang struct{ calls []string }

var gangPolicy = berth.Policy{
	Name: "gang", Version: "1", Reads: []berth.Section{berth.PodIdentity},
	Intents: []berth.Intent{
		berth.IntentAllow, berth.IntentReject, berth.IntentState, berth.IntentPatch, berth.IntentBind, berth.IntentEvent, berth.IntentMetric,
	},
}

func (g *gang) note(call, node string) { g.calls = append(g.calls, call+" "+node) }

func (g *gang) Reserve(c *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	g.note("reserve", node.Name())
	if node.Unschedulable() {
		return berth.Pending("the node is cordoned")
	}
	c.Keep("last", map[string]any{"pod": pod.Name(), "nodes": []string{node.Name()}}, 10*berth.Second)
	return nil
}

func (g *gang) Unreserve(c *berth.Cycle, _ berth.Pod, node string) {
	g.note("unreserve", node)
	c.Forget("last")
}

func (g *gang) Permit(c *berth.Cycle, _ berth.Pod, node berth.Node) (*berth.Status, int64) {
	waiting, s := c.Waiting()
	if s != nil {
		return s, 0
	}
	others := 0
	for w := range waiting.All() {
		if w.Get("held").Bool() && w.Get("node").Text() == node.Name() {
			c.Allow(w.Get("uid").Text())
			others++
		}
	}
	if others == 0 {
		return berth.Wait("alone"), 30 * berth.Second
	}
	c.Count("gangs", 1)
	c.Gauge("size", float64(others+1))
	return nil, 0
}

func (g *gang) PreBindPreFlight(_ *berth.Cycle, pod berth.Pod, node string) *berth.Status {
	g.note("flight", node)
	if pod.Name() == "plain" {
		return berth.Skip()
	}
	return nil
}

func (g *gang) PreBind(c *berth.Cycle, _ berth.Pod, node string) *berth.Status {
	c.PatchLabels("b", "2", "a", node)
	c.RemoveAnnotations("old")
	return nil
}

func (g *gang) Bind(c *berth.Cycle, pod berth.Pod, _ string) *berth.Status {
	switch pod.Name() {
	case "plain":
		return berth.Skip()
	case "forgetful":
		return nil
	}
	c.BindPod("bound-by", "gang")
	return nil
}

func (g *gang) PostBind(c *berth.Cycle, _ berth.Pod, node string) {
	c.Event(berth.EventNormal, "Bound", "to "+node)
}

func TestBinding(t *testing.T) {
	g := &gang{}
	h := berthtest.New(t, &gangPolicy, g, nil)
	node := berthtest.Node("n")
	a, b := h.Cycle(berthtest.Pod("ns", "a")), h.Cycle(berthtest.Pod("ns", "b"))
	if v := a.Reserve(berthtest.Node("bad").Unschedulable()); v.Code != berthtest.Pending {
		t.Errorf("reserve: want pending, got %v", v)
	}
	if v := a.Reserve(node); v.Code != berthtest.Success {
		t.Errorf("reserve: want success, got %v", v)
	}
	if diff := cmp.Diff(map[string]any{"pod": "a", "nodes": []any{"n"}}, h.Kept("last")); diff != "" {
		t.Errorf("kept: want (-), got (+):\n%s", diff)
	}
	v, timeout := a.Permit(node)
	if v.Code != berthtest.Wait || v.Reason != "alone" || timeout != 30*time.Second || !slices.Equal(h.Waiting(), []string{"uid-ns-a"}) {
		t.Errorf("the first: want it to wait 30 s, got %v, %v, waiting %v", v, timeout, h.Waiting())
	}
	if v, _ := b.Permit(node); v.Code != berthtest.Success || len(h.Waiting()) != 0 {
		t.Errorf("the second: want both free, got %v, waiting %v", v, h.Waiting())
	}
	want := []berthtest.Intent{
		{Kind: "metric", Pod: "uid-ns-b", Keys: map[string]any{"name": "gangs", "add": 1.0}},
		{Kind: "metric", Pod: "uid-ns-b", Keys: map[string]any{"name": "size", "set": 2.0}},
	}
	if diff := cmp.Diff(want, h.Asked("metric")); diff != "" {
		t.Errorf("metrics: want (-), got (+):\n%s", diff)
	}
	plain := h.Cycle(berthtest.Pod("ns", "plain"))
	if got := []berthtest.Code{a.PreBindPreFlight("n").Code, plain.PreBindPreFlight("n").Code, a.PreBind("n").Code, a.Bind("n").Code, plain.Bind("n").Code}; !slices.Equal(got, []berthtest.Code{0, berthtest.Skip, 0, 0, berthtest.Skip}) {
		t.Errorf("binding: got %v", got)
	}
	wantPatch := []berthtest.Intent{
		{Kind: "patch", Pod: "uid-ns-a", Keys: map[string]any{"labels": map[string]any{"a": "n", "b": "2"}}},
		{Kind: "patch", Pod: "uid-ns-a", Keys: map[string]any{"annotations": map[string]any{"old": nil}}},
	}
	if diff := cmp.Diff(wantPatch, h.Asked("patch")); diff != "" {
		t.Errorf("patches: want (-), got (+):\n%s", diff)
	}
	if asked := h.Asked("bind"); len(asked) != 1 || !cmp.Equal(asked[0].Keys["annotations"], map[string]any{"bound-by": "gang"}) {
		t.Errorf("want one binding, got %v", asked)
	}
	a.PostBind("n")
	if asked := h.Asked("event"); len(asked) != 1 || !cmp.Equal(asked[0].Keys, map[string]any{"type": "Normal", "reason": "Bound", "message": "to n"}) {
		t.Errorf("want one event, got %v", asked)
	}
	h.SetNow(time.Now().Add(time.Minute))
	if got := h.Kept("last"); got != nil {
		t.Errorf("after its time: want nothing kept, got %v", got)
	}
	b.Unreserve("n")
	if want := []string{"reserve bad", "reserve n", "flight n", "flight n", "unreserve n"}; !slices.Equal(g.calls, want) {
		t.Errorf("calls: want %v, got %v", want, g.calls)
	}
}

// A policy that says success and binds nothing would leave the pod hanging.
func TestBindForgotten(t *testing.T) {
	f := &fakeT{TB: t}
	h := berthtest.New(f, &gangPolicy, &gang{}, nil)
	if got := panics(t, func() { h.Cycle(berthtest.Pod("ns", "forgetful")).Bind("n") }); got != f.failure {
		t.Errorf("want the test to fail, got %q", got)
	}
}

// permitFunc asks in permit for what it likes.
type permitFunc func(c *berth.Cycle)

func (f permitFunc) Permit(c *berth.Cycle, _ berth.Pod, _ berth.Node) (*berth.Status, int64) {
	f(c)
	return nil, 0
}

func TestIntentPanics(t *testing.T) {
	all := []berth.Intent{berth.IntentActivate, berth.IntentState, berth.IntentMetric}
	for name, c := range map[string]struct {
		ask  permitFunc
		want string
	}{
		"undeclared":   {func(c *berth.Cycle) { c.Event(berth.EventWarning, "Odd", "") }, "the intent event without declaring it"},
		"patch":        {func(c *berth.Cycle) { c.PatchLabels("a", "b") }, "a patch in permit"},
		"bind":         {func(c *berth.Cycle) { c.BindPod() }, "BindPod in permit"},
		"value's type": {func(c *berth.Cycle) { c.Keep("k", []any{make(chan int)}, 0) }, "want a tree of JSON-like values"},
		"too many": {func(c *berth.Cycle) {
			for range 257 {
				c.Count("n", 1)
			}
		}, "too many intents"},
		"undeclared data": {func(c *berth.Cycle) { _, _ = c.DataSet("watts", "n") }, `the host refuses to read data_set "watts" "n": add it to Policy.DataSets`},
	} {
		t.Run(name, func(t *testing.T) {
			h := berthtest.New(t, &berth.Policy{Name: "p", Version: "1", Intents: all}, c.ask, nil)
			got := panics(t, func() { h.Cycle(berthtest.Pod("ns", "p")).Permit(berthtest.Node("n")) })
			if !strings.Contains(got, c.want) {
				t.Errorf("want a panic about %q, got %q", c.want, got)
			}
		})
	}
	asker := filterFunc(func(c *berth.Cycle, _ berth.Pod, _ berth.Node) *berth.Status { c.Count("n", 1); return nil })
	both := struct {
		filterFunc
		permitFunc
	}{asker, func(*berth.Cycle) {}}
	h := berthtest.New(t, &berth.Policy{Name: "p", Version: "1", Intents: all}, both, nil)
	if got := panics(t, func() { h.Filter(berthtest.Pod("ns", "p"), berthtest.Node("n")) }); !strings.Contains(got, "can't be asked for in filter") {
		t.Errorf("want a panic about filter, got %q", got)
	}
}
