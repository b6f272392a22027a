// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
)

// zone is a zone of 8 cores with some CPU and memory free.
func zone(name string, cpu, memory int) map[string]any {
	return map[string]any{"name": name, "milliCPU": 8000, "freeMilliCPU": cpu, "freeMemory": memory}
}

func report(pods []any, zones ...any) map[string]any {
	return map[string]any{"zones": zones, "pods": pods}
}

// guaranteed is a pod of that QoS class.
func guaranteed(name string, cpu, memory int64) *berthtest.PodBuilder {
	return berthtest.Pod("default", name).Request("cpu", cpu).Request("memory", memory).Limit("cpu", cpu).Limit("memory", memory)
}

func TestFilter(t *testing.T) {
	const (
		noZone   = "unschedulable: no NUMA zone of the node has room for the pod"
		noReport = "unschedulable_and_unresolvable: nothing is known of the node's NUMA zones"
	)
	two := report(nil, zone("0", 3000, 100), zone("1", 5000, 50))
	counted := guaranteed("there", 2000, 10)
	tests := []struct {
		name   string
		config map[string]any
		pod    *berthtest.PodBuilder
		report map[string]any
		on     []*berthtest.PodBuilder
		want   string
	}{
		{"fits one", nil, guaranteed("p", 4000, 50), two, nil, "success"},
		{"fits none, but both together", nil, guaranteed("p", 6000, 50), two, nil, noZone},
		{"CPU in one, memory in the other", nil, guaranteed("p", 4000, 60), two, nil, noZone},
		{"exactly", nil, guaranteed("p", 3000, 100), two, nil, "success"},
		{"burstable", nil, berthtest.Pod("default", "p").Request("cpu", 9000), two, nil, "success"},
		{"burstable, every pod", map[string]any{"everyPod": true}, berthtest.Pod("default", "p").Request("cpu", 9000), two, nil, noZone},
		{"a pod that isn't counted yet", nil, guaranteed("p", 4000, 50), two, []*berthtest.PodBuilder{counted}, noZone},
		{"a counted pod", nil, guaranteed("p", 4000, 50), report([]any{"uid-default-there"}, zone("1", 5000, 50)), []*berthtest.PodBuilder{counted}, "success"},
		{"no report", nil, guaranteed("p", 1, 1), nil, nil, noReport},
		{"no report, allowed", map[string]any{"unreported": "Allow"}, guaranteed("p", 1, 1), nil, nil, "success"},
		{"no zones", nil, guaranteed("p", 1, 1), report(nil), nil, noZone},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := berthtest.New(t, &policy, &numa{}, test.config)
			h.SetObject(topologies, "", "n", test.report)
			if got := h.Filter(test.pod, berthtest.Node("n").Pod(test.on...))[0].String(); got != test.want {
				t.Errorf("want %q, got %q", test.want, got)
			}
		})
	}
}

// The tightest zone wins; what is unknown comes last.
func TestRanking(t *testing.T) {
	h := berthtest.New(t, &policy, &numa{}, nil)
	for node, r := range map[string]map[string]any{
		"tight": report(nil, zone("0", 2000, 100), zone("1", 8000, 100)),
		"wide":  report(nil, zone("0", 8000, 100)),
		"mid":   report(nil, zone("0", 1000, 100), zone("1", 4000, 100)),
	} {
		h.SetObject(topologies, "", node, r)
	}
	nodes := []*berthtest.NodeBuilder{berthtest.Node("wide"), berthtest.Node("none"), berthtest.Node("tight"), berthtest.Node("mid")}
	if diff := cmp.Diff([]int64{25, 0, 100, 75}, h.Score(guaranteed("p", 2000, 1), nodes...)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int64{0, 0, 0, 0}, h.Score(berthtest.Pod("default", "p").Request("cpu", 1000), nodes...)); diff != "" {
		t.Errorf("burstable: %s", diff)
	}
}

// Until the reports are there nobody is placed by guess.
func TestNotReady(t *testing.T) {
	h := berthtest.New(t, &policy, &numa{}, nil)
	h.SetNotReady(topologies, true)
	if got := h.Filter(guaranteed("p", 1, 1), berthtest.Node("n"))[0].Code; got != berthtest.Error {
		t.Errorf("want an error, which is tried again, got %v", got)
	}
}
