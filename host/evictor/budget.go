// SPDX-License-Identifier: Apache-2.0

package evictor

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// budgets remembers what evictions have taken from disruption budgets since
// these were last seen to change: the controller that counts them lags behind.
type budgets struct {
	mu    sync.Mutex
	spent map[string]spent // by namespace/name
}

type spent struct {
	version string // resourceVersion of the budget
	pods    int32
}

// Budget finds the budgets that victims violate, in their order: each victim
// takes from every budget that selects it. One that is being deleted already
// takes nothing. Violates is set to the first budget without allowance, others
// are left as they are.
func (e *Evictor) Budget(list []*policyv1.PodDisruptionBudget, victims []Victim) {
	e.budgets.mu.Lock()
	defer e.budgets.mu.Unlock()
	allowed := map[string]int32{}
	for _, b := range list {
		key := b.Namespace + "/" + b.Name
		allowed[key] = b.Status.DisruptionsAllowed
		if s := e.budgets.spent[key]; s.version == b.ResourceVersion {
			allowed[key] -= s.pods
		}
	}
	for i := range victims {
		for _, b := range covering(list, victims[i].Pod) {
			key := b.Namespace + "/" + b.Name
			if allowed[key]--; allowed[key] < 0 && victims[i].Violates == "" {
				victims[i].Violates = b.Name
			}
		}
	}
}

// spend notes that the victims of a preemption go.
func (b *budgets) spend(p *Preemption) {
	f := p.Handle.SharedInformerFactory()
	if f == nil {
		return
	}
	list, err := f.Policy().V1().PodDisruptionBudgets().Lister().List(labels.Everything())
	if err != nil {
		return // an informer's lister has no errors
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spent == nil {
		b.spent = map[string]spent{}
	}
	for key := range b.spent { // of budgets that are gone
		if !known(list, key) {
			delete(b.spent, key)
		}
	}
	for _, v := range p.Victims {
		for _, x := range covering(list, v.Pod) {
			key := x.Namespace + "/" + x.Name
			s := b.spent[key]
			if s.version != x.ResourceVersion {
				s = spent{version: x.ResourceVersion}
			}
			s.pods++
			b.spent[key] = s
		}
	}
}

func known(list []*policyv1.PodDisruptionBudget, key string) bool {
	for _, b := range list {
		if b.Namespace+"/"+b.Name == key {
			return true
		}
	}
	return false
}

// covering lists the budgets that an eviction takes from. One without a selector
// selects nothing here, as in the scheduler's own preemption; a pod whose
// eviction the API server has counted already takes nothing.
func covering(list []*policyv1.PodDisruptionBudget, pod *v1.Pod) []*policyv1.PodDisruptionBudget {
	if pod.DeletionTimestamp != nil {
		return nil
	}
	var out []*policyv1.PodDisruptionBudget
	for _, b := range list {
		if b.Namespace != pod.Namespace {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil || selector.Empty() || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		if _, counted := b.Status.DisruptedPods[pod.Name]; !counted {
			out = append(out, b)
		}
	}
	return out
}
