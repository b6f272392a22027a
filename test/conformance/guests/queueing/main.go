// SPDX-License-Identifier: Apache-2.0

// Command queueing is a guest for tests: it gates pods, rejects them until a node
// is open, and says which events help.
package main

import berth "github.com/berth-scheduler/berth/guest-sdk/go"

func main() {}

func init() {
	berth.Register(&berth.Policy{
		Name: "queueing", Version: "1",
		Reads:  []berth.Section{berth.PodLabels, berth.NodeLabels},
		Events: []string{"node/label", "pod/label"},
	}, &queueing{})
}

type queueing struct {
	gate bool
	how  string
}

// Config implements berth.ConfigPlugin.
func (q *queueing) Config() []berth.Property {
	return []berth.Property{
		berth.Bind("gate", &q.gate, berth.Bool()).Doc("gate pods with the label gated"),
		berth.Bind("how", &q.how, berth.String()).Doc("what goes wrong: gate panic, gate error, hint panic"),
	}
}

var (
	_ berth.PreEnqueuePlugin   = &queueing{}
	_ berth.QueueingHintPlugin = &queueing{}
	_ berth.FilterPlugin       = &queueing{}
)

var (
	gated = berth.NewSymbol("gated")
	open  = berth.NewSymbol("open")
	yes   = berth.NewSymbol("yes")

	waits  = berth.UnschedulableAndUnresolvable("told to wait")
	closed = berth.Unschedulable("the node isn't open")
)

// PreEnqueue implements berth.PreEnqueuePlugin.
func (q *queueing) PreEnqueue(_ *berth.Cycle, pod berth.Pod) *berth.Status {
	switch q.how {
	case "gate panic":
		panic("told to panic")
	case "gate error":
		return berth.Error("told to fail")
	}
	if q.gate && pod.HasLabel(gated) {
		return waits
	}
	return nil
}

// QueueingHint implements berth.QueueingHintPlugin.
func (q *queueing) QueueingHint(_ *berth.Cycle, _ berth.Pod, event berth.Event) bool {
	if q.how == "hint panic" {
		panic("told to panic")
	}
	if event.Name() == "pod/label" {
		return true
	}
	before := event.Old().Get("metadata", "labels", "open").Text()
	after := event.New().Get("metadata", "labels", "open").Text()
	return before != "yes" && after == "yes"
}

// Filter implements berth.FilterPlugin.
func (q *queueing) Filter(_ *berth.Cycle, _ berth.Pod, node berth.Node) *berth.Status {
	if node.LabelIs(open, yes) {
		return nil
	}
	return closed
}
