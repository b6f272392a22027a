// SPDX-License-Identifier: Apache-2.0

package demo

import (
	corev1 "k8s.io/api/core/v1"
)

// Labels that the policies' config names.
const (
	poolLabel     = "berth.dev/pool"
	priceLabel    = "berth.dev/price-per-hour"
	capacityLabel = "berth.dev/capacity"
	teamLabel     = "team"
	overflowLabel = "berth.dev/overflow"
	spotLabel     = "berth.dev/spot"
)

// rule is the demo's own idea of one version of team-pools: a team's pods go
// to its pool, those that ask for it also to the overflow pool.
type rule struct {
	name     string
	pools    map[string]string // by team
	overflow string
}

// The two rules allow no team the same node, so that where a pod went tells
// which version decided.
var (
	ruleOne = rule{
		name:     "phase 1",
		pools:    map[string]string{"team-a": "pool-a", "team-b": "pool-b", "team-c": "pool-c"},
		overflow: "shared",
	}
	ruleTwo = rule{
		name:     "phase 2",
		pools:    map[string]string{"team-a": "pool-b", "team-b": "pool-c", "team-c": "pool-a"},
		overflow: "reserve",
	}
)

// teams are those whose pods arrive in turn.
var teams = []string{"team-a", "team-b", "team-c"}

// teamNowhere has no pool in either rule.
const teamNowhere = "team-z"

// allows says whether the rule lets a pod with these labels run on the node.
func (r rule) allows(pod map[string]string, node *corev1.Node) bool {
	own, known := r.pools[pod[teamLabel]]
	at := node.Labels[poolLabel]
	return known && (at == own || at == r.overflow && pod[overflowLabel] == "true")
}

// want is what the rule allows a pod with these labels, in words.
func (r rule) want(pod map[string]string) string {
	own, known := r.pools[pod[teamLabel]]
	switch {
	case !known:
		return "no node"
	case pod[overflowLabel] == "true":
		return own + " or " + r.overflow
	}
	return own
}
