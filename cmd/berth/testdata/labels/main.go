// SPDX-License-Identifier: Apache-2.0

// Command labels is the policy that the tests of berth build: nodes must carry
// a label, whose name is the config.
package main

import berth "github.com/berth-scheduler/berth/guest-sdk/go"

type labels struct {
	key berth.Symbol
}

func init() {
	berth.Register(&berth.Policy{
		Name: "labels", Version: "v1.0.0",
		Reads: []berth.Section{berth.NodeLabels},
	}, &labels{})
}

func main() {}

// Config implements berth.ConfigPlugin.
func (l *labels) Config() []berth.Property {
	return []berth.Property{berth.Bind("key", &l.key, berth.Name()).Required().Doc("name of the label")}
}

// Filter implements berth.FilterPlugin.
func (l *labels) Filter(_ *berth.Cycle, _ berth.Pod, node berth.Node) *berth.Status {
	if !node.Labels().Has(l.key) {
		return missing
	}
	return nil
}

var missing = berth.Unschedulable("node lacks the label")
