// SPDX-License-Identifier: Apache-2.0

// Quota shares a cluster among namespaces: each is sure of a minimum, may borrow
// what others leave unused up to a maximum, and gives it back when they need it.
package main

import berth "github.com/berth-scheduler/berth/guest-sdk/go"

var policy = berth.Policy{
	Name:    "quota",
	Version: "1.0.0",
	Reads:   []berth.Section{berth.PodIdentity, berth.PodResources, berth.NodePods},
	Resources: []berth.Resource{{
		Name:   quotas,
		Fields: []string{"spec"},
	}},
	Intents: []berth.Intent{berth.IntentEvict, berth.IntentReclaim},
}

func init() { berth.Register(&policy, &elastic{}) }

// quotas are the quotas; of a namespace's several the first by name counts.
const quotas = "berth.dev/v1alpha1/quotas"

// elastic is the plugin.
type elastic struct{}

var (
	_ berth.PreFilterNodesPlugin = &elastic{}
	_ berth.PreFilterExtensions  = &elastic{}
	_ berth.FilterPlugin         = &elastic{}
	_ berth.PostFilterPlugin     = &elastic{}
)

// Reasons.
var (
	usedUp  = berth.Unschedulable("the namespace's quota is used up")
	noLoan  = berth.Unschedulable("the namespace's minimum is used up, and no other leaves anything to borrow")
	badSpec = berth.UnschedulableAndUnresolvable("the namespace's quota holds an amount that can't be read")
	noHelp  = berth.Unschedulable("no evictions help within the quotas")
)

// amount is what a quota says of a resource, and what the namespace's pods ask
// for.
type amount struct {
	resource       berth.ID
	min, max, used int64
}

// quota is a namespace's.
type quota struct {
	namespace berth.ID
	amounts   []amount
	broken    bool
}

// usage is the cycle state: all quotas with what is used of them.
type usage struct {
	own    int // place of the pod's quota in quotas
	quotas []quota
}

// Clone copies what AddPod and RemovePod change.
func (u *usage) Clone() berth.State {
	copied := &usage{u.own, append([]quota(nil), u.quotas...)}
	for i := range copied.quotas {
		q := &copied.quotas[i]
		q.amounts = append([]amount(nil), q.amounts...)
	}
	return copied
}

// of is a namespace's quota, nil if it has none.
func (u *usage) of(namespace berth.ID) *quota {
	for i := range u.quotas {
		if u.quotas[i].namespace == namespace {
			return &u.quotas[i]
		}
	}
	return nil
}

// PreFilterBegin reads the quotas. Pods of namespaces without one are nothing to
// the policy.
func (p *elastic) PreFilterBegin(c *berth.Cycle, pod berth.Pod) *berth.Status {
	list, s := c.Objects(quotas, "", "")
	if s != nil {
		return s
	}
	u := &usage{own: -1}
	for object := range list.All() {
		namespace := berth.Intern(object.Get("metadata", "namespace").Text())
		if u.of(namespace) != nil {
			continue
		}
		if namespace == pod.Namespace() {
			u.own = len(u.quotas)
		}
		u.quotas = append(u.quotas, newQuota(namespace, object.Get("spec")))
	}
	switch {
	case u.own < 0:
		return berth.Skip()
	case u.quotas[u.own].broken:
		return badSpec
	}
	c.SetState(u)
	return nil
}

// unlimited is the maximum of a resource that has none.
const unlimited = 1<<63 - 1

// newQuota reads a quota's spec. A resource in max alone has a minimum of 0.
func newQuota(namespace berth.ID, spec berth.Object) quota {
	q := quota{namespace: namespace}
	for _, side := range []string{"min", "max"} {
		list := spec.Get(side)
		for i := range list.Len() {
			n, ok := parse(list.Key(i), list.At(i).Text())
			q.broken = q.broken || !ok
			a := q.amount(berth.Intern(list.Key(i)))
			if side == "min" {
				a.min = n
			} else {
				a.max = n
			}
		}
	}
	return q
}

// parse reads an amount as the scheduler counts it: CPU in millicores.
func parse(resource, text string) (int64, bool) {
	value, milli, ok := berth.ParseAmount(text)
	if resource == "cpu" {
		value = milli
	}
	return value, ok
}

// amount is a quota's entry for a resource, made if need be.
func (q *quota) amount(resource berth.ID) *amount {
	for i := range q.amounts {
		if q.amounts[i].resource == resource {
			return &q.amounts[i]
		}
	}
	q.amounts = append(q.amounts, amount{resource: resource, max: unlimited})
	return &q.amounts[len(q.amounts)-1]
}

// add counts what a pod asks for, sign times.
func (q *quota) add(requests berth.Quantities, sign int64) {
	for i := range q.amounts {
		q.amounts[i].used += sign * requested(requests, q.amounts[i].resource)
	}
}

func requested(requests berth.Quantities, resource berth.ID) int64 {
	for r := range requests.All() {
		if r.Name() == resource {
			return r.Value()
		}
	}
	return 0
}

// PreFilterNode counts what a node's pods ask for.
func (p *elastic) PreFilterNode(c *berth.Cycle, _ berth.Pod, node berth.Node) *berth.Status {
	u, s := berth.StateOf[*usage](c)
	if s != nil {
		return s
	}
	for other := range node.Pods().All() {
		if q := u.of(other.Namespace()); q != nil {
			q.add(other.Requests(), 1)
		}
	}
	return nil
}

// PreFilterEnd turns the pod away if the quotas don't have it.
func (p *elastic) PreFilterEnd(c *berth.Cycle, pod berth.Pod) *berth.Status { return p.check(c, pod) }

// Filter asks the quotas again: while preemption is tried out, pods are taken off
// them.
func (p *elastic) Filter(c *berth.Cycle, pod berth.Pod, _ berth.Node) *berth.Status {
	return p.check(c, pod)
}

func (p *elastic) check(c *berth.Cycle, pod berth.Pod) *berth.Status {
	u, s := berth.StateOf[*usage](c)
	if s != nil {
		return s
	}
	for i := range u.quotas[u.own].amounts {
		a := &u.quotas[u.own].amounts[i]
		want := request(pod, a.resource)
		switch {
		case want == 0:
		case a.used+want > a.max:
			return usedUp
		case a.used+want > a.min && !u.spare(a.resource, want):
			return noLoan
		}
	}
	return nil
}

// request is what the pod asks for of a resource.
func request(pod berth.Pod, resource berth.ID) int64 {
	for r := range pod.Resources().All() {
		if r.Name() == resource {
			return r.Request()
		}
	}
	return 0
}

// spare says whether the minimums of all quotas together leave so much of a
// resource unused.
func (u *usage) spare(resource berth.ID, want int64) bool {
	var left int64
	for i := range u.quotas {
		for _, a := range u.quotas[i].amounts {
			if a.resource == resource {
				left += a.min - a.used
			}
		}
	}
	return left >= want
}

// AddPod counts a pod that would be on a node.
func (p *elastic) AddPod(c *berth.Cycle, _, other berth.Pod, _ berth.Node) *berth.Status {
	return p.change(c, other, 1)
}

// RemovePod takes off a pod that would be gone.
func (p *elastic) RemovePod(c *berth.Cycle, _, other berth.Pod, _ berth.Node) *berth.Status {
	return p.change(c, other, -1)
}

func (p *elastic) change(c *berth.Cycle, other berth.Pod, sign int64) *berth.Status {
	u, s := berth.StateOf[*usage](c)
	if s != nil {
		return s
	}
	q := u.of(other.Namespace())
	if q == nil {
		return nil
	}
	for i := range q.amounts {
		q.amounts[i].used += sign * request(other, q.amounts[i].resource)
	}
	return nil
}

// PostFilter makes room. A namespace that stays within its minimum takes back
// what others borrowed, whatever their pods' priority; else only pods of lower
// priority in the same namespace leave.
func (p *elastic) PostFilter(c *berth.PostFilterCycle, pod berth.Pod) (*berth.Nomination, *berth.Status) {
	u, s := berth.StateOf[*usage](c.Cycle)
	if s != nil {
		return nil, noHelp // the namespace has no quota
	}
	if s := c.MayPreempt(); s != nil {
		return nil, s
	}
	entitled := u.entitled(pod)
	var nodes []string
	var choices [][]berth.Victim
	for node := range c.Candidates() {
		name := string([]byte(node.Name()))
		loans := u.Clone().(*usage)
		victims, s := c.ReclaimVictims(node, func(other berth.NodePod) bool {
			if other.Namespace() == pod.Namespace() {
				return other.Priority() < pod.Priority()
			}
			return entitled && loans.giveBack(other)
		})
		if s == nil {
			nodes, choices = append(nodes, name), append(choices, victims)
		}
	}
	best := berth.PickNode(choices)
	if best < 0 {
		return nil, noHelp
	}
	return &berth.Nomination{Node: nodes[best], Victims: choices[best], AnyPriority: entitled}, nil
}

// entitled says whether the namespace stays within its minimum with the pod.
func (u *usage) entitled(pod berth.Pod) bool {
	for _, a := range u.quotas[u.own].amounts {
		if want := request(pod, a.resource); want > 0 && a.used+want > a.min {
			return false
		}
	}
	return true
}

// giveBack takes a pod off its namespace's quota if that has more than its
// minimum.
func (u *usage) giveBack(other berth.NodePod) bool {
	q := u.of(other.Namespace())
	if q == nil {
		return false
	}
	over := false
	for _, a := range q.amounts {
		over = over || a.used > a.min && requested(other.Requests(), a.resource) > 0
	}
	if over {
		q.add(other.Requests(), -1)
	}
	return over
}

func main() {}
