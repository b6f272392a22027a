// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
)

var now = time.Unix(1_800_000_000, 0)

func newHost(t *testing.T) *berthtest.Host {
	t.Helper()
	h := berthtest.New(t, &policy, &gang{}, map[string]any{"timeoutSeconds": 30, "pauseSeconds": 3})
	h.SetNow(now)
	return h
}

// worker is a pod of a gang of that size which wants a core.
func worker(gang, name, size string) *berthtest.PodBuilder {
	return berthtest.Pod("default", name).Label("berth.dev/gang", gang).Label("berth.dev/gang-size", size).
		Request("cpu", 1000).Created(now.Unix())
}

// node has room for so many cores and pods.
func node(name string, cores int64, pods ...*berthtest.PodBuilder) *berthtest.NodeBuilder {
	return berthtest.Node(name).Allocatable("cpu", cores*1000).Allocatable("pods", 10).Pod(pods...)
}

func TestPreFilter(t *testing.T) {
	low := worker("other", "low", "2").Priority(-1)
	tests := []struct {
		name  string
		pod   *berthtest.PodBuilder
		kept  map[string]any
		nodes []*berthtest.NodeBuilder
		want  string
	}{
		{"room", worker("g", "a", "3"), nil, []*berthtest.NodeBuilder{node("n1", 2), node("n2", 1)}, "success"},
		{"not in a gang", berthtest.Pod("default", "x"), nil, nil, "skip"},
		{"placed already", worker("g", "a", "3"), nil, []*berthtest.NodeBuilder{node("n1", 2, worker("g", "b", "3"), worker("g", "c", "3")), node("n2", 1)}, "success"},
		{"of another namespace", worker("g", "a", "2"), nil, []*berthtest.NodeBuilder{node("n1", 2, berthtest.Pod("else", "b").Label("berth.dev/gang", "g").Request("cpu", 1000))}, "unschedulable_and_unresolvable: there is no room for the whole gang, even without pods of lower priority"},
		{"room without others", worker("g", "a", "2"), nil, []*berthtest.NodeBuilder{node("n1", 2, low)}, "unschedulable: there is no room for the whole gang"},
		{"other nodes only", worker("g", "a", "1").NodeSelector("pool", "x"), nil, []*berthtest.NodeBuilder{node("n1", 2)}, "unschedulable_and_unresolvable: there is no room for the whole gang, even without pods of lower priority"},
		{"tainted", worker("g", "a", "1"), nil, []*berthtest.NodeBuilder{node("n1", 2).Taint("k", "v", "NoSchedule")}, "unschedulable_and_unresolvable: there is no room for the whole gang, even without pods of lower priority"},
		{"another's turn", worker("g", "a", "1"), map[string]any{placing: "default/h"}, []*berthtest.NodeBuilder{node("n1", 2)}, "unschedulable: another gang is being placed"},
		{"its own turn", worker("g", "a", "1"), map[string]any{placing: "default/g"}, []*berthtest.NodeBuilder{node("n1", 2)}, "success"},
		{"pausing", worker("g", "a", "1"), map[string]any{paused + "default/g": true}, []*berthtest.NodeBuilder{node("n1", 2)}, "unschedulable: the gang could not be placed as a whole a moment ago"},
		{"no size", berthtest.Pod("default", "x").Label("berth.dev/gang", "g"), nil, nil, "unschedulable_and_unresolvable: the gang's size is not a number above 0"},
		{"bad size", worker("g", "a", "many"), nil, nil, "unschedulable_and_unresolvable: the gang's size is not a number above 0"},
		{"size 0", worker("g", "a", "0"), nil, nil, "unschedulable_and_unresolvable: the gang's size is not a number above 0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := newHost(t)
			for key, value := range test.kept {
				h.SetKept(key, value)
			}
			if got := h.Cycle(test.pod).PreFilter(test.nodes...).Verdict.String(); got != test.want {
				t.Errorf("want %q, got %q", test.want, got)
			}
		})
	}
}

// The size may come from the PodGroup that the pod names.
func TestPodGroup(t *testing.T) {
	h := newHost(t)
	h.SetGroup("default", "train", map[string]any{"spec": map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": 2}}}})
	pod := berthtest.Pod("default", "a").Group("train").Request("cpu", 1000)
	if got := h.Cycle(pod).PreFilter(node("n1", 2)).Code; got != berthtest.Success {
		t.Errorf("want room for 2, got %v", got)
	}
	if got := h.Cycle(pod).PreFilter(node("n1", 1)).Code; got != berthtest.UnschedulableAndUnresolvable {
		t.Errorf("want no room for 2, got %v", got)
	}
}

// Placed pods wait until the gang's size is reached; then all go.
func TestPermit(t *testing.T) {
	h := newHost(t)
	var placed []*berthtest.PodBuilder
	place := func(name string) (berthtest.Verdict, time.Duration) {
		pod := worker("g", name, "3")
		c := h.Cycle(pod)
		n := node("n1", 4, placed...)
		if v := c.PreFilter(n).Verdict; v.Code != berthtest.Success {
			t.Fatalf("%s: %v", name, v)
		}
		placed = append(placed, pod)
		return c.Permit(n)
	}
	for _, name := range []string{"a", "b"} {
		v, timeout := place(name)
		if v.Code != berthtest.Wait || timeout != 30*time.Second {
			t.Errorf("%s: want it to wait 30 s, got %v, %v", name, v, timeout)
		}
	}
	if got := h.Kept(placing); got != "default/g" {
		t.Errorf("want the gang's turn noted, got %v", got)
	}
	if v, _ := place("c"); v.Code != berthtest.Success {
		t.Errorf("c: want it allowed, got %v", v)
	}
	if left := h.Waiting(); len(left) > 0 || h.Kept(placing) != nil {
		t.Errorf("want all allowed and the turn over, got %v, %v", left, h.Kept(placing))
	}
	if v, _ := place("d"); v.Code != berthtest.Success {
		t.Errorf("one more than the size: want it allowed, got %v", v)
	}
}

// When one pod loses its node, all do, and others go first for a while.
func TestUnreserve(t *testing.T) {
	h := newHost(t)
	var cycles []*berthtest.Cycle
	for _, name := range []string{"a", "b"} {
		c := h.Cycle(worker("g", name, "3"))
		c.PreFilter(node("n1", 4))
		c.Permit(node("n1", 4))
		cycles = append(cycles, c)
	}
	cycles[0].Unreserve("n1")
	if left := h.Waiting(); len(left) > 0 {
		t.Errorf("want none left waiting, got %v", left)
	}
	if h.Kept(placing) != nil || h.Kept(paused+"default/g") != true {
		t.Errorf("want the turn over and a pause, got %v, %v", h.Kept(placing), h.Kept(paused+"default/g"))
	}
	h.SetNow(now.Add(4 * time.Second))
	if h.Kept(paused+"default/g") != nil {
		t.Error("want the pause over after 3 s")
	}
}

// Victims of gangs take the rest of their gang along.
func TestPostFilter(t *testing.T) {
	h := newHost(t)
	low := func(gang, name string) *berthtest.PodBuilder { return worker(gang, name, "2").Priority(1) }
	nodes := []*berthtest.NodeBuilder{
		node("n1", 1, low("x", "x0")), node("n2", 1, low("x", "x1")),
		node("n3", 1, berthtest.Pod("default", "alone").Priority(5).Request("cpu", 1000)),
	}
	pod := worker("g", "a", "1").Priority(10)
	h.SetNodes(nodes...)
	c := h.Cycle(pod)
	c.PreFilter(nodes...)
	got := c.PostFilter(berthtest.Fits(pod), nodes...)
	slices.Sort(got.Victims)
	if diff := cmp.Diff([]string{"uid-default-x0", "uid-default-x1"}, got.Victims); diff != "" || got.Node != "n1" {
		t.Errorf("want both pods of the gang, for n1, got node %q (-want +got)\n%s", got.Node, diff)
	}

	// Nobody to evict: what the gang holds goes back.
	h = newHost(t)
	first := h.Cycle(worker("g", "b", "2"))
	first.PreFilter(node("n1", 2))
	first.Permit(node("n1", 2))
	pod = worker("g", "c", "2")
	c = h.Cycle(pod)
	c.PreFilter(node("n1", 2, worker("g", "b", "2")))
	full := node("n1", 1, worker("g", "b", "2"))
	h.SetNodes(full)
	if got := c.PostFilter(berthtest.Fits(pod), full); got.Code != berthtest.Unschedulable {
		t.Errorf("want no help, got %v", got)
	}
	if left := h.Waiting(); len(left) > 0 || h.Kept(paused+"default/g") != true {
		t.Errorf("want the gang's node back and a pause, got %v", left)
	}
}

// The queue holds a gang's pods together, more important ones before.
func TestQueueKey(t *testing.T) {
	h := newHost(t)
	key := func(pod *berthtest.PodBuilder) int64 {
		if v := h.PreEnqueue(pod); v.Code != berthtest.Success {
			t.Fatal(v)
		}
		return h.QueueKey(pod)
	}
	first := key(worker("g", "a", "2").Created(100))
	other := key(berthtest.Pod("default", "x").Created(150))
	late := key(worker("g", "b", "2").Created(200))
	high := key(berthtest.Pod("default", "y").Created(300).Priority(1))
	if first != late || first >= other || high >= first {
		t.Errorf("want high < first = late < other, got %d, %d, %d, %d", high, first, late, other)
	}
}
