// SPDX-License-Identifier: Apache-2.0

package berth

import "github.com/berth-scheduler/berth/abi"

// servedPoint is a point that the SDK has an interface for.
type servedPoint struct {
	point abi.Point
	name  string
}

// served are the points that every module has; the others are in families that
// berth build leaves out where nothing uses them.
var served = []servedPoint{
	{abi.PreFilter, "pre_filter"}, {abi.AddPod, "add_pod"}, {abi.RemovePod, "remove_pod"},
	{abi.Filter, "filter"}, {abi.PreScore, "pre_score"}, {abi.Score, "score"},
	{abi.NormalizeScore, "normalize_score"},
}

// allServed are the served points in the order in which the document names them.
func allServed() [6][]servedPoint {
	return [...][]servedPoint{queuePoints, served, preemptionPoints, groupPreemptionPoints, bindingPoints, placementPoints}
}

// pointName is the wire name of a point that the SDK serves.
func pointName(p abi.Point) string {
	for _, family := range allServed() {
		for i := range family {
			if family[i].point == p {
				return family[i].name
			}
		}
	}
	return "this call"
}

// implements says whether the plugin has a point.
func (pl *plugin) implements(p abi.Point) bool {
	switch p {
	case abi.PreFilter:
		return pl.preFilter != nil || pl.preFilterNodes != nil
	case abi.AddPod, abi.RemovePod:
		return pl.preFilterExt != nil
	case abi.Filter:
		return pl.filter != nil
	case abi.PreScore:
		return pl.preScore != nil || pl.preScoreNodes != nil
	case abi.Score:
		return pl.score != nil
	case abi.NormalizeScore:
		return pl.normalize != nil
	}
	return pl.queue.implements(p) || pl.preemption.implements(p) || pl.groupPreemption.implements(p) || pl.binding.implements(p) || pl.placement.implements(p)
}

// document is the describe document. (abi.Description would write it, too, at
// the cost of all that takes any tree.)
func (g *guest) document() []byte {
	p, pl := g.policy, &g.plugin
	normalize, version := p.Normalize, p.Version
	switch {
	case pl.normalize != nil:
		normalize = abi.NormalizeCustom
	case normalize == "":
		normalize = NormalizeNone
	}
	if BuildVersion != "" {
		version = BuildVersion
	}
	reads, intents := texts(p.Reads), texts(p.Intents)

	w := abi.NewValueWriter()
	o := newObject(w, abi.ValueRoot, 8+count(pl.config != nil, len(p.Aggregates) > 0, len(p.DataSets) > 0,
		len(p.Events) > 0, len(p.Intents) > 0, len(p.Resources) > 0))
	o.some("aggregates", p.Aggregates)
	o.strings("chunked", namesOf(func(p abi.Point) bool {
		return p == abi.PreFilter && pl.preFilterNodes != nil || p == abi.PreScore && pl.preScoreNodes != nil
	}))
	o.some("data_sets", p.DataSets)
	o.some("events", p.Events)
	o.some("intents", intents)
	w.Int(o.cell("minor"), minor)
	o.text("name", p.Name)
	o.text("normalize", string(normalize))
	o.strings("points", namesOf(pl.implements))
	w.Bool(o.cell("pure"), p.Pure)
	o.strings("reads", reads)
	if len(p.Resources) > 0 {
		writeResources(w, o.cell("resources"), p.Resources)
	}
	if pl.config != nil {
		(&schema{kind: "object", object: nonNil(pl.config.Config())}).write(w, o.cell("schema"), nil)
	}
	o.text("version", version)
	return w.Bytes()
}

// some writes a list of strings that may be left out.
func (o *object) some(key string, values []string) {
	if len(values) > 0 {
		o.strings(key, values)
	}
}

// texts are names of one kind as plain strings; nil for nil.
func texts[T ~string](names []T) (list []string) {
	for _, s := range names {
		list = append(list, string(s))
	}
	return list
}

func writeResources(w *abi.ValueWriter, cell int, list []Resource) {
	first := w.List(cell, len(list))
	for i, r := range list {
		o := newObject(w, first+i*abi.CellSize, 3)
		o.strings("fields", r.Fields)
		o.text("resource", r.Name)
		o.text("selector", r.Selector)
	}
}

// namesOf are the wire names of the served points that are some way.
func namesOf(are func(abi.Point) bool) (names []string) {
	for _, family := range allServed() {
		for i := range family {
			if are(family[i].point) {
				names = append(names, family[i].name)
			}
		}
	}
	return names
}

func nonNil(ps []Property) []Property {
	if ps == nil {
		return []Property{}
	}
	return ps
}

func count(are ...bool) (n int) {
	for _, is := range are {
		if is {
			n++
		}
	}
	return n
}

func (g *guest) describe(f frame) bool {
	f.payload(g.described)
	f.done(nil)
	return true
}
