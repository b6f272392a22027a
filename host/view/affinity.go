// SPDX-License-Identifier: Apache-2.0

package view

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
)

// operator is the number of an operator of node selectors, label selectors or
// tolerations, which share their words; 0 for another.
func operator(op string) uint32 {
	switch op {
	case "In":
		return abi.OpIn
	case "NotIn":
		return abi.OpNotIn
	case "Exists":
		return abi.OpExists
	case "DoesNotExist":
		return abi.OpDoesNotExist
	case "Gt":
		return abi.OpGt
	case "Lt":
		return abi.OpLt
	case "Equal":
		return abi.OpEqual
	}
	return 0
}

func (e *Encoder) podNodeAffinity(a *v1.Affinity) {
	var required []v1.NodeSelectorTerm
	var preferred []v1.PreferredSchedulingTerm
	if a != nil && a.NodeAffinity != nil {
		preferred = a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
		if s := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; s != nil {
			required = s.NodeSelectorTerms
		}
	}
	off := e.listSection(abi.PodNodeAffinity, len(required)+len(preferred), abi.NodeTermSize)
	for i := range required {
		e.w.u32(off+abi.NodeTermRequired, 1)
		e.nodeTerm(off, &required[i])
		off += abi.NodeTermSize
	}
	for i := range preferred {
		e.w.i32(off+abi.NodeTermWeight, preferred[i].Weight)
		e.nodeTerm(off, &preferred[i].Preference)
		off += abi.NodeTermSize
	}
}

func (e *Encoder) nodeTerm(off uint32, t *v1.NodeSelectorTerm) {
	r := e.w.list(off+abi.NodeTermLabels, len(t.MatchExpressions), abi.RequirementSize)
	for i := range t.MatchExpressions {
		x := &t.MatchExpressions[i]
		e.requirement(r, x.Key, string(x.Operator), x.Values)
		r += abi.RequirementSize
	}
	r = e.w.list(off+abi.NodeTermFields, len(t.MatchFields), abi.FieldRequirementSize)
	for i := range t.MatchFields {
		x := &t.MatchFields[i]
		e.w.u32(r+abi.FieldRequirementKey, e.id(x.Key))
		e.w.u32(r+abi.FieldRequirementOp, operator(string(x.Operator)))
		v := e.w.list(r+abi.FieldRequirementValues, len(x.Values), abi.TextSize)
		for _, s := range x.Values {
			e.w.text(v, s)
			v += abi.TextSize
		}
		r += abi.FieldRequirementSize
	}
}

func (e *Encoder) requirement(off uint32, key, op string, values []string) {
	e.w.u32(off+abi.RequirementKey, e.id(key))
	e.w.u32(off+abi.RequirementOp, operator(op))
	e.idList(off+abi.RequirementValues, values)
}

// selector writes a label selector's kind and requirements at.
func (e *Encoder) selector(at uint32, s *metav1.LabelSelector) {
	if s == nil {
		return
	}
	e.w.u32(at+abi.SelectorKind, abi.SelectorSet)
	r := e.w.list(at+abi.SelectorRequirements, len(s.MatchLabels)+len(s.MatchExpressions), abi.RequirementSize)
	for _, p := range e.sorted(s.MatchLabels, true) {
		e.w.u32(r+abi.RequirementKey, p.keyID)
		e.w.u32(r+abi.RequirementOp, abi.OpIn)
		e.w.u32(e.w.list(r+abi.RequirementValues, 1, 4), p.valueID)
		r += abi.RequirementSize
	}
	for i := range s.MatchExpressions {
		x := &s.MatchExpressions[i]
		e.requirement(r, x.Key, string(x.Operator), x.Values)
		r += abi.RequirementSize
	}
}

func (e *Encoder) podPodAffinity(pod *v1.Pod) {
	e.podTerms(e.listSection(abi.PodPodAffinity, podTerms(pod), abi.PodTermSize), pod, 0)
}

// nodePodAffinity writes the terms of a node's pods. Few pods have any.
func (e *Encoder) nodePodAffinity(pods []fwk.PodInfo) {
	n := 0
	for _, pi := range pods {
		n += podTerms(pi.GetPod())
	}
	off := e.listSection(abi.NodePodAffinity, n, abi.PodTermSize)
	for i, pi := range pods {
		off = e.podTerms(off, pi.GetPod(), uint32(i))
		if len(e.w.b)-e.w.base > MaxRecordBytes {
			return // record says so
		}
	}
}

// podTerms is the number of a pod's terms of affinity and anti-affinity to pods.
func podTerms(pod *v1.Pod) (n int) {
	if a := pod.Spec.Affinity; a != nil {
		if p := a.PodAffinity; p != nil {
			n += len(p.RequiredDuringSchedulingIgnoredDuringExecution) + len(p.PreferredDuringSchedulingIgnoredDuringExecution)
		}
		if p := a.PodAntiAffinity; p != nil {
			n += len(p.RequiredDuringSchedulingIgnoredDuringExecution) + len(p.PreferredDuringSchedulingIgnoredDuringExecution)
		}
	}
	return n
}

// podTerms writes a pod's terms from off on and returns the offset behind them.
func (e *Encoder) podTerms(off uint32, pod *v1.Pod, place uint32) uint32 {
	a := pod.Spec.Affinity
	if a == nil {
		return off
	}
	put := func(t *v1.PodAffinityTerm, flags uint32, weight int32) {
		e.podTerm(off, pod, t, flags, weight)
		e.w.u32(off+abi.PodTermPod, place)
		off += abi.PodTermSize
	}
	required := func(terms []v1.PodAffinityTerm, flags uint32) {
		for i := range terms {
			put(&terms[i], flags|abi.PodTermRequired, 0)
		}
	}
	preferred := func(terms []v1.WeightedPodAffinityTerm, flags uint32) {
		for i := range terms {
			put(&terms[i].PodAffinityTerm, flags, terms[i].Weight)
		}
	}
	affinity, anti := a.PodAffinity, a.PodAntiAffinity
	if affinity != nil {
		required(affinity.RequiredDuringSchedulingIgnoredDuringExecution, 0)
	}
	if anti != nil {
		required(anti.RequiredDuringSchedulingIgnoredDuringExecution, abi.PodTermAnti)
	}
	if affinity != nil {
		preferred(affinity.PreferredDuringSchedulingIgnoredDuringExecution, 0)
	}
	if anti != nil {
		preferred(anti.PreferredDuringSchedulingIgnoredDuringExecution, abi.PodTermAnti)
	}
	return off
}

// podTerm writes a term. The API server has merged matchLabelKeys into the
// label selector when the pod was created.
func (e *Encoder) podTerm(off uint32, pod *v1.Pod, t *v1.PodAffinityTerm, flags uint32, weight int32) {
	e.w.u32(off+abi.PodTermFlags, flags)
	e.w.i32(off+abi.PodTermWeight, weight)
	e.w.u32(off+abi.PodTermTopologyKey, e.id(t.TopologyKey))
	e.selector(off+abi.PodTermSelector, t.LabelSelector)
	if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
		e.w.u32(e.w.list(off+abi.PodTermNamespaces, 1, 4), e.id(pod.Namespace))
	} else {
		e.idList(off+abi.PodTermNamespaces, t.Namespaces)
	}
	e.selector(off+abi.PodTermNamespaceSelector, t.NamespaceSelector)
}

func (e *Encoder) podTolerations(list []v1.Toleration) {
	off := e.listSection(abi.PodTolerations, len(list), abi.TolerationSize)
	for i := range list {
		t := &list[i]
		e.w.u32(off+abi.TolerationKey, e.id(t.Key))
		op := uint32(abi.OpEqual)
		if t.Operator != "" {
			op = operator(string(t.Operator))
		}
		e.w.u32(off+abi.TolerationOp, op)
		e.w.u32(off+abi.TolerationValue, e.id(t.Value))
		e.w.u32(off+abi.TolerationEffect, effect(t.Effect))
		s := int64(-1)
		if t.TolerationSeconds != nil {
			s = *t.TolerationSeconds
		}
		e.w.i64(off+abi.TolerationSeconds, s)
		off += abi.TolerationSize
	}
}

func (e *Encoder) podSpread(list []v1.TopologySpreadConstraint) {
	off := e.listSection(abi.PodSpread, len(list), abi.SpreadSize)
	for i := range list {
		c := &list[i]
		e.w.i32(off+abi.SpreadMaxSkew, c.MaxSkew)
		e.w.u32(off+abi.SpreadTopologyKey, e.id(c.TopologyKey))
		switch c.WhenUnsatisfiable {
		case v1.DoNotSchedule:
			e.w.u32(off+abi.SpreadWhen, abi.SpreadDoNotSchedule)
		case v1.ScheduleAnyway:
			e.w.u32(off+abi.SpreadWhen, abi.SpreadScheduleAnyway)
		}
		domains := int32(1)
		if c.MinDomains != nil {
			domains = *c.MinDomains
		}
		e.w.i32(off+abi.SpreadMinDomains, domains)
		e.w.u32(off+abi.SpreadAffinityPolicy, inclusion(c.NodeAffinityPolicy, abi.SpreadHonor))
		e.w.u32(off+abi.SpreadTaintsPolicy, inclusion(c.NodeTaintsPolicy, abi.SpreadIgnore))
		e.selector(off+abi.SpreadSelector, c.LabelSelector)
		e.idList(off+abi.SpreadLabelKeys, c.MatchLabelKeys)
		off += abi.SpreadSize
	}
}

func inclusion(p *v1.NodeInclusionPolicy, none uint32) uint32 {
	switch {
	case p == nil:
		return none
	case *p == v1.NodeInclusionPolicyHonor:
		return abi.SpreadHonor
	}
	return abi.SpreadIgnore
}
