// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
)

const (
	gpu = "example.com/gpu"
	gib = 1 << 30
)

// node has 4 cores and 8 GiB, of which pods request some.
func node(name string, cpu, memory int64) *berthtest.NodeBuilder {
	n := berthtest.Node(name).Allocatable("cpu", 4000).Allocatable("memory", 8*gib)
	return n.Pod(berthtest.Pod("default", "other").Request("cpu", cpu).Request("memory", memory))
}

// gpuNode is a node with 4 GPUs, of which some are taken.
func gpuNode(name string, taken int64) *berthtest.NodeBuilder {
	n := node(name, 0, 0).Allocatable(gpu, 4)
	if taken > 0 {
		n.Pod(berthtest.Pod("default", "trainer").Request("cpu", 0).Request("memory", 0).Request(gpu, taken))
	}
	return n
}

func pod(cpu, memory int64) *berthtest.PodBuilder {
	return berthtest.Pod("default", "web").Request("cpu", cpu).Request("memory", memory)
}

func resources(list ...map[string]any) map[string]any {
	all := make([]any, len(list))
	for i := range list {
		all[i] = list[i]
	}
	return map[string]any{"resources": all}
}

func TestScore(t *testing.T) {
	onlyCPU := resources(map[string]any{"name": "cpu"})
	weighted := resources(map[string]any{"name": "cpu", "weight": 3}, map[string]any{"name": "memory"})
	withGPU := resources(map[string]any{"name": gpu, "weight": 3}, map[string]any{"name": "cpu"})
	scarce := resources(map[string]any{"name": gpu, "scarce": true}, map[string]any{"name": "cpu"})
	empty, half, full := node("empty", 0, 0), node("half", 2000, 4*gib), node("full", 4000, 8*gib)
	tests := []struct {
		name   string
		config map[string]any
		pod    *berthtest.PodBuilder
		nodes  []*berthtest.NodeBuilder
		want   []int64
	}{
		{"cpu and memory by default", nil, pod(1000, 4*gib), []*berthtest.NodeBuilder{empty, half, full}, []int64{37, 87, 100}},
		{"one resource", onlyCPU, pod(1000, 4*gib), []*berthtest.NodeBuilder{empty, half}, []int64{25, 75}},
		{"weights", weighted, pod(1000, 8*gib), []*berthtest.NodeBuilder{empty}, []int64{43}},
		{"no requests count as the minimum", onlyCPU, berthtest.Pod("default", "p"), []*berthtest.NodeBuilder{empty}, []int64{2}},
		{"an extended resource", withGPU, pod(0, 0).Request(gpu, 1), []*berthtest.NodeBuilder{gpuNode("a", 0), gpuNode("b", 2), empty}, []int64{25, 75, 0}},
		{"which the pod doesn't request", withGPU, pod(2000, 0), []*berthtest.NodeBuilder{gpuNode("a", 2), empty}, []int64{50, 50}},
		{"scarce and not requested", scarce, pod(2000, 0), []*berthtest.NodeBuilder{gpuNode("a", 2), empty}, []int64{0, 50}},
		{"scarce and requested", scarce, pod(4000, 0).Request(gpu, 2), []*berthtest.NodeBuilder{gpuNode("a", 0)}, []int64{75}},
		{"a node without anything", nil, pod(1, 1), []*berthtest.NodeBuilder{berthtest.Node("bare")}, []int64{0}},
		{"a node with 0 of it", nil, pod(1, 1), []*berthtest.NodeBuilder{berthtest.Node("zero").Allocatable("cpu", 0)}, []int64{0}},
		{"huge amounts", resources(map[string]any{"name": gpu}), pod(0, 0).Request(gpu, 1<<62),
			[]*berthtest.NodeBuilder{berthtest.Node("big").Allocatable(gpu, 1<<62).Pod(berthtest.Pod("ns", "p").Request(gpu, 1<<62))}, []int64{100}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := berthtest.New(t, &policy, &binpack{}, tt.config)
			got := h.NormalizeScore(tt.pod, tt.nodes...)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

func TestConfigErrors(t *testing.T) {
	for want, config := range map[string]map[string]any{
		"config.resources: want at least one":                  resources(),
		`config.resources: "cpu" is there twice`:               resources(map[string]any{"name": "cpu"}, map[string]any{"name": "cpu"}),
		"config.resources[0].name: is required":                resources(map[string]any{"weight": 1}),
		"config.resources[0].weight: want 1 to 100, got 0":     resources(map[string]any{"name": "cpu", "weight": 0}),
		"config.resources[0].scarce: want true or false, got ": resources(map[string]any{"name": "cpu", "scarce": "yes"}),
	} {
		err := berthtest.TryConfig(t, &policy, &binpack{}, config)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	h := berthtest.New(t, &policy, &binpack{}, nil)
	if n := h.Cycle(pod(100, gib)).ScoreAllocs(node("a", 0, 0), node("b", 1000, gib)); n != 0 {
		t.Errorf("want none, got %v", n)
	}
}

// The README has a row for each property.
func TestREADME(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	schema := berthtest.New(t, &policy, &binpack{}, nil).Schema().(map[string]any)
	for name := range schema["properties"].(map[string]any) {
		if !strings.Contains(string(text), "| `"+name) {
			t.Errorf("property %q: want a row in README.md, got none", name)
		}
	}
}
