// SPDX-License-Identifier: Apache-2.0

package equality

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (d dice) taint() v1.Taint {
	return v1.Taint{
		Key:    one(d, "gpu", "team", "level", v1.TaintNodeUnschedulable),
		Value:  one(d, "", "a", "5", "-1", "007", "9223372036854775808"),
		Effect: one(d, v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute),
	}
}

func (d dice) toleration() v1.Toleration {
	t := v1.Toleration{
		Key:      one(d, "gpu", "team", "level", v1.TaintNodeUnschedulable, ""),
		Operator: one(d, v1.TolerationOpExists, v1.TolerationOpEqual, "", v1.TolerationOpGt, v1.TolerationOpLt),
		Effect:   one(d, "", v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute),
	}
	switch {
	case t.Key == "":
		t.Operator = v1.TolerationOpExists
	case t.Operator == v1.TolerationOpGt || t.Operator == v1.TolerationOpLt:
		t.Value = one(d, "5", "-1", "0")
	case t.Operator != v1.TolerationOpExists:
		t.Value = one(d, "", "a", "5")
	}
	return t
}

func (d dice) affinity() *v1.Affinity {
	a := &v1.Affinity{}
	if d.chance(d.focus.affinity) {
		a.NodeAffinity = d.nodeAffinity()
	}
	if d.chance(d.focus.pods) {
		d.podAffinity(a)
	}
	if *a == (v1.Affinity{}) {
		return nil
	}
	return a
}

func (d dice) nodeAffinity() *v1.NodeAffinity {
	a := &v1.NodeAffinity{}
	if d.chance(60) {
		a.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: append([]v1.NodeSelectorTerm{d.nodeTerm()}, many(d, 2, func(d dice) v1.NodeSelectorTerm { return d.nodeTerm() })...)}
	}
	a.PreferredDuringSchedulingIgnoredDuringExecution = many(d, 3, func(d dice) v1.PreferredSchedulingTerm {
		return v1.PreferredSchedulingTerm{Weight: one[int32](d, 1, 5, 100), Preference: d.nodeTerm()}
	})
	return a
}

func (d dice) nodeTerm() (term v1.NodeSelectorTerm) {
	term.MatchExpressions = many(d, 2, func(d dice) v1.NodeSelectorRequirement {
		r := v1.NodeSelectorRequirement{
			Key: one(d, "disk", v1.LabelTopologyZone, "cores", "absent"),
			Operator: one(d, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn, v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist,
				v1.NodeSelectorOpGt, v1.NodeSelectorOpLt),
		}
		switch r.Operator {
		case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
			r.Values = append([]string{one(d, "ssd", "a", "b", "")}, many(d, 1, func(d dice) string { return one(d, "hdd", "c") })...)
		case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
			r.Values = []string{one(d, "4", "0", "15", "007")}
			if d.chance(5) {
				r.Values[0] = "many" // the API server lets it pass
			}
		}
		return r
	})
	if d.chance(30) {
		term.MatchFields = append(term.MatchFields, d.nodeField())
		if d.chance(20) {
			term.MatchFields = append(term.MatchFields, d.nodeField())
		}
	}
	return term
}

func (d dice) nodeField() v1.NodeSelectorRequirement {
	return v1.NodeSelectorRequirement{
		Key:      metav1.ObjectNameField,
		Operator: one(d, v1.NodeSelectorOpIn, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn),
		Values:   []string{one(d, "n0", "n1", "n2", "ghost")}, // one, says the API server
	}
}

// selector is a label selector of pods.
func (d dice) selector() *metav1.LabelSelector {
	if d.chance(5) {
		return nil
	}
	s := &metav1.LabelSelector{}
	if d.chance(70) {
		s.MatchLabels = map[string]string{"app": one(d, "web", "db")}
	}
	if d.chance(30) {
		r := metav1.LabelSelectorRequirement{
			Key:      one(d, "tier", "app"),
			Operator: one(d, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist),
		}
		if r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpNotIn {
			r.Values = append([]string{one(d, "x", "y", "")}, many(d, 1, func(d dice) string { return one(d, "web", "z") })...)
		}
		s.MatchExpressions = append(s.MatchExpressions, r)
	}
	return s
}

func (d dice) topologyKey() string {
	return one(d, v1.LabelTopologyZone, v1.LabelHostname, "disk")
}

func (d dice) spread() v1.TopologySpreadConstraint {
	c := v1.TopologySpreadConstraint{
		MaxSkew:           one[int32](d, 1, 2, 5),
		TopologyKey:       d.topologyKey(),
		WhenUnsatisfiable: one(d, v1.DoNotSchedule, v1.ScheduleAnyway),
		LabelSelector:     d.selector(),
	}
	policies := []v1.NodeInclusionPolicy{v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore}
	if d.chance(40) {
		p := one(d, policies...)
		c.NodeAffinityPolicy = &p
	}
	if d.chance(40) {
		p := one(d, policies...)
		c.NodeTaintsPolicy = &p
	}
	if c.WhenUnsatisfiable == v1.DoNotSchedule && d.chance(30) {
		domains := one[int32](d, 1, 2, 3, 5)
		c.MinDomains = &domains
	}
	if c.LabelSelector != nil && d.chance(25) {
		c.MatchLabelKeys = []string{one(d, "tier", "absent")}
	}
	return c
}

// podAffinity adds terms of affinity and anti-affinity to pods.
func (d dice) podAffinity(a *v1.Affinity) {
	terms := func() []v1.PodAffinityTerm {
		return many(d, 2, func(d dice) v1.PodAffinityTerm { return d.podTerm() })
	}
	weighted := func() []v1.WeightedPodAffinityTerm {
		return many(d, 2, func(d dice) v1.WeightedPodAffinityTerm {
			return v1.WeightedPodAffinityTerm{Weight: one[int32](d, 1, 7, 100), PodAffinityTerm: d.podTerm()}
		})
	}
	if d.chance(60) {
		a.PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms(), PreferredDuringSchedulingIgnoredDuringExecution: weighted()}
	}
	if d.chance(60) {
		a.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms(), PreferredDuringSchedulingIgnoredDuringExecution: weighted()}
	}
}

func (d dice) podTerm() v1.PodAffinityTerm {
	t := v1.PodAffinityTerm{TopologyKey: d.topologyKey(), LabelSelector: d.selector()}
	if d.chance(30) {
		t.Namespaces = append([]string{one(d, "default", "other")}, many(d, 1, func(d dice) string { return one(d, "third", "other") })...)
	}
	if d.chance(10) {
		t.NamespaceSelector = &metav1.LabelSelector{} // every namespace
	}
	if d.chance(20) {
		r := metav1.LabelSelectorRequirement{
			Key:      one(d, "team", "stage"),
			Operator: one(d, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist),
		}
		if r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpNotIn {
			r.Values = []string{one(d, "a", "b", "prod")}
		}
		t.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{r}}
	}
	return t
}
