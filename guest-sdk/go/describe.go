// SPDX-License-Identifier: Apache-2.0

package berth

import "github.com/berth-scheduler/berth/abi"

// served are the points that the SDK has interfaces for, in the order in which
// the document names them.
var served = []struct {
	point abi.Point
	name  string
}{
	{abi.PreFilter, "pre_filter"}, {abi.AddPod, "add_pod"}, {abi.RemovePod, "remove_pod"},
	{abi.Filter, "filter"}, {abi.PreScore, "pre_score"}, {abi.Score, "score"},
	{abi.NormalizeScore, "normalize_score"},
}

// pointName is the wire name of a point that the SDK serves.
func pointName(p abi.Point) string {
	for i := range served {
		if served[i].point == p {
			return served[i].name
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
	return false
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
	reads := make([]string, len(p.Reads))
	for i, s := range p.Reads {
		reads[i] = string(s)
	}

	w := abi.NewValueWriter()
	o := newObject(w, abi.ValueRoot, 8+count(pl.config != nil))
	o.strings("chunked", namesOf(func(p abi.Point) bool {
		return p == abi.PreFilter && pl.preFilterNodes != nil || p == abi.PreScore && pl.preScoreNodes != nil
	}))
	w.Int(o.cell("minor"), minor)
	o.text("name", p.Name)
	o.text("normalize", string(normalize))
	o.strings("points", namesOf(pl.implements))
	w.Bool(o.cell("pure"), p.Pure)
	o.strings("reads", reads)
	if pl.config != nil {
		(&schema{kind: "object", object: nonNil(pl.config.Config())}).write(w, o.cell("schema"), nil)
	}
	o.text("version", version)
	return w.Bytes()
}

// namesOf are the wire names of the served points that are some way.
func namesOf(are func(abi.Point) bool) (names []string) {
	for i := range served {
		if are(served[i].point) {
			names = append(names, served[i].name)
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
