// SPDX-License-Identifier: Apache-2.0

//go:build !wasip1

package berth

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// contradiction says what in a policy its plugin can't use. It is found in the
// author's tests; in a module it would cost more than the harm that it does.
func (g *guest) contradiction() string {
	has := g.plugin.implements
	switch {
	case has(abi.PreBindPreFlight) && !has(abi.PreBind):
		return "want PreBind beside PreBindPreFlight, got none"
	case has(abi.NormalizePlacementScore) && !has(abi.ScorePlacement):
		return "want ScorePlacement beside NormalizePlacementScore, got none"
	case len(g.policy.Events) > 0 && !has(abi.QueueingHint):
		return "want QueueingHint where Policy.Events is set, got none"
	}
	for _, info := range abi.Intents() {
		points := info.Points
		if points == nil {
			points = abi.TakesIntents()
		}
		if slices.Contains(g.policy.Intents, Intent(info.Kind)) && !slices.ContainsFunc(points, has) {
			return "want a point at which the intent " + info.Kind + " may be asked for, got none"
		}
	}
	return ""
}
