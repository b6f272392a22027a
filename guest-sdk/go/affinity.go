// SPDX-License-Identifier: Apache-2.0

package berth

import "github.com/berth-scheduler/berth/abi"

// Requirement is a condition on labels.
type Requirement item

// Key is the label's key.
func (r Requirement) Key() ID { return item(r).id(abi.RequirementKey) }

// Operator is In, NotIn, Exists, DoesNotExist, Gt or Lt.
func (r Requirement) Operator() Operator { return Operator(item(r).u32(abi.RequirementOp)) }

// Values are what the label's value is compared with.
func (r Requirement) Values() IDs { return item(r).ids(abi.RequirementValues) }

// Matches says whether labels meet the requirement.
func (r Requirement) Matches(l Labels) bool {
	v, ok := l.lookup(r.Key())
	switch r.Operator() {
	case In:
		return ok && r.Values().Contains(v)
	case NotIn:
		return !ok || !r.Values().Contains(v)
	case Exists:
		return ok
	case DoesNotExist:
		return !ok
	case Gt:
		return ok && r.Values().Len() == 1 && compare(v, r.Values().At(0)) > 0
	case Lt:
		return ok && r.Values().Len() == 1 && compare(v, r.Values().At(0)) < 0
	}
	return false
}

func allMatch(rs List[Requirement], l Labels) bool {
	for i := range rs.len {
		if !rs.at(i).Matches(l) {
			return false
		}
	}
	return true
}

// FieldRequirement is a condition on a node's name.
type FieldRequirement item

// Key is metadata.name.
func (r FieldRequirement) Key() ID { return item(r).id(abi.FieldRequirementKey) }

// Operator is In or NotIn.
func (r FieldRequirement) Operator() Operator { return Operator(item(r).u32(abi.FieldRequirementOp)) }

// Names are what the name is compared with.
func (r FieldRequirement) Names() List[Text] {
	return inline[Text](item(r), abi.FieldRequirementValues, abi.TextSize)
}

// Matches says whether a node's name meets the requirement.
func (r FieldRequirement) Matches(n Node) bool {
	name, names, found := n.Name(), r.Names(), false
	for i := range names.len {
		found = found || names.at(i).String() == name
	}
	switch r.Operator() {
	case In:
		return found
	case NotIn:
		return !found
	}
	return false
}

// Text is a string in a list.
type Text item

// String is the text.
func (t Text) String() string { return item(t).str(0) }

// Selector is a label selector.
type Selector struct {
	set          bool
	requirements List[Requirement]
}

func selector(i item, off uintptr) Selector {
	return Selector{
		i.u32(off+abi.SelectorKind) == abi.SelectorSet,
		inline[Requirement](i, off+abi.SelectorRequirements, abi.RequirementSize),
	}
}

// IsSet says whether there is a selector: one that isn't set matches nothing,
// one without requirements everything.
func (s Selector) IsSet() bool { return s.set }

// Requirements are what all must be met.
func (s Selector) Requirements() List[Requirement] { return s.requirements }

// Matches says whether the selector selects labels.
func (s Selector) Matches(l Labels) bool { return s.set && allMatch(s.requirements, l) }

// MatchesMap says whether the selector selects labels that are no view's, as
// those of an object that was read.
func (s Selector) MatchesMap(labels map[string]string) bool {
	for i := range s.requirements.len {
		if !s.requirements.at(i).MatchesMap(labels) {
			return false
		}
	}
	return s.set
}

// MatchesMap says whether labels that are no view's meet the requirement, one of
// a label selector: In, NotIn, Exists or DoesNotExist.
func (r Requirement) MatchesMap(labels map[string]string) bool {
	v, ok := labels[r.Key().String()]
	found, values := false, r.Values()
	for i := range values.Len() {
		found = found || values.At(i).String() == v
	}
	switch r.Operator() {
	case In:
		return ok && found
	case NotIn:
		return !ok || !found
	case Exists:
		return ok
	case DoesNotExist:
		return !ok
	}
	return false
}

// NodeTerm is a term of a pod's affinity to nodes.
type NodeTerm item

// Required says whether a node has to match one of the required terms.
func (t NodeTerm) Required() bool { return item(t).u32(abi.NodeTermRequired) != 0 }

// Weight is 1 to 100 for a preferred term.
func (t NodeTerm) Weight() int32 { return item(t).i32(abi.NodeTermWeight) }

// Labels are the term's conditions on the node's labels.
func (t NodeTerm) Labels() List[Requirement] {
	return inline[Requirement](item(t), abi.NodeTermLabels, abi.RequirementSize)
}

// Fields are the term's conditions on the node's name.
func (t NodeTerm) Fields() List[FieldRequirement] {
	return inline[FieldRequirement](item(t), abi.NodeTermFields, abi.FieldRequirementSize)
}

// Matches says whether a node meets the term; a term without conditions is met
// by none. It reads NodeLabels.
func (t NodeTerm) Matches(n Node) bool {
	labels, fields := t.Labels(), t.Fields()
	if labels.len+fields.len == 0 || !allMatch(labels, n.Labels()) {
		return false
	}
	for i := range fields.len {
		if !fields.at(i).Matches(n) {
			return false
		}
	}
	return true
}

// Selects says whether the pod's node selector and required node affinity allow
// a node, as the scheduler's own plugin does. It reads PodNodeSelector,
// PodNodeAffinity and NodeLabels.
func (p Pod) Selects(n Node) bool {
	labels, want := n.Labels(), p.NodeSelector()
	for i := range want.len {
		if v, ok := labels.lookup(want.at(i).Key()); !ok || v != want.at(i).Value() {
			return false
		}
	}
	terms, required := p.NodeAffinity(), false
	for i := range terms.len {
		if t := terms.at(i); t.Required() {
			if t.Matches(n) {
				return true
			}
			required = true
		}
	}
	return !required
}

// PodTerm is a term of a pod's affinity or anti-affinity to pods.
type PodTerm item

// Anti says whether the term is of anti-affinity.
func (t PodTerm) Anti() bool { return item(t).u32(abi.PodTermFlags)&abi.PodTermAnti != 0 }

// Required says whether the term has to be met.
func (t PodTerm) Required() bool { return item(t).u32(abi.PodTermFlags)&abi.PodTermRequired != 0 }

// Weight is 1 to 100 for a preferred term.
func (t PodTerm) Weight() int32 { return item(t).i32(abi.PodTermWeight) }

// TopologyKey is the node label whose values are the domains.
func (t PodTerm) TopologyKey() ID { return item(t).id(abi.PodTermTopologyKey) }

// Pod is the place in Node.Pods of the pod that has the term, where the term is
// one of Node.PodAffinity.
func (t PodTerm) Pod() int { return int(item(t).u32(abi.PodTermPod)) }

// Selector says which pods the term is about.
func (t PodTerm) Selector() Selector { return selector(item(t), abi.PodTermSelector) }

// Namespaces are the namespaces of those pods.
func (t PodTerm) Namespaces() IDs { return item(t).ids(abi.PodTermNamespaces) }

// NamespaceSelector says by label which namespaces count, too.
func (t PodTerm) NamespaceSelector() Selector { return selector(item(t), abi.PodTermNamespaceSelector) }
