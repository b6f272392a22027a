// SPDX-License-Identifier: Apache-2.0

// Command placer is a guest for tests: it proposes placements of pod groups by
// zone, ranks them by their free CPU, makes room for groups, and does what a
// group's label do says, good or bad.
package main

import (
	"slices"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
)

func main() {}

func init() {
	berth.Register(&berth.Policy{
		Name: "placer", Version: "1", Reads: []berth.Section{berth.NodeLabels, berth.NodeResources, berth.NodePods},
		Intents: []berth.Intent{berth.IntentEvict},
	}, &placer{})
}

type placer struct {
	most   bool
	reject bool
	zones  int64
	prefix string
	nodes  []string

	placements []berth.Placement
	free       int64
}

// Config implements berth.ConfigPlugin.
func (p *placer) Config() []berth.Property {
	return []berth.Property{
		berth.Bind("most", &p.most, berth.Bool()).Doc("prefer the placement with the most free CPU to that with the least"),
		berth.Bind("reject", &p.reject, berth.Bool()).Doc("reject pods in Filter"),
		berth.Bind("zones", &p.zones, berth.Int()).Doc("how many placements Filter wants its pod's group to have"),
		berth.Bind("nodes", &p.nodes, berth.ListOf(berth.String())).Doc("where PodGroupPostFilter evicts pods"),
		berth.Bind("prefix", &p.prefix, berth.String()).Doc("of the placements' names"),
	}
}

// zones is the state of a group.
type zones struct{ n int }

func (z *zones) Clone() berth.State { return &zones{z.n} }

var zoneLabel = berth.NewSymbol("topology.kubernetes.io/zone")

var rejected = berth.Unschedulable("told to reject")

// GeneratePlacementsBegin implements berth.PlacementGeneratePlugin.
func (p *placer) GeneratePlacementsBegin(_ *berth.Cycle, group berth.Group) *berth.Status {
	p.placements = nil
	switch group.Label("do") {
	case "skip":
		return berth.Skip()
	case "reject":
		return rejected
	case "error":
		return berth.Error("told to fail")
	case "panic":
		panic("told to panic")
	}
	return nil
}

// GeneratePlacementsNode implements berth.PlacementGeneratePlugin.
func (p *placer) GeneratePlacementsNode(_ *berth.Cycle, _ berth.Group, node berth.Node) *berth.Status {
	zone, ok := node.Label(zoneLabel)
	if !ok {
		return nil
	}
	name := p.prefix + zone
	i := slices.IndexFunc(p.placements, func(x berth.Placement) bool { return x.Name == name })
	if i < 0 {
		i = len(p.placements)
		p.placements = append(p.placements, berth.Placement{Name: name})
	}
	p.placements[i].Nodes = append(p.placements[i].Nodes, string([]byte(node.Name())))
	return nil
}

// GeneratePlacementsEnd implements berth.PlacementGeneratePlugin.
func (p *placer) GeneratePlacementsEnd(c *berth.Cycle, group berth.Group) ([]berth.Placement, *berth.Status) {
	c.SetState(&zones{len(p.placements)})
	if len(p.placements) == 0 {
		return nil, nil
	}
	first := &p.placements[0]
	switch group.Label("do") {
	case "none":
		return nil, nil
	case "unknown node":
		first.Nodes = append(first.Nodes, "nowhere")
	case "node twice":
		first.Nodes = append(first.Nodes, first.Nodes[0])
	case "name twice":
		return append(p.placements, *first), nil
	case "no name":
		first.Name = ""
	case "no nodes":
		first.Nodes = nil
	}
	return p.placements, nil
}

// ScorePlacementBegin implements berth.PlacementScorePlugin.
func (p *placer) ScorePlacementBegin(c *berth.Cycle, group berth.Group, trial berth.PlacementTrial) *berth.Status {
	p.free = 0
	switch do := group.Label("do"); {
	case do == "panic in score":
		panic("told to panic")
	case do == "error in score":
		return berth.Error("told to fail")
	case do == "panic for b" && trial.Placement() == "b":
		panic("told to panic")
	case do == "state":
		z, s := berth.StateOf[*zones](c)
		if s != nil {
			return s
		}
		p.free = int64(z.n) * 1000
		c.SetState(&zones{z.n + 10}) // of this placement alone
	}
	return nil
}

// ScorePlacementNode implements berth.PlacementScorePlugin.
func (p *placer) ScorePlacementNode(_ *berth.Cycle, group berth.Group, _ berth.PlacementTrial, node berth.Node) *berth.Status {
	if group.Label("do") != "state" {
		p.free += node.Resource(berth.CPU).Free()
	}
	return nil
}

// ScorePlacementEnd implements berth.PlacementScorePlugin.
func (p *placer) ScorePlacementEnd(*berth.Cycle, berth.Group, berth.PlacementTrial) (int64, *berth.Status) {
	return p.free, nil
}

// NormalizePlacementScore implements berth.NormalizePlacementScorePlugin.
func (p *placer) NormalizePlacementScore(c *berth.Cycle, group berth.Group, scores []int64) *berth.Status {
	highest := slices.Max(scores)
	for i := range scores {
		scores[i] = scores[i] * 100 / max(highest, 1)
		if !p.most {
			scores[i] = 100 - scores[i]
		}
	}
	switch group.Label("do") {
	case "high":
		scores[len(scores)-1] = 101
	case "negative":
		scores[0] = -1
	case "panic in normalize":
		panic("told to panic")
	case "error in normalize":
		return berth.Error("told to fail")
	case "state":
		z, s := berth.StateOf[*zones](c)
		if s != nil {
			return s
		}
		for i := range scores {
			scores[i] = int64(z.n)
		}
	}
	return nil
}

// Filter implements berth.FilterPlugin.
func (p *placer) Filter(c *berth.Cycle, _ berth.Pod, _ berth.Node) *berth.Status {
	switch {
	case p.reject:
		return rejected
	case p.zones > 0:
		z, s := berth.GroupStateOf[*zones](c)
		if s != nil {
			return s
		}
		if int64(z.n) != p.zones {
			return berth.Error("want the state of the pod's own group")
		}
	}
	return nil
}
