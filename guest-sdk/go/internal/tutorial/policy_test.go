// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"

	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
)

func TestFilter(t *testing.T) {
	h := berthtest.New(t, &policy, &maintenance{}, map[string]any{"minPriority": 1000})
	calm := berthtest.Node("calm")
	busy := berthtest.Node("busy").Label("example.com/maintenance", "tonight")

	web := berthtest.Pod("default", "web")
	if got := h.Feasible(web, calm, busy); !slices.Equal(got, []string{"calm"}) {
		t.Errorf("web: want calm, got %v", got)
	}
	dns := berthtest.Pod("kube-system", "dns").Priority(2000)
	if got := h.Feasible(dns, calm, busy); len(got) != 2 {
		t.Errorf("dns: want both, got %v", got)
	}
}
