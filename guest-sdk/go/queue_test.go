// SPDX-License-Identifier: Apache-2.0

package berth_test

import (
	"slices"
	"testing"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
)

// queue implements the points around the queue.
type queue struct{}

var queuePolicy = berth.Policy{
	Name: "queue", Version: "1", Reads: []berth.Section{berth.PodLabels},
	Events: []string{"node/label", "resource"}, Intents: []berth.Intent{berth.IntentActivate},
	Aggregates: []string{"namespace"},
}

var team = berth.NewSymbol("team")

func (*queue) PreEnqueue(c *berth.Cycle, pod berth.Pod) *berth.Status {
	if !pod.Labels().Has(team) {
		return berth.UnschedulableAndUnresolvable("no team")
	}
	if pod.Labels().Is(team, berth.NewSymbol("late")) {
		c.Activate("ns/a", "ns/b")
	}
	return nil
}

func (*queue) QueueingHint(_ *berth.Cycle, _ berth.Pod, e berth.Event) bool {
	return e.Name() == "node/label" && e.New().Get("metadata", "labels", "pool").Text() != e.Old().Get("metadata", "labels", "pool").Text()
}

func (*queue) QueueKey(c *berth.Cycle, pod berth.Pod) int64 {
	used, s := c.Aggregate("namespace", pod.Namespace().String())
	if s != nil {
		return 0
	}
	return used.Get("requests", "cpu").Int()
}

func (*queue) SignPod(_ *berth.Cycle, pod berth.Pod) (string, *berth.Status) {
	v, ok := pod.Label(team)
	if !ok {
		return "", berth.Unschedulable("one of a kind")
	}
	return v, nil
}

func TestQueue(t *testing.T) {
	h := berthtest.New(t, &queuePolicy, &queue{}, nil)
	if want := []string{"pre_enqueue", "queueing_hint", "queue_key", "sign_pod"}; !slices.Equal(h.Points(), want) {
		t.Errorf("points: want %v, got %v", want, h.Points())
	}
	none, red := berthtest.Pod("ns", "none"), berthtest.Pod("ns", "red").Label("team", "red")
	if got := h.PreEnqueue(none); got.Code != berthtest.UnschedulableAndUnresolvable || got.Reason != "no team" {
		t.Errorf("gate: want a gated pod, got %v", got)
	}
	if got := h.PreEnqueue(red); got.Code != berthtest.Success {
		t.Errorf("gate: want it open, got %v", got)
	}
	h.PreEnqueue(berthtest.Pod("ns", "late").Label("team", "late"))
	if asked := h.Asked("activate"); len(asked) != 1 || asked[0].Pod != "uid-ns-late" || len(asked[0].Keys["pods"].([]any)) != 2 {
		t.Errorf("want one intent of two pods, got %v", asked)
	}
	node := func(pool string) map[string]any {
		return map[string]any{"metadata": map[string]any{"labels": map[string]any{"pool": pool}}}
	}
	for _, c := range []struct {
		event    string
		old, new map[string]any
		want     bool
	}{{"node/label", node("a"), node("b"), true}, {"node/label", node("a"), node("a"), false}, {"node/label", nil, node("a"), true}, {"resource", nil, node("a"), false}} {
		if got := h.QueueingHint(red, c.event, c.old, c.new); got != c.want {
			t.Errorf("%s from %v to %v: want %t, got %t", c.event, c.old, c.new, c.want, got)
		}
	}
	if got := h.QueueKey(red); got != 0 {
		t.Errorf("key of a namespace without pods: want 0, got %d", got)
	}
	h.SetAggregate("namespace", "ns", 3, map[string]int64{"cpu": 1500})
	if got := h.QueueKey(red); got != 1500 {
		t.Errorf("key: want 1500, got %d", got)
	}
	if key, v := h.SignPod(red); key != "red" || v.Code != berthtest.Success {
		t.Errorf("signature: want red, got %q, %v", key, v)
	}
	if key, v := h.SignPod(none); key != "" || v.Code != berthtest.Unschedulable {
		t.Errorf("signature: want none, got %q, %v", key, v)
	}
}
