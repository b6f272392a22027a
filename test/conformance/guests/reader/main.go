// SPDX-License-Identifier: Apache-2.0

// Reader turns pods down for what it reads: gates of their namespace that are
// closed, nodes that are hot, and a pod that was bound before another came.
package main

import berth "github.com/berth-scheduler/berth/guest-sdk/go"

const (
	gates = "e2e.berth.dev/v1/gates"
	heat  = "heat"
)

var policy = berth.Policy{
	Name: "reader", Version: "1", Reads: []berth.Section{berth.PodIdentity},
	Resources: []berth.Resource{{Name: gates, Selector: "kind=door", Fields: []string{"spec.open"}}},
	DataSets:  []string{heat},
	Intents:   []berth.Intent{berth.IntentState},
}

func init() { berth.Register(&policy, reader{}) }

type reader struct{}

var (
	closed = berth.Unschedulable("a gate is closed")
	hot    = berth.Unschedulable("the node is hot")
	soon   = berth.Unschedulable("a pod was bound just now")
)

// Filter implements berth.FilterPlugin.
func (reader) Filter(c *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	list, s := c.Objects(gates, pod.Namespace().String(), "")
	if s != nil {
		return s
	}
	for gate := range list.All() {
		if !gate.Get("spec", "open").Bool() {
			return closed
		}
	}
	value, s := c.DataSet(heat, node.Name())
	if s != nil {
		return s
	}
	if value.Get("value").Float() > 50 {
		return hot
	}
	last, s := c.Kept("bound")
	if s != nil {
		return s
	}
	if last.Exists() {
		return soon
	}
	return nil
}

// PostBind implements berth.PostBindPlugin.
func (reader) PostBind(c *berth.Cycle, pod berth.Pod, _ string) {
	c.Keep("bound", pod.Name(), 3_000_000_000)
}

func main() {}
