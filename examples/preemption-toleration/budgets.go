// SPDX-License-Identifier: Apache-2.0

package main

import berth "github.com/berth-scheduler/berth/guest-sdk/go"

const disruptionBudgets = "policy/v1/poddisruptionbudgets"

// budget is a PodDisruptionBudget.
type budget struct {
	namespace berth.ID
	selector  berth.Object
	allowed   int64
}

// budgetsOf are all budgets of the cluster.
func budgetsOf(c *berth.PostFilterCycle) ([]budget, *berth.Status) {
	objects, s := c.Objects(disruptionBudgets, "", "")
	if s != nil {
		return nil, s
	}
	var list []budget
	for o := range objects.All() {
		list = append(list, budget{
			namespace: berth.Intern(o.Get("metadata", "namespace").Text()),
			selector:  o.Get("spec", "selector"),
			allowed:   o.Get("status", "disruptionsAllowed").Int(),
		})
	}
	return list, nil
}

// covers says whether the budget protects a pod.
func (b *budget) covers(pod berth.NodePod) bool {
	return pod.Namespace() == b.namespace && selects(b.selector, pod.Labels())
}

// selects says whether a label selector of an object selects labels. One that is
// missing selects nothing, an empty one everything.
func selects(selector berth.Object, labels berth.Labels) bool {
	if !selector.Exists() {
		return false
	}
	wanted := selector.Get("matchLabels")
	for i := range wanted.Len() {
		if value, ok := labels.Value(berth.NewSymbol(wanted.Key(i))); !ok || value != wanted.At(i).Text() {
			return false
		}
	}
	for e := range selector.Get("matchExpressions").All() {
		value, ok := labels.Value(berth.NewSymbol(e.Get("key").Text()))
		in := false
		for v := range e.Get("values").All() {
			in = in || ok && v.Text() == value
		}
		switch e.Get("operator").Text() {
		case "In":
			ok = in
		case "NotIn":
			ok = !in
		case "DoesNotExist":
			ok = !ok
		}
		if !ok {
			return false
		}
	}
	return true
}
