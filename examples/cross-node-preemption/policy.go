// SPDX-License-Identifier: Apache-2.0

// Cross-node-preemption makes room for a pod whose spread constraint or
// anti-affinity is in the way, by evicting pods on several nodes.
package main

import berth "github.com/berth-scheduler/berth/guest-sdk/go"

var policy = berth.Policy{
	Name:    "cross-node-preemption",
	Version: "1.0.0",
	Reads: []berth.Section{
		berth.PodIdentity, berth.PodLabels, berth.PodPodAffinity, berth.PodSpread, berth.NodeLabels, berth.NodePods,
	},
	Intents: []berth.Intent{berth.IntentEvict},
}

func init() { berth.Register(&policy, &crossNode{}) }

// crossNode is the plugin; its fields are its config.
type crossNode struct {
	victims    int64
	candidates int64
}

var (
	_ berth.PreFilterNodesPlugin = &crossNode{}
	_ berth.PostFilterPlugin     = &crossNode{}
)

var noHelp = berth.Unschedulable("evicting pods on several nodes doesn't help within the budget")

// Config is the policy's config.
func (p *crossNode) Config() []berth.Property {
	return []berth.Property{
		berth.Bind("maxVictims", &p.victims, berth.IntBetween(1, 100)).Default(8).
			Doc("the most pods that are evicted for one pod"),
		berth.Bind("maxCandidates", &p.candidates, berth.IntBetween(1, 1000)).Default(32).
			Doc("the most nodes that are tried for one pod"),
	}
}

// rule is one of the pod's constraints on where other pods are.
type rule struct {
	topologyKey berth.ID
	matches     func(other berth.NodePod) bool
}

// rules are the pod's required anti-affinity terms and its spread constraints
// that must hold.
func rules(pod berth.Pod) []rule {
	var all []rule
	for term := range pod.PodAffinity().All() {
		if term.Anti() && term.Required() {
			all = append(all, rule{term.TopologyKey(), func(other berth.NodePod) bool {
				return term.Namespaces().Contains(other.Namespace()) && term.Selector().Matches(other.Labels())
			}})
		}
	}
	for spread := range pod.SpreadConstraints().All() {
		if spread.When() == berth.DoNotSchedule {
			all = append(all, rule{spread.TopologyKey(), func(other berth.NodePod) bool {
				return other.Namespace() == pod.Namespace() && spread.Selector().Matches(other.Labels())
			}})
		}
	}
	return all
}

// obstacle is a pod that stands in the way in a part of the cluster.
type obstacle struct {
	topologyKey, domain berth.ID
	pod                 berth.Victim
}

// obstacles are the cycle state.
type obstacles struct{ list []obstacle }

// Clone shares the list: nothing changes it.
func (o *obstacles) Clone() berth.State { return o }

// PreFilterBegin leaves pods alone that no such rule keeps from a node.
func (p *crossNode) PreFilterBegin(c *berth.Cycle, pod berth.Pod) *berth.Status {
	if pod.NeverPreempts() || len(rules(pod)) == 0 {
		return berth.Skip()
	}
	c.SetState(&obstacles{})
	return nil
}

// PreFilterNode notes the pods of a node that a rule is about and that may be
// evicted.
func (p *crossNode) PreFilterNode(c *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	o, s := berth.StateOf[*obstacles](c)
	if s != nil {
		return s
	}
	for _, r := range rules(pod) {
		domain, ok := labelOf(node, r.topologyKey)
		if !ok {
			continue
		}
		for other := range node.Pods().All() {
			if other.Priority() < pod.Priority() && !other.Nominated() && r.matches(other) {
				o.list = append(o.list, obstacle{r.topologyKey, domain, victim(node, other)})
			}
		}
	}
	return nil
}

// PreFilterEnd has nothing to add.
func (p *crossNode) PreFilterEnd(*berth.Cycle, berth.Pod) *berth.Status { return nil }

func labelOf(node berth.Node, key berth.ID) (berth.ID, bool) {
	for l := range node.Labels().All() {
		if l.Key() == key {
			return l.Value(), true
		}
	}
	return 0, false
}

// victim is a pod on a node, kept over the call.
func victim(node berth.Node, pod berth.NodePod) berth.Victim {
	return berth.Victim{
		Node: string([]byte(node.Name())), UID: string([]byte(pod.UID())),
		Priority: pod.Priority(), Started: pod.Started(),
	}
}

// PostFilter tries each candidate without the pods of lower priority that are on
// it or, in its part of the cluster, in the way, and puts back as many as it can.
func (p *crossNode) PostFilter(c *berth.PostFilterCycle, pod berth.Pod) (*berth.Nomination, *berth.Status) {
	o, s := berth.StateOf[*obstacles](c.Cycle)
	if s != nil {
		return nil, noHelp
	}
	if s := c.MayPreempt(); s != nil {
		return nil, s
	}
	var nodes []string
	var choices [][]berth.Victim
	tried := int64(0)
	for node := range c.Candidates() {
		if tried++; tried > p.candidates {
			break
		}
		name := string([]byte(node.Name()))
		victims, s := c.FewestVictims(name, o.around(node, pod))
		if s == nil && int64(len(victims)) <= p.victims {
			nodes, choices = append(nodes, name), append(choices, victims)
		}
	}
	best := berth.PickNode(choices)
	if best < 0 {
		return nil, noHelp
	}
	return &berth.Nomination{Node: nodes[best], Victims: choices[best]}, nil
}

// around are the pods of lower priority on a node, and those in the way in the
// parts of the cluster that the node belongs to; each once.
func (o *obstacles) around(node berth.Node, pod berth.Pod) []berth.Victim {
	var list []berth.Victim
	taken := map[string]bool{}
	for other := range node.Pods().All() {
		if other.Priority() < pod.Priority() && !other.Nominated() {
			v := victim(node, other)
			taken[v.UID] = true
			list = append(list, v)
		}
	}
	for _, x := range o.list {
		if domain, ok := labelOf(node, x.topologyKey); ok && domain == x.domain && !taken[x.pod.UID] {
			taken[x.pod.UID] = true
			list = append(list, x.pod)
		}
	}
	return list
}

func main() {}
