// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
)

var now = time.Unix(1_800_000_000, 0)

// node has 4 cores and 4,000 bytes; pods ask for half of each.
func node(name string, pods ...*berthtest.PodBuilder) *berthtest.NodeBuilder {
	return berthtest.Node(name).Allocatable("cpu", 4000).Allocatable("memory", 4000).Pod(pods...)
}

func running(name string, since time.Duration) *berthtest.PodBuilder {
	return berthtest.Pod("default", name).Request("cpu", 2000).Request("memory", 2000).Started(now.Add(-since).Unix())
}

var pod = berthtest.Pod("default", "new").Request("cpu", 400).Request("memory", 400)

func TestScore(t *testing.T) {
	full := node("n", running("a", time.Hour))
	tests := []struct {
		name   string
		config map[string]any
		age    time.Duration
		values map[string]float64
		node   *berthtest.NodeBuilder
		want   int64
	}{
		{"measured", map[string]any{"margin": 0}, 10 * time.Second, map[string]float64{"n/cpu": 400, "n/memory": 400}, full, 80},
		{"margin", map[string]any{"margin": 50}, 10 * time.Second, map[string]float64{"n/cpu": 400, "n/memory": 400}, full, 75},
		{"weights", map[string]any{"margin": 0, "memoryWeight": 0}, 0, map[string]float64{"n/cpu": 0, "n/memory": 4000}, full, 90},
		{"one of the two", map[string]any{"margin": 0}, 0, map[string]float64{"n/cpu": 400}, full, 60},
		{"started since", map[string]any{"margin": 0}, 10 * time.Second, map[string]float64{"n/cpu": 400, "n/memory": 400}, node("n", running("a", time.Second)), 30},
		{"too old", nil, 91 * time.Second, map[string]float64{"n/cpu": 0, "n/memory": 0}, full, 40},
		{"measured too long ago", nil, 0, map[string]float64{"n/cpu": 0, "n/memory": 0, "n/timestamp": float64(now.Add(-91 * time.Second).Unix())}, full, 40},
		{"other nodes only", nil, 0, map[string]float64{"m/cpu": 0}, full, 40},
		{"beyond all", map[string]any{"margin": 0}, 0, map[string]float64{"n/cpu": 9000, "n/memory": 9000}, full, 0},
		{"nothing allocatable", nil, 0, nil, berthtest.Node("n"), 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := berthtest.New(t, &policy, &loadAware{}, test.config)
			h.SetNow(now)
			h.SetDataSet(load, test.age, test.values)
			if got := h.Score(pod, test.node); got[0] != test.want {
				t.Errorf("want %d, got %d", test.want, got[0])
			}
		})
	}
}

// Before the first measurement comes, nodes are judged by requests.
func TestNothingYet(t *testing.T) {
	h := berthtest.New(t, &policy, &loadAware{}, map[string]any{"limit": 10})
	h.SetNow(now)
	h.SetNotReady(load, true)
	if diff := cmp.Diff([]int64{40, 90}, h.Score(pod, node("n", running("a", time.Hour)), node("m"))); diff != "" {
		t.Error(diff)
	}
	if got := h.Feasible(pod, node("n", running("a", time.Hour))); len(got) != 1 {
		t.Errorf("want no limit on what isn't measured, got %v", got)
	}
}

func TestLimit(t *testing.T) {
	h := berthtest.New(t, &policy, &loadAware{}, map[string]any{"limit": 50, "margin": 0})
	h.SetNow(now)
	h.SetDataSet(load, time.Second, map[string]float64{"a/cpu": 1600, "a/memory": 0, "b/cpu": 1640, "b/memory": 0, "c/cpu": 0, "c/memory": 3999})
	if diff := cmp.Diff([]string{"a"}, h.Feasible(pod, node("a"), node("b"), node("c"))); diff != "" {
		t.Error(diff)
	}
}

func TestConfig(t *testing.T) {
	if err := berthtest.TryConfig(t, &policy, &loadAware{}, map[string]any{"cpuWeight": 0, "memoryWeight": 0}); err == nil {
		t.Error("want weights that are both 0 refused")
	}
}
