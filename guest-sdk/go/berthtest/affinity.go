// SPDX-License-Identifier: Apache-2.0

package berthtest

import (
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// Expression is a condition on labels.
type Expression struct {
	key, op string
	values  []string
}

// Match returns a condition: op is In, NotIn, Exists, DoesNotExist, Gt or Lt.
func Match(key, op string, values ...string) Expression { return Expression{key, op, values} }

type nodeTerm struct {
	required bool
	weight   int32
	labels   []Expression
	names    []string
}

type podTerm struct {
	flags    uint32
	weight   int32
	topology string
	selector map[string]string
}

type spread struct {
	skew     int32
	topology string
	when     uint32
	selector map[string]string
}

// RequireNode adds a required term of node affinity; terms are or-ed, the
// expressions of one are and-ed.
func (p *PodBuilder) RequireNode(all ...Expression) *PodBuilder {
	p.nodeTerms = append(p.nodeTerms, nodeTerm{required: true, labels: all})
	return p
}

// RequireNodeName adds a required term of node affinity: one of the names.
func (p *PodBuilder) RequireNodeName(names ...string) *PodBuilder {
	p.nodeTerms = append(p.nodeTerms, nodeTerm{required: true, names: names})
	return p
}

// PreferNode adds a preferred term of node affinity.
func (p *PodBuilder) PreferNode(weight int32, all ...Expression) *PodBuilder {
	p.nodeTerms = append(p.nodeTerms, nodeTerm{weight: weight, labels: all})
	return p
}

// RequirePods adds a required term of affinity to pods of these labels.
func (p *PodBuilder) RequirePods(topologyKey string, labels map[string]string) *PodBuilder {
	p.podTerms = append(p.podTerms, podTerm{abi.PodTermRequired, 0, topologyKey, labels})
	return p
}

// AvoidPods adds a required term of anti-affinity to pods of these labels.
func (p *PodBuilder) AvoidPods(topologyKey string, labels map[string]string) *PodBuilder {
	p.podTerms = append(p.podTerms, podTerm{abi.PodTermRequired | abi.PodTermAnti, 0, topologyKey, labels})
	return p
}

// Spread adds a topology spread constraint; when is DoNotSchedule or
// ScheduleAnyway.
func (p *PodBuilder) Spread(maxSkew int32, topologyKey, when string, labels map[string]string) *PodBuilder {
	words := map[string]uint32{"DoNotSchedule": abi.SpreadDoNotSchedule, "ScheduleAnyway": abi.SpreadScheduleAnyway}
	p.spread = append(p.spread, spread{maxSkew, topologyKey, known("whenUnsatisfiable", words, when), labels})
	return p
}

func (r *record) requirement(at uint32, e Expression) {
	r.id(at+abi.RequirementKey, e.key)
	r.u32(at+abi.RequirementOp, known("operator", operators, e.op))
	r.ids(at+abi.RequirementValues, e.values)
}

// selector writes a label selector of equal labels.
func (r *record) selector(at uint32, labels map[string]string) {
	if labels == nil {
		return
	}
	var all []Expression
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, Match(k, "In", labels[k]))
	}
	r.u32(at+abi.SelectorKind, abi.SelectorSet)
	inline(r, at+abi.SelectorRequirements, abi.RequirementSize, all, r.requirement)
}

func (r *record) nodeTerm(at uint32, t nodeTerm) {
	r.flag(at+abi.NodeTermRequired, t.required)
	r.u32(at+abi.NodeTermWeight, uint32(t.weight))
	inline(r, at+abi.NodeTermLabels, abi.RequirementSize, t.labels, r.requirement)
	var fields [][]string
	if t.names != nil {
		fields = append(fields, t.names)
	}
	inline(r, at+abi.NodeTermFields, abi.FieldRequirementSize, fields, func(at uint32, names []string) {
		r.id(at+abi.FieldRequirementKey, "metadata.name")
		r.u32(at+abi.FieldRequirementOp, abi.OpIn)
		inline(r, at+abi.FieldRequirementValues, abi.TextSize, names, r.str)
	})
}

// affinity writes the pod's sections of affinity and spreading.
func (p *PodBuilder) affinity(r *record) {
	terms := slices.Clone(p.nodeTerms)
	slices.SortStableFunc(terms, func(a, b nodeTerm) int {
		switch {
		case a.required == b.required:
			return 0
		case a.required:
			return -1
		}
		return 1
	})
	list(r, abi.PodNodeAffinity, abi.NodeTermSize, terms, r.nodeTerm)
	list(r, abi.PodPodAffinity, abi.PodTermSize, p.podTerms, func(at uint32, t podTerm) { r.podTerm(at, p, t, 0) })
	list(r, abi.PodSpread, abi.SpreadSize, p.spread, func(at uint32, s spread) {
		r.u32(at+abi.SpreadMaxSkew, uint32(s.skew))
		r.id(at+abi.SpreadTopologyKey, s.topology)
		r.u32(at+abi.SpreadWhen, s.when)
		r.u32(at+abi.SpreadMinDomains, 1)
		r.u32(at+abi.SpreadAffinityPolicy, abi.SpreadHonor)
		r.selector(at+abi.SpreadSelector, s.selector)
	})
}

// podTerm writes a term of the pod at a place of its node.
func (r *record) podTerm(at uint32, p *PodBuilder, t podTerm, place int) {
	r.u32(at+abi.PodTermFlags, t.flags)
	r.u32(at+abi.PodTermWeight, uint32(t.weight))
	r.id(at+abi.PodTermTopologyKey, t.topology)
	r.u32(at+abi.PodTermPod, uint32(place))
	r.selector(at+abi.PodTermSelector, t.selector)
	r.ids(at+abi.PodTermNamespaces, []string{p.namespace})
}
