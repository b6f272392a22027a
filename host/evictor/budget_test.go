// SPDX-License-Identifier: Apache-2.0

package evictor

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func testBudget(name string, allowed int32, labels map[string]string) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: "1"}}
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	b.Status.DisruptionsAllowed = allowed
	return b
}

func TestBudget(t *testing.T) {
	app := map[string]string{"app": "web"}
	victims := func(n int) (list []Victim) {
		for i := range n {
			p := testPod(fmt.Sprint("p", i), "n1", 1)
			p.Labels = app
			list = append(list, Victim{Pod: p, Node: "n1"})
		}
		return list
	}
	now := metav1.Now()
	ending, elsewhere := victims(2), victims(1)
	ending[0].Pod.DeletionTimestamp = &now
	elsewhere[0].Pod.Namespace = "other"
	counted := testBudget("b", 0, app)
	counted.Status.DisruptedPods = map[string]metav1.Time{"p0": now}
	for name, c := range map[string]struct {
		budgets []*policyv1.PodDisruptionBudget
		victims []Victim
		want    []string // budgets violated, by victim
	}{
		"allowed":           {[]*policyv1.PodDisruptionBudget{testBudget("b", 2, app)}, victims(2), []string{"", ""}},
		"one too many":      {[]*policyv1.PodDisruptionBudget{testBudget("b", 1, app)}, victims(2), []string{"", "b"}},
		"two budgets":       {[]*policyv1.PodDisruptionBudget{testBudget("a", 2, app), testBudget("b", 1, app)}, victims(2), []string{"", "b"}},
		"another app":       {[]*policyv1.PodDisruptionBudget{testBudget("b", 0, map[string]string{"app": "db"})}, victims(1), []string{""}},
		"no selector":       {[]*policyv1.PodDisruptionBudget{testBudget("b", 0, nil)}, victims(1), []string{""}},
		"another namespace": {[]*policyv1.PodDisruptionBudget{testBudget("b", 0, app)}, elsewhere, []string{""}},
		"ending already":    {[]*policyv1.PodDisruptionBudget{testBudget("b", 1, app)}, ending, []string{"", ""}},
		"counted already":   {[]*policyv1.PodDisruptionBudget{counted}, victims(2), []string{"", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			newStage(t).evictor.Budget(c.budgets, c.victims)
			var got []string
			for _, v := range c.victims {
				got = append(got, v.Violates)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What one preemption takes from a budget the next can't have, although the
// controller hasn't counted it yet; after it has, its word counts.
func TestBudgetSpent(t *testing.T) {
	app := map[string]string{"app": "a"}
	a, b := testPod("a", "n1", 1), testPod("b", "n1", 1)
	b.Labels = app
	budget := testBudget("b", 1, app)
	s := newStage(t, a, b, budget)
	list := []*policyv1.PodDisruptionBudget{budget}
	s.preempt("n1", Victim{Pod: a, Node: "n1"})
	second := []Victim{{Pod: b, Node: "n1"}}
	if s.evictor.Budget(list, second); second[0].Violates != "b" {
		t.Errorf("want the budget spent, got %q", second[0].Violates)
	}
	budget = budget.DeepCopy()
	budget.ResourceVersion, second[0].Violates = "2", ""
	if s.evictor.Budget([]*policyv1.PodDisruptionBudget{budget}, second); second[0].Violates != "" {
		t.Errorf("want the controller's word, got %q", second[0].Violates)
	}
}
