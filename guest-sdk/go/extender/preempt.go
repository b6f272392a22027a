// SPDX-License-Identifier: Apache-2.0

package extender

import berth "github.com/berth-scheduler/berth/guest-sdk/go"

// preempt is the verb at PostFilter. The policy declares the intent evict, and
// the sections that choosing victims reads.
type preempt struct{ verb Preempter }

var noCandidate = berth.Unschedulable("no node is left that preemption may use")

// PostFilter finds the victims of each node as the scheduler does, lets the
// extender go over them, and takes the node where that hurts least.
func (p preempt) PostFilter(c *berth.PostFilterCycle, pod berth.Pod) (*berth.Nomination, *berth.Status) {
	if s := c.MayPreempt(); s != nil {
		return nil, s
	}
	known := map[string]berth.Victim{}
	var names []string
	args := PreemptionArgs{Pod: pod, NodeNameToMetaVictims: map[string]*MetaVictims{}}
	for node := range c.Candidates() {
		for other := range node.Pods().All() {
			uid := string([]byte(other.UID()))
			known[uid] = berth.Victim{Node: string([]byte(node.Name())), UID: uid, Priority: other.Priority(), Started: other.Started()}
		}
		name := string([]byte(node.Name()))
		victims, s := c.SelectVictims(node, nil)
		if s != nil {
			continue
		}
		meta := &MetaVictims{}
		for _, v := range victims {
			meta.Pods = append(meta.Pods, MetaPod{v.UID})
		}
		names = append(names, name)
		args.NodeNameToMetaVictims[name] = meta
	}
	if len(names) == 0 {
		return nil, noCandidate
	}
	result := p.verb.ProcessPreemption(&args)
	var nodes []string
	var choices [][]berth.Victim
	for _, name := range names {
		meta := result.NodeNameToMetaVictims[name]
		if meta == nil {
			continue
		}
		var victims []berth.Victim
		for _, m := range meta.Pods {
			v, ok := known[m.UID]
			if !ok || v.Node != name {
				return nil, berth.Error("the extender's victims are not pods of their node")
			}
			victims = append(victims, v)
		}
		nodes, choices = append(nodes, name), append(choices, victims)
	}
	best := berth.PickNode(choices)
	if best < 0 {
		return nil, noCandidate
	}
	return &berth.Nomination{Node: nodes[best], Victims: choices[best]}, nil
}
