// SPDX-License-Identifier: Apache-2.0

// Command preemptor is a guest for tests: it makes room for pods, in the way
// that its config says.
package main

import (
	"strconv"
	"time"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
)

func main() {}

func init() {
	berth.Register(&berth.Policy{
		Name:    "preemptor",
		Version: "1",
		Reads:   []berth.Section{berth.NodeLabels, berth.NodePods, berth.PodIdentity, berth.PodLabels},
		Intents: []berth.Intent{berth.IntentEvict},
	}, &preemptor{})
}

type preemptor struct {
	how     string
	node    string
	violate bool
}

// Config implements berth.ConfigPlugin.
func (p *preemptor) Config() []berth.Property {
	return []berth.Property{
		berth.Bind("how", &p.how, berth.String()).Default("default").Doc("what PostFilter does"),
		berth.Bind("node", &p.node, berth.String()).Doc("the node that it is about"),
		berth.Bind("violate", &p.violate, berth.Bool()).Doc("evict in spite of disruption budgets"),
	}
}

var (
	nothing = berth.Unschedulable("nobody to evict")
	forGood = berth.UnschedulableAndUnresolvable("told to end it")
)

// PostFilter implements berth.PostFilterPlugin.
func (p *preemptor) PostFilter(c *berth.PostFilterCycle, pod berth.Pod) (*berth.Nomination, *berth.Status) {
	switch p.how {
	case "default":
		return p.likeDefault(c)
	case "together":
		return p.together(c, pod)
	case "all":
		return p.all(c, pod)
	case "nominate":
		return &berth.Nomination{Node: p.node}, nil
	case "nothing":
		return nil, nil
	case "unschedulable":
		return nil, nothing
	case "unresolvable":
		return nil, forGood
	case "report":
		return nil, report(c, p.node)
	case "error":
		return nil, berth.Error("told to fail")
	}
	return p.misbehave(c, pod)
}

// likeDefault evicts as few pods of one node as it can.
func (p *preemptor) likeDefault(c *berth.PostFilterCycle) (*berth.Nomination, *berth.Status) {
	var choices [][]berth.Victim
	for place := range c.CandidateCount() {
		for n := range c.CandidatesFrom(place) {
			if victims, s := c.SelectVictims(n, nil); s.IsSuccess() && len(victims) > 0 {
				choices = append(choices, victims)
			}
			break
		}
	}
	i := berth.PickNode(choices)
	if i < 0 {
		return nil, nothing
	}
	return &berth.Nomination{Node: choices[i][0].Node, Victims: choices[i], ViolatePDBs: p.violate}, nil
}

// lower are the pods of lower priority on nodes.
func lower(nodes func(yield func(berth.Node) bool), pod berth.Pod) (names []string, victims []berth.Victim) {
	for n := range nodes {
		name := string([]byte(n.Name()))
		names = append(names, name)
		for other := range n.Pods().All() {
			if other.Priority() < pod.Priority() && !other.Nominated() {
				victims = append(victims, berth.Victim{Node: name, UID: string([]byte(other.UID()))})
			}
		}
	}
	return names, victims
}

// together evicts the pods of lower priority on all candidates, if only that
// helps on one of them, or on the one that it is about.
func (p *preemptor) together(c *berth.PostFilterCycle, pod berth.Pod) (*berth.Nomination, *berth.Status) {
	names, victims := lower(c.Candidates(), pod)
	for _, name := range names {
		if p.node != "" && p.node != name {
			continue
		}
		var here []berth.Victim
		for _, v := range victims {
			if v.Node == name {
				here = append(here, v)
			}
		}
		answers := c.DryRun([]berth.Trial{{Node: name}, {Node: name, Victims: here}, {Node: name, Victims: victims}})
		if !answers[0].IsSuccess() && !answers[1].IsSuccess() && answers[2].IsSuccess() {
			return &berth.Nomination{Node: name, Victims: victims, ViolatePDBs: p.violate}, nil
		}
	}
	return nil, nothing
}

// all evicts every pod of the node, twice each, whatever its priority.
func (p *preemptor) all(c *berth.PostFilterCycle, _ berth.Pod) (*berth.Nomination, *berth.Status) {
	n, ok := c.Node(p.node)
	if !ok {
		return nil, nothing
	}
	var victims []berth.Victim
	for range 2 {
		for other := range n.Pods().All() {
			victims = append(victims, berth.Victim{Node: p.node, UID: string([]byte(other.UID()))})
		}
	}
	return &berth.Nomination{Node: p.node, Victims: victims, ViolatePDBs: p.violate}, nil
}

// report says what the host says about a node.
func report(c *berth.PostFilterCycle, node string) *berth.Status {
	nominated, s := c.Nominated(node)
	if s != nil {
		return s
	}
	why, s := c.NodeStatus(node)
	if s != nil {
		return s
	}
	text := "nominated:"
	for pod := range nominated.All() {
		text += " " + pod.Get("namespace").Text() + "/" + pod.Get("name").Text() + " " + pod.Get("uid").Text() + " " + strconv.Itoa(int(pod.Get("priority").Int()))
	}
	text += ", status: " + strconv.Itoa(int(why.Get("code").Int()))
	for reason := range why.Get("reasons").All() {
		text += " " + reason.Text()
	}
	return berth.Unschedulable(text)
}

var (
	hold    = berth.NewSymbol("hold")
	blocker = berth.NewSymbol("blocker")
	blocked = berth.Unschedulable("a blocker is on the node")
)

// Filter implements berth.FilterPlugin: no pod goes to a node with a blocker.
func (p *preemptor) Filter(_ *berth.Cycle, _ berth.Pod, node berth.Node) *berth.Status {
	for other := range node.Pods().All() {
		if _, ok := other.Labels().ID(blocker); ok {
			return blocked
		}
	}
	return nil
}

// Permit implements berth.PermitPlugin: pods with the label hold wait.
func (p *preemptor) Permit(_ *berth.Cycle, pod berth.Pod, _ berth.Node) (*berth.Status, int64) {
	if pod.HasLabel(hold) {
		return berth.Wait("told to hold it"), int64(time.Hour)
	}
	return nil, 0
}

// misbehave does what the host must stop.
func (p *preemptor) misbehave(c *berth.PostFilterCycle, pod berth.Pod) (*berth.Nomination, *berth.Status) {
	asked := func() {
		for range c.Nodes("n1", "no such node") {
			sink++
		}
	}
	switch p.how {
	case "panic at once":
		panic("told to panic")
	case "panic later":
		asked()
		panic("told to panic")
	case "loop at once":
		for {
			sink++
		}
	case "loop later":
		asked()
		for {
			sink++
		}
	case "ask without end":
		for {
			asked()
		}
	case "work without end": // each step within its fuel
		for {
			for i := range 100_000 {
				sink += i
			}
			asked()
		}
	case "no such node":
		return &berth.Nomination{Node: "no such node"}, nil
	case "no such victim":
		return &berth.Nomination{Node: "n1", Victims: []berth.Victim{{Node: "n1", UID: "no such pod"}}}, nil
	case "try no such node":
		c.DryRun([]berth.Trial{{Node: "no such node"}})
	case "try no such victim":
		c.DryRun([]berth.Trial{{Node: "n1", Victims: []berth.Victim{{Node: "n1", UID: "no such pod"}}}})
	case "too many nodes":
		names := make([]string, 65)
		for range c.Nodes(names...) {
			sink++
		}
	}
	return nil, berth.Error("no such way: " + p.how)
}

var sink int
