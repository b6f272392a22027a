// SPDX-License-Identifier: Apache-2.0

package berth

import "iter"

// PlacementGeneratePlugin proposes where a pod group may go: sets of nodes, each
// of which is then tried. It sees every node, in any number of calls.
type PlacementGeneratePlugin interface {
	// GeneratePlacementsBegin is called before the first node. Skip leaves the
	// group to the next policy, and to the scheduler's own plugin; Unschedulable,
	// here and later, turns it down.
	GeneratePlacementsBegin(c *Cycle, group Group) *Status
	// GeneratePlacementsNode is called for each node. Any status but Success ends
	// the attempt.
	GeneratePlacementsNode(c *Cycle, group Group, node Node) *Status
	// GeneratePlacementsEnd returns the sets, each with a name of its own.
	GeneratePlacementsEnd(c *Cycle, group Group) ([]Placement, *Status)
}

// Placement is a set of nodes that a pod group may go to.
type Placement struct {
	Name  string
	Nodes []string
}

// PlacementScorePlugin ranks placements.
type PlacementScorePlugin interface {
	// ScorePlacementBegin is called before the placement's first node.
	ScorePlacementBegin(c *Cycle, group Group, trial PlacementTrial) *Status
	// ScorePlacementNode is called for each node of the placement. Any status but
	// Success ends the attempt.
	ScorePlacementNode(c *Cycle, group Group, trial PlacementTrial, node Node) *Status
	// ScorePlacementEnd returns the score: any number if NormalizePlacementScore
	// maps it, else 0 to 100.
	ScorePlacementEnd(c *Cycle, group Group, trial PlacementTrial) (int64, *Status)
}

// PlacementTrial is a placement in which the group's pods found nodes.
type PlacementTrial struct{ arg Object }

// Placement is the placement's name.
func (t PlacementTrial) Placement() string { return t.arg.Get("placement").Text() }

// Assignments ranges over the pods, by UID, and the nodes that they found.
func (t PlacementTrial) Assignments() iter.Seq2[string, string] {
	return func(yield func(uid, node string) bool) {
		for o := range t.arg.Get("assignments").All() {
			if !yield(o.Get("uid").Text(), o.Get("node").Text()) {
				return
			}
		}
	}
}

// NormalizePlacementScorePlugin maps raw scores of placements to 0..100.
type NormalizePlacementScorePlugin interface {
	// NormalizePlacementScore changes the scores in place, one a placement.
	NormalizePlacementScore(c *Cycle, group Group, scores []int64) *Status
}
