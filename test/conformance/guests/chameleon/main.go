// SPDX-License-Identifier: Apache-2.0

// Command chameleon is a guest for tests: a Filter and a Score that do what its
// config says, good or bad.
package main

import berth "github.com/berth-scheduler/berth/guest-sdk/go"

// Set by -ldflags -X: what describe says can't come from the config.
var (
	normalize string // a berth.Normalization
	pure      string // "yes" declares the policy pure
	blind     string // "yes" reads no section of nodes
)

func main() {}

func init() {
	reads := []berth.Section{berth.PodLabels, berth.PodResources, berth.PodContainers}
	if blind != "yes" {
		reads = append(reads, berth.NodeLabels, berth.NodePods, berth.NodeResources)
	}
	berth.Register(&berth.Policy{
		Name:      "chameleon",
		Version:   "1",
		Reads:     reads,
		Normalize: berth.Normalization(normalize),
		Pure:      pure == "yes",
	}, &chameleon{})
}

type chameleon struct {
	filter, score, start string
	only                 string
	when                 berth.Symbol
	label                berth.Symbol
	value                int64
	values               []berth.Entry[int64]

	seen  map[string]bool
	hoard [][]byte
	turns int
}

// Config implements berth.ConfigPlugin.
func (c *chameleon) Config() []berth.Property {
	return []berth.Property{
		berth.Bind("filter", &c.filter, berth.String()).Default("accept").Doc("what Filter does"),
		berth.Bind("score", &c.score, berth.String()).Default("value").Doc("what Score does"),
		berth.Bind("start", &c.start, berth.String()).Doc("what configure does"),
		berth.Bind("only", &c.only, berth.String()).Doc("the node where Filter and Score do it; elsewhere they accept and score 0"),
		berth.Bind("when", &c.when, berth.Name()).Doc("the label of the pods for which they do it"),
		berth.Bind("label", &c.label, berth.Name()).Doc("the label that Filter looks at"),
		berth.Bind("value", &c.value, berth.Int()).Doc("the score of a node that values doesn't name"),
		berth.Bind("values", &c.values, berth.MapOf(berth.Int())).Doc("scores by node"),
	}
}

// Configured implements berth.ConfiguredPlugin.
func (c *chameleon) Configured() error {
	c.seen = map[string]bool{}
	if c.start == "refuse" {
		return &berth.ConfigError{Path: "start", Text: "told to refuse"}
	}
	c.misbehave(c.start)
	return nil
}

// Reasons are constant, as they should be.
var (
	rejected     = berth.Unschedulable("told to reject")
	unresolvable = berth.UnschedulableAndUnresolvable("told to reject for good")
	firstTime    = berth.Unschedulable("asked for the first time")
	noLabel      = berth.Unschedulable("no pod with the label on the node")
	otherLabel   = berth.UnschedulableAndUnresolvable("node and pod have different labels")
	noRoom       = berth.Unschedulable("too little room")
	failed       = berth.Error("told to fail")
)

// Filter implements berth.FilterPlugin.
func (c *chameleon) Filter(_ *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	if c.spares(pod, node) {
		return nil
	}
	switch c.filter {
	case "reject":
		return rejected
	case "unresolvable":
		return unresolvable
	case "error":
		return failed
	case "first":
		if name := string([]byte(node.Name())); !c.seen[name] {
			c.seen[name] = true
			return firstTime
		}
	case "needs":
		return c.needs(pod, node)
	case "label":
		want, _ := pod.LabelID(c.label)
		if got, _ := node.LabelID(c.label); got != want {
			return otherLabel
		}
	case "room":
		if pod.Resource(berth.CPU).Request() > node.Resource(berth.CPU).Free() {
			return noRoom
		}
	case "count":
		c.turns++ // state of its own, written in Filter
		if int64(node.Pods().Len()) > c.value {
			return noRoom
		}
	case "divide":
		if share(pod, node) > 1 {
			return noRoom
		}
	default:
		return c.misbehave(c.filter)
	}
	return nil
}

// spares says whether pod and node are not those that the config is about.
func (c *chameleon) spares(pod berth.Pod, node berth.Node) bool {
	return c.only != "" && node.Name() != c.only || c.when != (berth.Symbol{}) && !pod.HasLabel(c.when)
}

// needs rejects nodes without a pod that has the label; a pod with the label
// may go anywhere.
func (c *chameleon) needs(pod berth.Pod, node berth.Node) *berth.Status {
	if pod.HasLabel(c.label) {
		return nil
	}
	for p := range node.Pods().All() {
		if p.Labels().Has(c.label) {
			return nil
		}
	}
	return noLabel
}

// share is what a pod's first container would add to a node's load, divided
// without care.
func share(pod berth.Pod, node berth.Node) int64 {
	cpu := node.Resource(berth.CPU)
	first := pod.Containers().At(0).Requests().Value(berth.CPU)
	return pod.Resource(berth.CPU).Request()/first + cpu.Requested()/cpu.Allocatable()
}

// Score implements berth.ScorePlugin.
func (c *chameleon) Score(_ *berth.Cycle, pod berth.Pod, node berth.Node) (int64, *berth.Status) {
	if c.spares(pod, node) {
		return 0, nil
	}
	switch c.score {
	case "value":
		for _, e := range c.values {
			if e.Key == node.Name() {
				return e.Value, nil
			}
		}
		return c.value, nil
	case "free":
		cpu := node.Resource(berth.CPU)
		return cpu.Free() * 100 / cpu.Allocatable(), nil
	case "error":
		return 0, failed
	case "divide":
		return share(pod, node), nil
	}
	return c.value, c.misbehave(c.score)
}
