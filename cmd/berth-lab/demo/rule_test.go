// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hostpolicy "github.com/berth-scheduler/berth/host/policy"
)

func nodeIn(pool string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: pool + "-000", Labels: map[string]string{poolLabel: pool}}}
}

func TestAllows(t *testing.T) {
	asks := map[string]string{teamLabel: "team-a", overflowLabel: "true"}
	plain := map[string]string{teamLabel: "team-a"}
	tests := []struct {
		labels map[string]string
		pool   string
		one    bool
		two    bool
	}{
		{plain, "pool-a", true, false},
		{plain, "pool-b", false, true},
		{plain, "shared", false, false},
		{plain, "general", false, false},
		{asks, "pool-a", true, false},
		{asks, "shared", true, false},
		{asks, "reserve", false, true},
		{map[string]string{teamLabel: teamNowhere, overflowLabel: "true"}, "shared", false, false},
		{nil, "pool-a", false, false},
	}
	for _, test := range tests {
		node := nodeIn(test.pool)
		if one, two := ruleOne.allows(test.labels, node), ruleTwo.allows(test.labels, node); one != test.one || two != test.two {
			t.Errorf("%v in %s: got %t and %t, want %t and %t", test.labels, test.pool, one, two, test.one, test.two)
		}
	}
}

// The swap is measured by which rule a node tells.
func TestRulesShareNoNode(t *testing.T) {
	for _, team := range teams {
		for _, p := range pools {
			labels := map[string]string{teamLabel: team, overflowLabel: "true"}
			if node := nodeIn(p.name); ruleOne.allows(labels, node) && ruleTwo.allows(labels, node) {
				t.Errorf("%s may go to %s by both rules", team, p.name)
			}
		}
	}
}

// TestPolicyFiles reads the YAML files as the scheduler does and compares what
// they say with the demo's own table.
func TestPolicyFiles(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	configs := map[policyFile]map[string]any{}
	for _, f := range []policyFile{teamPoolsOne, teamPoolsTwo, costAware} {
		text, err := f.render(digest)
		if err != nil {
			t.Fatal(err)
		}
		p, err := hostpolicy.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", f.config, err)
		}
		if p.Digest != digest {
			t.Errorf("%s: got digest %q, want %q", f.config, p.Digest, digest)
		}
		configs[f] = p.Config
	}
	for f, r := range map[policyFile]rule{teamPoolsOne: ruleOne, teamPoolsTwo: ruleTwo} {
		owned := map[string]any{}
		for team, pool := range r.pools {
			owned[team] = []any{pool}
		}
		want := map[string]any{
			"teamLabel": teamLabel,
			"poolLabel": poolLabel,
			"pools":     owned,
			"overflow":  map[string]any{"pools": []any{r.overflow}, "allow": "OptIn", "label": overflowLabel},
			"unowned":   "Nobody",
		}
		if diff := cmp.Diff(want, configs[f]); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", f.config, diff)
		}
	}
}

func TestPools(t *testing.T) {
	names, n := map[string]bool{}, 0
	for _, p := range pools {
		for _, node := range p.build() {
			n++
			names[node.Name] = true
			if node.Labels[poolLabel] != p.name || node.Labels[priceLabel] == "" {
				t.Errorf("node %s: got labels %v", node.Name, node.Labels)
			}
		}
	}
	if n != 50 || len(names) != n {
		t.Errorf("got %d nodes with %d names, want 50", n, len(names))
	}
}

// Every mix of team, spot preference and overflow is among a part's pods.
func TestNewPodMix(t *testing.T) {
	mixes := map[string]int{}
	for i := range phasePods {
		labels := newPod(partOne, i, "berth", "1").Labels
		mixes[fmt.Sprint(labels[teamLabel], labels[spotLabel], labels[overflowLabel])]++
	}
	if want := len(teams) * 4; len(mixes) != want {
		t.Errorf("got %d mixes %v, want %d", len(mixes), mixes, want)
	}
}
