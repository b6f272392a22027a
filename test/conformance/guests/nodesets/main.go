// SPDX-License-Identifier: Apache-2.0

// Command nodesets is a guest for tests: its PreFilter narrows the nodes to
// those that its config names.
package main

import berth "github.com/berth-scheduler/berth/guest-sdk/go"

func main() {}

func init() {
	berth.Register(&berth.Policy{Name: "nodesets", Version: "1"}, &nodesets{})
}

type nodesets struct {
	nodes []string
	all   bool
	reply string
}

// Config implements berth.ConfigPlugin.
func (p *nodesets) Config() []berth.Property {
	return []berth.Property{
		berth.Bind("nodes", &p.nodes, berth.ListOf(berth.String())).Doc("names of nodes, of none if left out"),
		berth.Bind("all", &p.all, berth.Bool()).Doc("don't narrow the nodes"),
		berth.Bind("answer", &p.reply, berth.String()).Doc("what PreFilter answers"),
	}
}

// PreFilter implements berth.PreFilterPlugin.
func (p *nodesets) PreFilter(*berth.Cycle, berth.Pod) (*berth.NodeSet, *berth.Status) {
	switch p.reply {
	case "skip":
		return nil, berth.Skip()
	case "unschedulable":
		return nil, berth.Unschedulable("told to reject")
	case "unresolvable":
		return nil, berth.UnschedulableAndUnresolvable("told to reject for good")
	case "panic":
		panic("told to panic")
	}
	if p.all {
		return nil, nil
	}
	return berth.Nodes(p.nodes...), nil
}
