// SPDX-License-Identifier: Apache-2.0

// Command podtopologyspread is a port of the in-tree plugin PodTopologySpread,
// for the constraints that a pod has itself.
package main

import (
	"math"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
)

func main() {}

func init() {
	berth.Register(&berth.Policy{
		Name: "PodTopologySpread", Version: "1",
		Reads: []berth.Section{
			berth.PodSpread, berth.PodLabels, berth.PodNodeSelector, berth.PodNodeAffinity, berth.PodTolerations,
			berth.NodeLabels, berth.NodeTaints, berth.NodePods,
		},
	}, plugin{})
}

const (
	tooUneven = "node(s) didn't match pod topology spread constraints"
	noDomain  = tooUneven + " (missing required label)"
)

type plugin struct{}

// spread is a cycle's state: the pods that count by domain, for constraints that
// filter (hard) and those that score (soft).
type spread struct {
	hard, soft []domains
	ignored    []bool // nodes that are to be scored, in their order: without a domain of all soft constraints
}

// domains are those of one constraint.
type domains struct {
	constraint int // its place in the pod's list
	key        berth.ID
	pods       map[berth.ID]int
	least      int               // of pods
	candidates map[berth.ID]bool // domains of nodes to score
	weight     float64           // of the number of domains to score
}

// Clone implements berth.State. Only what AddPod and RemovePod change is copied.
func (s *spread) Clone() berth.State {
	c := &spread{soft: s.soft, ignored: s.ignored}
	for _, d := range s.hard {
		pods := make(map[berth.ID]int, len(d.pods))
		for domain, n := range d.pods {
			pods[domain] = n
		}
		d.pods = pods
		c.hard = append(c.hard, d)
	}
	return c
}

func (d *domains) of(pod berth.Pod) berth.SpreadConstraint {
	return pod.SpreadConstraints().At(d.constraint)
}

// update finds the domain with the fewest pods.
func (d *domains) update() {
	d.least = math.MaxInt32
	for _, n := range d.pods {
		d.least = min(d.least, n)
	}
}

// inAll says whether a node has a domain of each constraint.
func inAll(list []domains, node berth.Node) bool {
	labels := node.Labels()
	for i := range list {
		if _, ok := value(labels, list[i].key); !ok {
			return false
		}
	}
	return true
}

// value is a label's value by the key's ID.
func value(labels berth.Labels, key berth.ID) (berth.ID, bool) {
	for l := range labels.All() {
		if l.Key() == key {
			return l.Value(), true
		}
	}
	return 0, false
}

// selects says whether a constraint counts pods of these labels. matchLabelKeys
// ask for the values that the incoming pod has.
func selects(c berth.SpreadConstraint, pod berth.Pod, labels berth.Labels) bool {
	if !c.Selector().Matches(labels) {
		return false
	}
	for i := range c.MatchLabelKeys().Len() {
		key := c.MatchLabelKeys().At(i)
		if want, ok := value(pod.Labels(), key); ok {
			if got, ok := value(labels, key); !ok || got != want {
				return false
			}
		}
	}
	return true
}

// empty says whether a constraint selects all pods, of which it then counts
// none: so does the original, but where pods come and go.
func empty(c berth.SpreadConstraint, pod berth.Pod) bool {
	if !c.Selector().IsSet() || c.Selector().Requirements().Len() > 0 {
		return false
	}
	for i := range c.MatchLabelKeys().Len() {
		if _, ok := value(pod.Labels(), c.MatchLabelKeys().At(i)); ok {
			return false
		}
	}
	return true
}

// counts says whether the pods of a node count for a constraint.
func counts(c berth.SpreadConstraint, pod berth.Pod, node berth.Node) bool {
	if c.HonorsNodeAffinity() && !pod.Selects(node) {
		return false
	}
	if c.HonorsTaints() {
		if _, untolerated := pod.UntoleratedTaint(node); untolerated {
			return false
		}
	}
	return true
}

// podsOn is the number of a node's pods that a constraint counts.
func podsOn(node berth.Node, c berth.SpreadConstraint, pod berth.Pod) (n int) {
	if empty(c, pod) {
		return 0
	}
	for other := range node.Pods().All() {
		if !other.Terminating() && other.Namespace() == pod.Namespace() && selects(c, pod, other.Labels()) {
			n++
		}
	}
	return n
}

// PreFilterBegin implements berth.PreFilterNodesPlugin.
func (plugin) PreFilterBegin(c *berth.Cycle, pod berth.Pod) *berth.Status {
	s := &spread{}
	for i := range pod.SpreadConstraints().Len() {
		constraint := pod.SpreadConstraints().At(i)
		d := domains{constraint: i, key: constraint.TopologyKey(), pods: map[berth.ID]int{}}
		if constraint.When() == berth.DoNotSchedule {
			s.hard = append(s.hard, d)
		} else {
			s.soft = append(s.soft, d)
		}
	}
	if len(s.hard)+len(s.soft) == 0 {
		return berth.Skip()
	}
	c.SetState(s)
	return nil
}

// PreFilterNode implements berth.PreFilterNodesPlugin. It counts for PreScore,
// too, which sees only the nodes that passed.
func (plugin) PreFilterNode(c *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	s, status := berth.StateOf[*spread](c)
	if status != nil {
		return status
	}
	count(s.hard, pod, node)
	count(s.soft, pod, node)
	return nil
}

func count(list []domains, pod berth.Pod, node berth.Node) {
	if !inAll(list, node) {
		return
	}
	for i := range list {
		d := &list[i]
		constraint := d.of(pod)
		if !counts(constraint, pod, node) {
			continue
		}
		domain, _ := value(node.Labels(), d.key)
		d.pods[domain] += podsOn(node, constraint, pod)
	}
}

// PreFilterEnd implements berth.PreFilterNodesPlugin.
func (plugin) PreFilterEnd(c *berth.Cycle, _ berth.Pod) *berth.Status {
	s, status := berth.StateOf[*spread](c)
	if status != nil {
		return status
	}
	for i := range s.hard {
		s.hard[i].update()
	}
	return nil
}

// AddPod implements berth.PreFilterExtensions.
func (p plugin) AddPod(c *berth.Cycle, pod, other berth.Pod, node berth.Node) *berth.Status {
	return p.change(c, pod, other, node, 1)
}

// RemovePod implements berth.PreFilterExtensions.
func (p plugin) RemovePod(c *berth.Cycle, pod, other berth.Pod, node berth.Node) *berth.Status {
	return p.change(c, pod, other, node, -1)
}

func (plugin) change(c *berth.Cycle, pod, other berth.Pod, node berth.Node, by int) *berth.Status {
	s, status := berth.StateOf[*spread](c)
	if status != nil {
		return status
	}
	if other.Namespace() != pod.Namespace() || !inAll(s.hard, node) {
		return nil
	}
	for i := range s.hard {
		d := &s.hard[i]
		constraint := d.of(pod)
		if selects(constraint, pod, other.Labels()) && counts(constraint, pod, node) {
			domain, _ := value(node.Labels(), d.key)
			d.pods[domain] += by
			d.update()
		}
	}
	return nil
}

// Filter implements berth.FilterPlugin.
func (plugin) Filter(c *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	s, status := berth.StateOf[*spread](c)
	if status != nil {
		return status
	}
	for i := range s.hard {
		d := &s.hard[i]
		domain, ok := value(node.Labels(), d.key)
		if !ok {
			return berth.UnschedulableAndUnresolvable(noDomain)
		}
		constraint := d.of(pod)
		least := d.least
		if len(d.pods) < int(constraint.MinDomains()) {
			least = 0
		}
		pods := d.pods[domain]
		if selects(constraint, pod, pod.Labels()) {
			pods++
		}
		if pods-least > int(constraint.MaxSkew()) {
			return berth.Unschedulable(tooUneven)
		}
	}
	return nil
}

// PreScoreBegin implements berth.PreScoreNodesPlugin.
func (plugin) PreScoreBegin(c *berth.Cycle, pod berth.Pod) *berth.Status {
	if pod.SpreadConstraints().Len() == 0 {
		return berth.Skip()
	}
	s, status := berth.StateOf[*spread](c)
	if status != nil {
		return status
	}
	if len(s.soft) == 0 {
		return berth.Skip()
	}
	s.ignored = nil
	for i := range s.soft {
		s.soft[i].candidates = map[berth.ID]bool{}
	}
	return nil
}

// PreScoreNode implements berth.PreScoreNodesPlugin.
func (plugin) PreScoreNode(c *berth.Cycle, _ berth.Pod, node berth.Node) *berth.Status {
	s, status := berth.StateOf[*spread](c)
	if status != nil {
		return status
	}
	ignored := !inAll(s.soft, node)
	s.ignored = append(s.ignored, ignored)
	for i := 0; i < len(s.soft) && !ignored; i++ {
		d := &s.soft[i]
		domain, _ := value(node.Labels(), d.key)
		d.candidates[domain] = true
	}
	return nil
}

// PreScoreEnd implements berth.PreScoreNodesPlugin.
func (plugin) PreScoreEnd(c *berth.Cycle, _ berth.Pod) *berth.Status {
	s, status := berth.StateOf[*spread](c)
	if status != nil {
		return status
	}
	scored := 0
	for _, ignored := range s.ignored {
		if !ignored {
			scored++
		}
	}
	for i := range s.soft {
		d := &s.soft[i]
		size := len(d.candidates)
		if d.key == berth.Hostname.ID() {
			size = scored
		}
		d.weight = math.Log(float64(size + 2))
	}
	return nil
}

// Score implements berth.ScorePlugin: the more pods, the worse.
func (plugin) Score(c *berth.Cycle, pod berth.Pod, node berth.Node) (int64, *berth.Status) {
	s, status := berth.StateOf[*spread](c)
	if status != nil {
		return 0, status
	}
	if !inAll(s.soft, node) {
		return 0, nil
	}
	var score float64
	for i := range s.soft {
		d := &s.soft[i]
		constraint := d.of(pod)
		var pods int
		if d.key == berth.Hostname.ID() {
			pods = podsOn(node, constraint, pod)
		} else {
			domain, _ := value(node.Labels(), d.key)
			pods = d.pods[domain]
		}
		score += float64(pods)*d.weight + float64(constraint.MaxSkew()-1)
	}
	return int64(math.Round(score)), nil
}

// NormalizeScore implements berth.NormalizeScorePlugin. The scores are in the
// order of PreScoreNode.
func (plugin) NormalizeScore(c *berth.Cycle, _ berth.Pod, scores []int64) *berth.Status {
	s, status := berth.StateOf[*spread](c)
	if status != nil {
		return status
	}
	if len(scores) != len(s.ignored) {
		return berth.Error("the nodes to score aren't those that pre_score saw")
	}
	least, most := int64(math.MaxInt64), int64(0)
	for i, score := range scores {
		if !s.ignored[i] {
			least, most = min(least, score), max(most, score)
		}
	}
	for i, score := range scores {
		switch {
		case s.ignored[i]:
			scores[i] = 0
		case most == 0:
			scores[i] = 100
		default:
			scores[i] = 100 * (most + least - score) / most
		}
	}
	return nil
}
