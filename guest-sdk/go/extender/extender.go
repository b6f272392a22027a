// SPDX-License-Identifier: Apache-2.0

package extender

import berth "github.com/berth-scheduler/berth/guest-sdk/go"

// Plugin is a plugin with the points of the verbs that an extender has. Config
// and Configured of the extender are the plugin's. It panics if there is no verb.
func Plugin(extender any) any {
	f, filters := extender.(Filterer)
	p, prioritizes := extender.(Prioritizer)
	v, preempts := extender.(Preempter)
	c := config{extender}
	switch {
	case filters && prioritizes && preempts:
		return &struct {
			config
			filter
			prioritize
			preempt
		}{c, filter{f}, prioritize{p}, preempt{v}}
	case filters && prioritizes:
		return &struct {
			config
			filter
			prioritize
		}{c, filter{f}, prioritize{p}}
	case filters && preempts:
		return &struct {
			config
			filter
			preempt
		}{c, filter{f}, preempt{v}}
	case prioritizes && preempts:
		return &struct {
			config
			prioritize
			preempt
		}{c, prioritize{p}, preempt{v}}
	case filters:
		return &struct {
			config
			filter
		}{c, filter{f}}
	case prioritizes:
		return &struct {
			config
			prioritize
		}{c, prioritize{p}}
	case preempts:
		return &struct {
			config
			preempt
		}{c, preempt{v}}
	}
	panic("extender: want Filter, Prioritize or ProcessPreemption, got none")
}

// config hands the operator's config to the extender.
type config struct{ extender any }

// Config is the extender's config, empty where it takes none.
func (c config) Config() []berth.Property {
	if p, ok := c.extender.(berth.ConfigPlugin); ok {
		return p.Config()
	}
	return nil
}

// Configured lets the extender prepare itself.
func (c config) Configured() error {
	if p, ok := c.extender.(berth.ConfiguredPlugin); ok {
		return p.Configured()
	}
	return nil
}

// gathered is the list of nodes that a verb gets, filled chunk by chunk.
type gathered struct {
	args     Args
	verdicts map[string]*berth.Status
	scores   map[string]int64
}

// Clone shares what is gathered: an extender isn't asked again while the
// scheduler tries what would be without a pod.
func (g *gathered) Clone() berth.State { return g }

// add takes a node. Views go with their call, so the node is copied.
func (g *gathered) add(node berth.Node) {
	copied := node.Clone()
	g.args.Nodes = append(g.args.Nodes, copied)
	g.args.NodeNames = append(g.args.NodeNames, copied.Name())
}

// filter is the verb at PreFilter and Filter.
type filter struct{ verb Filterer }

// unlisted is for a node that the answer doesn't mention.
var unlisted = berth.Unschedulable("the extender doesn't list the node")

// PreFilterBegin starts the list of nodes.
func (filter) PreFilterBegin(c *berth.Cycle, _ berth.Pod) *berth.Status {
	c.SetState(&gathered{})
	return nil
}

// PreFilterNode adds a node to it.
func (filter) PreFilterNode(c *berth.Cycle, _ berth.Pod, node berth.Node) *berth.Status {
	g, s := berth.StateOf[*gathered](c)
	if s != nil {
		return s
	}
	g.add(node)
	return nil
}

// PreFilterEnd asks the extender about all of them.
func (f filter) PreFilterEnd(c *berth.Cycle, pod berth.Pod) *berth.Status {
	g, s := berth.StateOf[*gathered](c)
	if s != nil {
		return s
	}
	g.args.Pod = pod
	result := f.verb.Filter(&g.args)
	g.args = Args{}
	if result.Error != "" {
		return berth.Error(result.Error)
	}
	g.verdicts = map[string]*berth.Status{}
	for node, reason := range result.FailedNodes {
		g.verdicts[node] = berth.Unschedulable(reason)
	}
	for node, reason := range result.FailedAndUnresolvableNodes {
		g.verdicts[node] = berth.UnschedulableAndUnresolvable(reason)
	}
	for _, node := range result.NodeNames {
		if _, failed := g.verdicts[node]; !failed {
			g.verdicts[node] = nil
		}
	}
	return nil
}

// Filter is the extender's answer for a node.
func (filter) Filter(c *berth.Cycle, _ berth.Pod, node berth.Node) *berth.Status {
	g, s := berth.StateOf[*gathered](c)
	if s != nil {
		return s
	}
	verdict, listed := g.verdicts[node.Name()]
	if !listed {
		return unlisted
	}
	return verdict
}

// prioritize is the verb at PreScore and Score.
type prioritize struct{ verb Prioritizer }

// PreScoreBegin starts the list of nodes that passed the filters.
func (prioritize) PreScoreBegin(c *berth.Cycle, _ berth.Pod) *berth.Status {
	if _, s := berth.StateOf[*gathered](c); s != nil {
		c.SetState(&gathered{}) // filter began none
	}
	return nil
}

// PreScoreNode adds a node to it.
func (prioritize) PreScoreNode(c *berth.Cycle, _ berth.Pod, node berth.Node) *berth.Status {
	g, s := berth.StateOf[*gathered](c)
	if s != nil {
		return s
	}
	g.add(node)
	return nil
}

// PreScoreEnd asks the extender about all of them.
func (p prioritize) PreScoreEnd(c *berth.Cycle, pod berth.Pod) *berth.Status {
	g, s := berth.StateOf[*gathered](c)
	if s != nil {
		return s
	}
	g.args.Pod = pod
	list := p.verb.Prioritize(&g.args)
	g.args, g.scores = Args{}, make(map[string]int64, len(list))
	for _, host := range list {
		if host.Score < 0 || host.Score > MaxPriority {
			return berth.Error("the extender's score is not 0 to 10")
		}
		g.scores[host.Host] = host.Score
	}
	return nil
}

// Score is the extender's score of a node, of 100 where the extender's is of
// MaxPriority.
func (prioritize) Score(c *berth.Cycle, _ berth.Pod, node berth.Node) (int64, *berth.Status) {
	g, s := berth.StateOf[*gathered](c)
	if s != nil {
		return 0, s
	}
	return g.scores[node.Name()] * (100 / MaxPriority), nil
}
