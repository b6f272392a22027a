// SPDX-License-Identifier: Apache-2.0

// Maintenance keeps pods off nodes that are about to be serviced, unless they
// are important enough to be moved soon.
package main

import berth "github.com/berth-scheduler/berth/guest-sdk/go"

var policy = berth.Policy{
	Name:    "maintenance",
	Version: "1.0.0",
	Reads:   []berth.Section{berth.NodeLabels},
	Pure:    true,
}

func init() { berth.Register(&policy, &maintenance{}) }

type maintenance struct {
	label       berth.Symbol
	minPriority int64
}

var serviced = berth.UnschedulableAndUnresolvable("the node is about to be serviced")

// Config binds the operator's config to the plugin's fields.
func (m *maintenance) Config() []berth.Property {
	return []berth.Property{
		berth.Bind("label", &m.label, berth.Name()).
			Default(berth.NewSymbol("example.com/maintenance")).
			Doc("node label that announces maintenance, whatever its value"),
		berth.Bind("minPriority", &m.minPriority, berth.Int()).
			Default(1_000_000).
			Doc("pods of this priority and above may go there all the same"),
	}
}

// Filter is asked for each pod and node.
func (m *maintenance) Filter(_ *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	if node.HasLabel(m.label) && int64(pod.Priority()) < m.minPriority {
		return serviced
	}
	return nil
}

func main() {}
