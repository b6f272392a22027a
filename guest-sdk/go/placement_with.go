// SPDX-License-Identifier: Apache-2.0

//go:build !berth_without_placement

package berth

import "github.com/berth-scheduler/berth/abi"

// placementPlugin is what a plugin implements of the points about placements of
// pod groups.
type placementPlugin struct {
	_ [0]func() // not compared: saves code

	generate  PlacementGeneratePlugin
	score     PlacementScorePlugin
	normalize NormalizePlacementScorePlugin

	arg Object // of begin
}

var placementPoints = []servedPoint{
	{abi.GeneratePlacements, "generate_placements"}, {abi.ScorePlacement, "score_placement"},
	{abi.NormalizePlacementScore, "normalize_placement_score"},
}

func (p *placementPlugin) find(impl any) {
	p.generate, _ = impl.(PlacementGeneratePlugin)
	p.score, _ = impl.(PlacementScorePlugin)
	p.normalize, _ = impl.(NormalizePlacementScorePlugin)
}

func (p *placementPlugin) implements(point abi.Point) bool {
	switch point {
	case abi.GeneratePlacements:
		return p.generate != nil
	case abi.ScorePlacement:
		return p.score != nil
	case abi.NormalizePlacementScore:
		return p.normalize != nil
	}
	return false
}

func (g *guest) answerPlacement(f frame) bool {
	p := &g.plugin.placement
	if !p.implements(f.point()) {
		return false
	}
	switch f.point() {
	case abi.GeneratePlacements:
		return g.generatePlacements(f, f.phase())
	case abi.ScorePlacement:
		return g.scorePlacement(f, f.phase())
	}
	if f.phase() != abi.Whole {
		return false
	}
	arg := f.argument()
	list := arg.Get("scores")
	scores := make([]int64, list.Len())
	for i := range scores {
		scores[i] = list.At(i).Int()
	}
	s := p.normalize.NormalizePlacementScore(&g.cycle, Group{arg}, scores)
	g.cycle.answer("scores", func(w *abi.ValueWriter, cell int) {
		first := w.List(cell, len(scores))
		for i, v := range scores {
			w.Int(first+i*abi.CellSize, v)
		}
	})
	f.done(s)
	return true
}

func (g *guest) generatePlacements(f frame, phase abi.Phase) bool {
	p, c := &g.plugin.placement, &g.cycle
	var s *Status
	switch phase {
	case abi.Begin:
		p.arg = f.kept()
		s = p.generate.GeneratePlacementsBegin(c, Group{p.arg})
	case abi.Chunk:
		for i := range f.nodes() {
			if s = p.generate.GeneratePlacementsNode(c, Group{p.arg}, f.node(i)); !s.IsSuccess() {
				break
			}
		}
	case abi.End:
		var placements []Placement
		placements, s = p.generate.GeneratePlacementsEnd(c, Group{p.arg})
		c.answer("placements", func(w *abi.ValueWriter, cell int) {
			first := w.List(cell, len(placements))
			for i, pl := range placements {
				o := newObject(w, first+i*abi.CellSize, 2)
				o.text("name", pl.Name)
				o.strings("nodes", pl.Nodes)
			}
		})
	default:
		return false
	}
	f.state(c.handle)
	f.done(s)
	return true
}

func (g *guest) scorePlacement(f frame, phase abi.Phase) bool {
	p, c := &g.plugin.placement, &g.cycle
	var s *Status
	switch phase {
	case abi.Begin:
		p.arg = f.kept()
		s = p.score.ScorePlacementBegin(c, Group{p.arg}, PlacementTrial{p.arg})
	case abi.Chunk:
		for i := range f.nodes() {
			if s = p.score.ScorePlacementNode(c, Group{p.arg}, PlacementTrial{p.arg}, f.node(i)); !s.IsSuccess() {
				break
			}
		}
	case abi.End:
		var score int64
		score, s = p.score.ScorePlacementEnd(c, Group{p.arg}, PlacementTrial{p.arg})
		c.answer("score", func(w *abi.ValueWriter, cell int) { w.Int(cell, score) })
	default:
		return false
	}
	f.state(c.handle)
	f.done(s)
	return true
}
