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
	spotLabel     = "berth.dev/spot"
)

// rule is the demo's own idea of one version of team-pools: a team's pods go
// to its pool or to the overflow pool.
type rule struct {
	name     string
	pools    map[string]string // by team
	overflow string
}

// The two rules allow no team the same node, so that where a pod went tells
// which version decided. teamNowhere is given a pool without nodes and may not
// overflow.
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

// allows says whether the rule lets a pod of the team run on the node.
func (r rule) allows(team string, node *corev1.Node) bool {
	pool, known := r.pools[team]
	if !known {
		return false
	}
	at := node.Labels[poolLabel]
	return at == pool || at == r.overflow
}
