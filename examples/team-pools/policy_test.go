// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
)

// config is a config of two teams with a pool each, one that they share, one
// that blue lends out, and one for bursts.
func config(overflow map[string]any, more ...any) map[string]any {
	c := map[string]any{
		"teamLabel":  "team",
		"poolLabel":  "pool",
		"namespaces": map[string]any{"checkout": "red"},
		"pools":      map[string]any{"red": []any{"red", "shared"}, "blue": []any{"blue", "shared", "lent"}},
	}
	if overflow != nil {
		overflow["pools"] = []any{"burst", "lent"}
		c["overflow"] = overflow
	}
	for i := 0; i < len(more); i += 2 {
		c[more[i].(string)] = more[i+1]
	}
	return c
}

var (
	red       = berthtest.Pod("default", "red").Label("team", "red")
	blue      = berthtest.Pod("default", "blue").Label("team", "blue")
	green     = berthtest.Pod("default", "green").Label("team", "green") // owns nothing
	checkout  = berthtest.Pod("checkout", "web")
	imposter  = berthtest.Pod("checkout", "imposter").Label("team", "blue")
	system    = berthtest.Pod("kube-system", "dns")
	urgent    = red.Copy("urgent").Priority(1000)
	usual     = red.Copy("usual").Priority(999)
	asking    = red.Copy("asking").Label("berth.dev/overflow", "true")
	notAsking = red.Copy("not-asking").Label("berth.dev/overflow", "no")
)

func nodes() []*berthtest.NodeBuilder {
	var all []*berthtest.NodeBuilder
	for _, pool := range []string{"red", "blue", "shared", "lent", "burst", "other"} {
		all = append(all, berthtest.Node(pool).Label("pool", pool))
	}
	return append(all, berthtest.Node("none"))
}

func TestFilter(t *testing.T) {
	always := map[string]any{"allow": "Always"}
	atLeast := map[string]any{"allow": "PriorityAtLeast", "priority": 1000}
	optIn := map[string]any{"allow": "OptIn"}
	tests := []struct {
		name   string
		config map[string]any
		pod    *berthtest.PodBuilder
		want   []string
	}{
		{"own pools", config(nil), red, []string{"red", "shared"}},
		{"the other team's", config(nil), blue, []string{"blue", "shared", "lent"}},
		{"by namespace", config(nil), checkout, []string{"red", "shared"}},
		{"the label wins over the namespace", config(nil), imposter, []string{"blue", "shared", "lent"}},
		{"unless there is no team label", config(nil, "teamLabel", ""), imposter, []string{"red", "shared"}},
		{"a team without pools", config(always), green, nil},
		{"no team", config(always), system, []string{"other", "none"}},
		{"overflow is never the default", config(map[string]any{}), red, []string{"red", "shared"}},
		{"overflow always", config(always), red, []string{"red", "shared", "lent", "burst"}},
		{"an owner needs no leave", config(map[string]any{"allow": "Never"}), blue, []string{"blue", "shared", "lent"}},
		{"overflow by priority", config(atLeast), urgent, []string{"red", "shared", "lent", "burst"}},
		{"too low a priority", config(atLeast), usual, []string{"red", "shared"}},
		{"overflow by label", config(optIn), asking, []string{"red", "shared", "lent", "burst"}},
		{"another value", config(optIn), notAsking, []string{"red", "shared"}},
		{"no label", config(optIn), red, []string{"red", "shared"}},
		{"another label", config(map[string]any{"allow": "OptIn", "label": "team"}), asking, []string{"red", "shared"}},
		{"unowned nodes for everyone", config(nil, "unowned", "Everyone"), red, []string{"red", "shared", "burst", "other", "none"}},
		{"and for nobody", config(nil, "unowned", "Nobody"), system, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := berthtest.New(t, &policy, &teamPools{}, tt.config)
			if diff := cmp.Diff(tt.want, h.Feasible(tt.pod, nodes()...)); diff != "" {
				t.Errorf("feasible nodes: want (-), got (+):\n%s", diff)
			}
		})
	}
}

func TestReasons(t *testing.T) {
	tests := []struct {
		allow string
		pod   *berthtest.PodBuilder
		node  string
		want  string
	}{
		{"Always", red, "blue", "the node's pool belongs to another team"},
		{"Always", green, "burst", "the pod may not use overflow pools"},
		{"Always", system, "red", "the node's pool belongs to a team, the pod doesn't"},
		{"Always", red, "none", "the node is in no team's pool"},
		{"Never", red, "burst", "the pod may not use overflow pools"},
		{"PriorityAtLeast", usual, "burst", "the pod's priority is too low for overflow pools"},
		{"OptIn", red, "lent", "the pod doesn't ask for overflow pools"},
	}
	for _, tt := range tests {
		h := berthtest.New(t, &policy, &teamPools{}, config(map[string]any{"allow": tt.allow, "priority": 1000}))
		node := berthtest.Node(tt.node)
		if tt.node != "none" {
			node.Label("pool", tt.node)
		}
		want := []berthtest.Verdict{{Code: berthtest.UnschedulableAndUnresolvable, Reason: tt.want}}
		if diff := cmp.Diff(want, h.Filter(tt.pod, node)); diff != "" {
			t.Errorf("%s on %s: want (-), got (+):\n%s", tt.allow, tt.node, diff)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	tests := []struct {
		name   string
		config map[string]any
		want   string
	}{
		{"no pools", map[string]any{}, "config.pools: is required"},
		{"no name", config(nil, "pools", map[string]any{"": []any{"red"}}), "config.pools: want names of teams"},
		{"unknown team", config(nil, "namespaces", map[string]any{"ns": "gren"}), `config.namespaces.ns: want a team of config.pools, got "gren"`},
		{"no pool label", config(nil, "poolLabel", ""), "config.poolLabel: want a label key"},
		{"unknown rule", config(map[string]any{"allow": "Sometimes"}), "config.overflow.allow: want one of"},
		{"overflow without pools", config(nil, "overflow", map[string]any{"allow": "Always"}), "config.overflow.pools: is required"},
		{"typo", config(nil, "overflw", map[string]any{}), "config.overflw: is unknown"},
	}
	for _, tt := range tests {
		err := berthtest.TryConfig(t, &policy, &teamPools{}, tt.config)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: want %q, got %v", tt.name, tt.want, err)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	h := berthtest.New(t, &policy, &teamPools{}, config(map[string]any{"allow": "OptIn"}))
	if n := h.Cycle(red).FilterAllocs(nodes()...); n != 0 {
		t.Errorf("want none, got %v", n)
	}
}

// The README has a row for each property.
func TestREADME(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	schema := berthtest.New(t, &policy, &teamPools{}, config(nil)).Schema().(map[string]any)
	for name := range schema["properties"].(map[string]any) {
		if !strings.Contains(string(text), "| `"+name) {
			t.Errorf("property %q: want a row in README.md, got none", name)
		}
	}
}
