// SPDX-License-Identifier: Apache-2.0

// Preemption-toleration lets pods of a PriorityClass run for a time before pods
// of a higher priority may evict them.
package main

import (
	"math"
	"strconv"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
)

const priorityClasses = "scheduling.k8s.io/v1/priorityclasses"

var policy = berth.Policy{
	Name:    "preemption-toleration",
	Version: "1.0.0",
	Reads:   []berth.Section{berth.PodIdentity, berth.NodePods},
	Intents: []berth.Intent{berth.IntentEvict, berth.IntentState},
	Resources: []berth.Resource{
		{Name: priorityClasses, Fields: []string{"value", "metadata.annotations"}},
		{Name: disruptionBudgets, Fields: []string{"spec.selector", "status.disruptionsAllowed"}},
	},
}

func init() { berth.Register(&policy, &preemptionToleration{}) }

// preemptionToleration is the plugin; its fields are its config.
type preemptionToleration struct {
	minimum    string
	seconds    string
	budgets    string
	candidates int64
}

var _ berth.PostFilterPlugin = &preemptionToleration{}

// What becomes of victims that a disruption budget protects.
const (
	respect = "Respect"
	violate = "Violate"
)

// All answers but a nomination end the search: the scheduler's own preemption
// knows nothing of tolerations, so it must not be asked.
var (
	noVictims  = berth.UnschedulableAndUnresolvable("preemption: no node fits without pods of a lower priority")
	guarded    = berth.UnschedulableAndUnresolvable("preemption: disruption budgets protect the pods in the way")
	tolerating = berth.UnschedulableAndUnresolvable("preemption: the pods in the way still tolerate it")
)

// Config is the policy's config.
func (p *preemptionToleration) Config() []berth.Property {
	return []berth.Property{
		berth.Bind("minimumPriorityAnnotation", &p.minimum, berth.String()).Default("berth.dev/minimum-preemptable-priority").
			Doc("annotation of a PriorityClass: from this priority on pods evict its pods at once"),
		berth.Bind("tolerationSecondsAnnotation", &p.seconds, berth.String()).Default("berth.dev/toleration-seconds").
			Doc("annotation of a PriorityClass: for how long its pods may run before others evict them; below 0 for ever"),
		berth.Bind("disruptionBudgets", &p.budgets, berth.Enum(respect, violate)).Default(respect).
			Doc("Violate evicts pods that a PodDisruptionBudget protects, too, where nothing else helps"),
		berth.Bind("candidates", &p.candidates, berth.IntBetween(1, 1000)).Default(20).
			Doc("after how many nodes with victims the search ends"),
	}
}

// toleration is what a PriorityClass says of its pods.
type toleration struct {
	class   string
	value   int64
	minimum int64 // of a pod that evicts them at once
	seconds int64 // below 0 is for ever
}

// PostFilter finds the node where preemption hurts least, among victims that
// don't tolerate it any more.
func (p *preemptionToleration) PostFilter(c *berth.PostFilterCycle, pod berth.Pod) (*berth.Nomination, *berth.Status) {
	if s := c.MayPreempt(); s != nil {
		return nil, berth.UnschedulableAndUnresolvable(s.Reason())
	}
	tolerations, s := p.tolerations(c)
	if s != nil {
		return nil, s
	}
	budgets, s := budgetsOf(c)
	if s != nil {
		return nil, s
	}
	search := search{c: c, now: c.Now() / 1e9, priority: int64(pod.Priority()), tolerations: tolerations, budgets: budgets}
	nomination := p.choose(&search)
	switch {
	case nomination != nil:
		return nomination, nil
	case search.spared == 0 && search.guarded:
		return nil, guarded
	case search.spared == 0:
		return nil, noVictims
	}
	if search.end != math.MaxInt64 {
		// What is kept for a time wakes the pods that this policy turned down when
		// the time is over.
		c.Keep("end/"+pod.UID(), search.end, (search.end-search.now)*1e9)
	}
	return nil, tolerating
}

// choose finds the node where the victims hurt least: as few as possible that a
// budget protects, then as PickNode says. It is nil if there is none.
func (p *preemptionToleration) choose(s *search) *berth.Nomination {
	start := 0
	if n := s.c.CandidateCount(); n > 0 {
		start = int(s.now % int64(n)) // not always the same nodes first
	}
	var nodes []string
	var choices [][]berth.Victim
	fewest := 0 // violations of budgets on each of these nodes
	for node := range s.c.CandidatesFrom(start) {
		name := string([]byte(node.Name()))
		s.seen = s.seen[:0]
		victims, status := s.c.SelectVictims(node, func(v berth.NodePod) bool { return s.mayGo(name, v) })
		if !status.IsSuccess() {
			continue
		}
		violations := s.violations(victims)
		switch {
		case violations > 0 && p.budgets == respect:
			s.guarded = true
			continue
		case len(nodes) == 0 || violations < fewest:
			nodes, choices, fewest = nodes[:0], choices[:0], violations
		case violations > fewest:
			continue
		}
		nodes, choices = append(nodes, name), append(choices, victims)
		if violations == 0 && int64(len(choices)) >= p.candidates {
			break
		}
	}
	best := berth.PickNode(choices)
	if best < 0 {
		return nil
	}
	return &berth.Nomination{Node: nodes[best], Victims: choices[best], ViolatePDBs: p.budgets == violate}
}

// tolerations are those of all PriorityClasses that have both annotations, as
// numbers.
func (p *preemptionToleration) tolerations(c *berth.PostFilterCycle) ([]toleration, *berth.Status) {
	classes, s := c.Objects(priorityClasses, "", "")
	if s != nil {
		return nil, s
	}
	var list []toleration
	for class := range classes.All() {
		annotations := class.Get("metadata", "annotations")
		minimum, seconds := annotations.Get(p.minimum), annotations.Get(p.seconds)
		if !minimum.Exists() || !seconds.Exists() {
			continue
		}
		t := toleration{class: class.Get("metadata", "name").Text(), value: class.Get("value").Int()}
		var err, err2 error
		t.minimum, err = strconv.ParseInt(minimum.Text(), 10, 64)
		t.seconds, err2 = strconv.ParseInt(seconds.Text(), 10, 32)
		if err != nil || err2 != nil {
			berth.LogWarning("a PriorityClass whose annotations aren't whole numbers tolerates nothing", "class", t.class)
			continue
		}
		list = append(list, t)
	}
	return list, nil
}

// search is one pod's search for victims.
type search struct {
	c           *berth.PostFilterCycle
	now         int64 // Unix seconds, as end
	priority    int64 // of the pod
	tolerations []toleration
	budgets     []budget

	seen    []candidate // pods of the node that is looked at
	spared  int         // pods that tolerate preemption yet
	end     int64       // when the first of them doesn't any more
	guarded bool        // a node was left out because of budgets
}

// candidate is a pod that may be a victim, and the budgets that protect it.
type candidate struct {
	uid     string
	budgets []int
}

// mayGo says whether a pod of a lower priority may be evicted now.
func (s *search) mayGo(node string, v berth.NodePod) bool {
	if int64(v.Priority()) >= s.priority {
		return false
	}
	t := s.tolerationOf(node, v)
	if t == nil || s.priority >= t.minimum {
		return s.add(v)
	}
	end := int64(math.MaxInt64)
	switch {
	case t.seconds < 0:
	case v.Started() == 0: // about to start
		end = s.now + max(t.seconds, 1)
	default:
		end = v.Started() + t.seconds
	}
	if end <= s.now {
		return s.add(v)
	}
	if s.spared++; s.spared == 1 || end < s.end {
		s.end = end
	}
	return false
}

// add notes who may be a victim: the pod is gone when the victims are known.
func (s *search) add(v berth.NodePod) bool {
	c := candidate{uid: string([]byte(v.UID()))}
	for i := range s.budgets {
		if s.budgets[i].covers(v) {
			c.budgets = append(c.budgets, i)
		}
	}
	s.seen = append(s.seen, c)
	return true
}

// violations is how many of the victims a budget has no allowance for.
func (s *search) violations(victims []berth.Victim) (n int) {
	spent := make([]int64, len(s.budgets))
	for _, v := range victims {
		for _, c := range s.seen {
			if c.uid != v.UID {
				continue
			}
			violates := false
			for _, i := range c.budgets {
				spent[i]++
				violates = violates || spent[i] > s.budgets[i].allowed
			}
			if violates {
				n++
			}
		}
	}
	return n
}

// tolerationOf is what the PriorityClass of a pod says; nil if it says nothing.
// Only the whole pod names its class, so it is read where the priority is that
// of a class that says something.
func (s *search) tolerationOf(node string, v berth.NodePod) *toleration {
	class := ""
	for i := range s.tolerations {
		t := &s.tolerations[i]
		if t.value != int64(v.Priority()) {
			continue
		}
		if class == "" {
			pod, status := s.c.PodOn(node, v.UID())
			if status != nil || !pod.Exists() {
				return nil
			}
			class = pod.Get("spec", "priorityClassName").Text()
		}
		if t.class == class {
			return t
		}
	}
	return nil
}

func main() {}
