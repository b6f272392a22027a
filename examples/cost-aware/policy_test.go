// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
)

func node(name, price string, spot bool) *berthtest.NodeBuilder {
	n := berthtest.Node(name).Label("berth.dev/capacity", "on-demand")
	if price != "" {
		n.Label("berth.dev/price-per-hour", price)
	}
	if spot {
		n.Label("berth.dev/capacity", "spot")
	}
	return n
}

func pod(spot string) *berthtest.PodBuilder {
	p := berthtest.Pod("default", "web")
	if spot != "" {
		p.Label("berth.dev/spot", spot)
	}
	return p
}

func TestNormalizedScore(t *testing.T) {
	nodes := []*berthtest.NodeBuilder{
		node("cheap", "0.10", false), node("twice", "0.2", false), node("spot", "0.1", true),
		node("unpriced", "", false), node("broken", "0,10", false), node("dear", "10", false),
	}
	tests := []struct {
		name   string
		config map[string]any
		pod    *berthtest.PodBuilder
		want   []int64
	}{
		{"no preference", nil, pod(""), []int64{100, 50, 100, 0, 0, 1}},
		{"another value", nil, pod("maybe"), []int64{100, 50, 100, 0, 0, 1}},
		{"prefers spot", nil, pod("prefer"), []int64{50, 25, 100, 0, 0, 0}},
		{"avoids spot", nil, pod("avoid"), []int64{100, 50, 20, 0, 0, 1}},
		{"small bonus", map[string]any{"spotBonus": 20}, pod("prefer"), []int64{80, 40, 100, 0, 0, 0}},
		{"free", map[string]any{"spotBonus": 100}, pod("prefer"), []int64{0, 0, 100, 0, 0, 0}},
		{"no penalty", map[string]any{"spotPenalty": 0}, pod("avoid"), []int64{100, 50, 100, 0, 0, 1}},
		{"preference by default", map[string]any{"spotDefault": "prefer"}, pod(""), []int64{50, 25, 100, 0, 0, 0}},
		{"the label wins", map[string]any{"spotDefault": "prefer"}, pod("avoid"), []int64{100, 50, 20, 0, 0, 1}},
		{"default price", map[string]any{"defaultPrice": "0.4"}, pod(""), []int64{100, 50, 100, 25, 25, 1}},
		{"other labels", map[string]any{"capacityLabel": "c", "spotLabel": "s"}, pod("avoid"), []int64{100, 50, 100, 0, 0, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := berthtest.New(t, &policy, &costAware{}, tt.config)
			if diff := cmp.Diff(tt.want, h.NormalizeScore(tt.pod, nodes...)); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

func TestNothingPriced(t *testing.T) {
	h := berthtest.New(t, &policy, &costAware{}, nil)
	if got := h.NormalizeScore(pod(""), node("a", "", false), node("b", "x", true)); !cmp.Equal(got, []int64{0, 0}) {
		t.Errorf("want zeros, got %v", got)
	}
	if got := h.NormalizeScore(pod(""), node("a", "0", false), node("b", "0.000001", true)); !cmp.Equal(got, []int64{100, 100}) {
		t.Errorf("free nodes: want 100 each, got %v", got)
	}
}

func TestHighestPrices(t *testing.T) {
	h := berthtest.New(t, &policy, &costAware{}, map[string]any{"spotPenalty": 10_000})
	got := h.NormalizeScore(pod("avoid"), node("a", "100000000", true), node("b", "100000000", false))
	if !cmp.Equal(got, []int64{0, 100}) {
		t.Errorf("want the penalty to count and nothing to overflow, got %v", got)
	}
}

func TestConfigErrors(t *testing.T) {
	for want, config := range map[string]map[string]any{
		"config.defaultPrice: want a decimal number": {"defaultPrice": "1e3"},
		"config.spotBonus: want 0 to 100, got 101":   {"spotBonus": 101},
		"config.spotDefault: want one of":            {"spotDefault": "always"},
	} {
		err := berthtest.TryConfig(t, &policy, &costAware{}, config)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	h := berthtest.New(t, &policy, &costAware{}, nil)
	if n := h.Cycle(pod("prefer")).ScoreAllocs(node("a", "0.123456789", true), node("b", "1.5", false)); n != 0 {
		t.Errorf("want none, got %v", n)
	}
}

// The README has a row for each property.
func TestREADME(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	schema := berthtest.New(t, &policy, &costAware{}, nil).Schema().(map[string]any)
	for name := range schema["properties"].(map[string]any) {
		if !strings.Contains(string(text), "| `"+name) {
			t.Errorf("property %q: want a row in README.md, got none", name)
		}
	}
}
