// SPDX-License-Identifier: Apache-2.0

// Command interpodaffinity is a port of the in-tree plugin InterPodAffinity.
package main

import (
	"math"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
)

func main() {}

const namespaces = "v1/namespaces"

func init() {
	berth.Register(&berth.Policy{
		Name: "InterPodAffinity", Version: "1",
		Reads: []berth.Section{
			berth.PodPodAffinity, berth.PodLabels, berth.NodeLabels, berth.NodePods, berth.NodePodAffinity,
		},
		Resources: []berth.Resource{{Name: namespaces}},
	}, &plugin{})
}

type plugin struct {
	hardWeight int64
	ignore     bool
}

// Config implements berth.ConfigPlugin.
func (p *plugin) Config() []berth.Property {
	return []berth.Property{
		berth.Bind("hardPodAffinityWeight", &p.hardWeight, berth.IntBetween(0, 100)).Default(1).
			Doc("what a required term of a pod that is there adds to the score"),
		berth.Bind("ignorePreferredTermsOfExistingPods", &p.ignore, berth.Bool()).
			Doc("score only pods with preferred terms of their own"),
	}
}

// domain is a topology domain: a label of nodes.
type domain struct{ key, value berth.ID }

type pods map[domain]int64

func (p pods) clone() pods {
	c := make(pods, len(p))
	for d, n := range p {
		c[d] = n
	}
	return c
}

// add counts in a node's domain; what comes to 0 is gone.
func (p pods) add(node berth.Node, key berth.ID, n int64) {
	d, ok := domainOf(node, key)
	if !ok {
		return
	}
	if p[d] += n; p[d] == 0 {
		delete(p, d)
	}
}

func domainOf(node berth.Node, key berth.ID) (domain, bool) {
	for l := range node.Labels().All() {
		if l.Key() == key {
			return domain{key, l.Value()}, true
		}
	}
	return domain{}, false
}

// state is a cycle's.
type state struct {
	own      map[string]string // labels of the pod's namespace
	selected [][]berth.ID      // by the pod's terms: the namespaces that their selector selects

	existing pods // pods that are there by domain, whose anti-affinity is to the pod
	wanted   pods // those that meet the pod's required affinity
	avoided  pods // and its required anti-affinity

	scores map[domain]int64
}

// Clone implements berth.State. Only what AddPod and RemovePod change is copied.
func (s *state) Clone() berth.State {
	c := *s
	c.existing, c.wanted, c.avoided = s.existing.clone(), s.wanted.clone(), s.avoided.clone()
	return &c
}

// matches says whether term i of the incoming pod is about pods of a namespace
// with these labels.
func (s *state) matches(i int, t berth.PodTerm, namespace berth.ID, labels berth.Labels) bool {
	return t.Selector().Matches(labels) && (t.Namespaces().Contains(namespace) || everything(t.NamespaceSelector()) || contains(s.selected[i], namespace))
}

// concerns says whether a term of another pod is about the incoming one.
func (s *state) concerns(t berth.PodTerm, pod berth.Pod) bool {
	return t.Selector().Matches(pod.Labels()) && (t.Namespaces().Contains(pod.Namespace()) || t.NamespaceSelector().MatchesMap(s.own))
}

func everything(s berth.Selector) bool { return s.IsSet() && s.Requirements().Len() == 0 }

func contains(ids []berth.ID, id berth.ID) bool {
	for _, i := range ids {
		if i == id {
			return true
		}
	}
	return false
}

// meets says whether a pod meets all required terms of the incoming pod's
// affinity, of which there must be one.
func (s *state) meets(pod berth.Pod, namespace berth.ID, labels berth.Labels) bool {
	some := false
	for i := range pod.PodAffinity().Len() {
		if t := pod.PodAffinity().At(i); t.Required() && !t.Anti() {
			if !s.matches(i, t, namespace, labels) {
				return false
			}
			some = true
		}
	}
	return some
}

// count adds a pod on a node, or takes it away, for Filter.
func (s *state) count(pod berth.Pod, namespace berth.ID, labels berth.Labels, node berth.Node, n int64) {
	meets := s.meets(pod, namespace, labels)
	for i := range pod.PodAffinity().Len() {
		switch t := pod.PodAffinity().At(i); {
		case !t.Required():
		case t.Anti():
			if s.matches(i, t, namespace, labels) {
				s.avoided.add(node, t.TopologyKey(), n)
			}
		case meets:
			s.wanted.add(node, t.TopologyKey(), n)
		}
	}
}

func (s *state) score(node berth.Node, t berth.PodTerm, weight int64) {
	if t.Anti() {
		weight = -weight
	}
	if d, ok := domainOf(node, t.TopologyKey()); ok {
		s.scores[d] += weight
	}
}

// PreFilterBegin implements berth.PreFilterNodesPlugin: it finds out which
// namespaces are meant where terms name them by their labels.
func (p *plugin) PreFilterBegin(c *berth.Cycle, pod berth.Pod) *berth.Status {
	s := &state{existing: pods{}, wanted: pods{}, avoided: pods{}, scores: map[domain]int64{}, selected: make([][]berth.ID, pod.PodAffinity().Len())}
	own, status := c.Object(namespaces, "", pod.Namespace().String())
	if status != nil {
		return status
	}
	s.own = labelsOf(own)
	for i := range s.selected {
		selector := pod.PodAffinity().At(i).NamespaceSelector()
		if !selector.IsSet() || everything(selector) {
			continue
		}
		all, status := c.Objects(namespaces, "", "")
		if status != nil {
			return status
		}
		for namespace := range all.All() {
			if selector.MatchesMap(labelsOf(namespace)) {
				s.selected[i] = append(s.selected[i], berth.Intern(namespace.Get("metadata", "name").Text()))
			}
		}
	}
	c.SetState(s)
	return nil
}

func labelsOf(object berth.Object) map[string]string {
	labels := object.Get("metadata", "labels")
	m := make(map[string]string, labels.Len())
	for i := range labels.Len() {
		m[labels.Key(i)] = labels.At(i).Text()
	}
	return m
}

// PreFilterNode implements berth.PreFilterNodesPlugin. It scores, too: pods on
// nodes that Filter rejects count as well.
func (p *plugin) PreFilterNode(c *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	s, status := berth.StateOf[*state](c)
	if status != nil {
		return status
	}
	for t := range node.PodAffinity().All() {
		if !s.concerns(t, pod) {
			continue
		}
		switch {
		case !t.Required():
			s.score(node, t, int64(t.Weight()))
		case t.Anti():
			s.existing.add(node, t.TopologyKey(), 1)
		case p.hardWeight > 0:
			s.score(node, t, p.hardWeight)
		}
	}
	if pod.PodAffinity().Len() == 0 {
		return nil
	}
	for other := range node.Pods().All() {
		labels := other.Labels()
		s.count(pod, other.Namespace(), labels, node, 1)
		for i := range pod.PodAffinity().Len() {
			if t := pod.PodAffinity().At(i); !t.Required() && s.matches(i, t, other.Namespace(), labels) {
				s.score(node, t, int64(t.Weight()))
			}
		}
	}
	return nil
}

// PreFilterEnd implements berth.PreFilterNodesPlugin.
func (p *plugin) PreFilterEnd(c *berth.Cycle, pod berth.Pod) *berth.Status {
	s, status := berth.StateOf[*state](c)
	if status != nil {
		return status
	}
	if required, _ := terms(pod); !required && len(s.existing) == 0 {
		return berth.Skip()
	}
	return nil
}

// terms says whether a pod has required terms and preferred ones.
func terms(pod berth.Pod) (required, preferred bool) {
	for t := range pod.PodAffinity().All() {
		required, preferred = required || t.Required(), preferred || !t.Required()
	}
	return required, preferred
}

// AddPod implements berth.PreFilterExtensions.
func (p *plugin) AddPod(c *berth.Cycle, pod, other berth.Pod, node berth.Node) *berth.Status {
	return p.change(c, pod, other, node, 1)
}

// RemovePod implements berth.PreFilterExtensions.
func (p *plugin) RemovePod(c *berth.Cycle, pod, other berth.Pod, node berth.Node) *berth.Status {
	return p.change(c, pod, other, node, -1)
}

func (p *plugin) change(c *berth.Cycle, pod, other berth.Pod, node berth.Node, n int64) *berth.Status {
	s, status := berth.StateOf[*state](c)
	if status != nil {
		return status
	}
	for t := range other.PodAffinity().All() {
		if t.Required() && t.Anti() && s.concerns(t, pod) {
			s.existing.add(node, t.TopologyKey(), n)
		}
	}
	s.count(pod, other.Namespace(), other.Labels(), node, n)
	return nil
}

// Filter implements berth.FilterPlugin.
func (p *plugin) Filter(c *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	s, status := berth.StateOf[*state](c)
	switch {
	case status != nil:
		return status
	case !s.allows(pod, node):
		return berth.UnschedulableAndUnresolvable("node(s) didn't match pod affinity rules")
	case s.avoids(pod, node):
		return berth.Unschedulable("node(s) didn't match pod anti-affinity rules")
	case s.isAvoided(node):
		return berth.Unschedulable("node(s) didn't satisfy existing pods anti-affinity rules")
	}
	return nil
}

// allows says whether the pods that the pod wants are in the node's domains, or
// nowhere while it is such a pod itself.
func (s *state) allows(pod berth.Pod, node berth.Node) bool {
	all := true
	for t := range pod.PodAffinity().All() {
		if !t.Required() || t.Anti() {
			continue
		}
		d, ok := domainOf(node, t.TopologyKey())
		if !ok {
			return false
		}
		all = all && s.wanted[d] > 0
	}
	return all || len(s.wanted) == 0 && s.meets(pod, pod.Namespace(), pod.Labels())
}

func (s *state) avoids(pod berth.Pod, node berth.Node) bool {
	for t := range pod.PodAffinity().All() {
		if t.Required() && t.Anti() {
			if d, ok := domainOf(node, t.TopologyKey()); ok && s.avoided[d] > 0 {
				return true
			}
		}
	}
	return false
}

func (s *state) isAvoided(node berth.Node) bool {
	for l := range node.Labels().All() {
		if s.existing[domain{l.Key(), l.Value()}] > 0 {
			return true
		}
	}
	return false
}

// PreScore implements berth.PreScorePlugin.
func (p *plugin) PreScore(c *berth.Cycle, pod berth.Pod) *berth.Status {
	s, status := berth.StateOf[*state](c)
	if status != nil {
		return status
	}
	if _, preferred := terms(pod); len(s.scores) == 0 || p.ignore && !preferred {
		return berth.Skip()
	}
	return nil
}

// Score implements berth.ScorePlugin.
func (p *plugin) Score(c *berth.Cycle, _ berth.Pod, node berth.Node) (sum int64, _ *berth.Status) {
	s, status := berth.StateOf[*state](c)
	if status != nil {
		return 0, status
	}
	for l := range node.Labels().All() {
		sum += s.scores[domain{l.Key(), l.Value()}]
	}
	return sum, nil
}

// NormalizeScore implements berth.NormalizeScorePlugin: the lowest is 0, the
// highest 100.
func (p *plugin) NormalizeScore(_ *berth.Cycle, _ berth.Pod, scores []int64) *berth.Status {
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	for _, score := range scores {
		least, most = min(least, score), max(most, score)
	}
	for i, score := range scores {
		scores[i] = 0
		if most > least {
			scores[i] = int64(100 * (float64(score-least) / float64(most-least)))
		}
	}
	return nil
}
