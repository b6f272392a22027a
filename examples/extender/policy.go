// SPDX-License-Identifier: Apache-2.0

// Extender hands out floating licences of nodes. It was an HTTP extender of
// kube-scheduler with the verbs filter, prioritize and preempt; the logic and its
// argument shapes are what they were.
package main

import (
	"strconv"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
	"github.com/berth-scheduler/berth/guest-sdk/go/extender"
)

var policy = berth.Policy{
	Name:    "extender",
	Version: "1.0.0",
	Reads:   []berth.Section{berth.PodLabels, berth.NodeAnnotations, berth.NodePods},
}

func init() { berth.Register(&policy, extender.Plugin(&licences{})) }

// licences is the extender; its fields are its config.
type licences struct {
	podLabel       berth.Symbol
	nodeAnnotation berth.Symbol
}

var (
	_ extender.Filterer    = &licences{}
	_ extender.Prioritizer = &licences{}
)

// Config is the policy's config.
func (l *licences) Config() []berth.Property {
	return []berth.Property{
		berth.Bind("podLabel", &l.podLabel, berth.Name()).Default(berth.NewSymbol("berth.dev/licence")).
			Doc("pod label that says that the pod takes a licence"),
		berth.Bind("nodeAnnotation", &l.nodeAnnotation, berth.Name()).Default(berth.NewSymbol("berth.dev/licences")).
			Doc("node annotation with the number of licences of the node"),
	}
}

// Filter lets a pod that takes a licence onto nodes with one to spare.
func (l *licences) Filter(args *extender.Args) *extender.FilterResult {
	result := &extender.FilterResult{
		FailedNodes:                map[string]string{},
		FailedAndUnresolvableNodes: map[string]string{},
	}
	takes := args.Pod.HasLabel(l.podLabel)
	for i, node := range args.Nodes {
		switch total, used := l.count(node); {
		case !takes || used < total:
			result.NodeNames = append(result.NodeNames, args.NodeNames[i])
		case total == 0:
			result.FailedAndUnresolvableNodes[args.NodeNames[i]] = "the node has no licences"
		default:
			result.FailedNodes[args.NodeNames[i]] = "all licences of the node are in use"
		}
	}
	return result
}

// Prioritize fills nodes one after the other, so that some keep many licences
// for pods that come together. Pods that take none keep away from licences.
func (l *licences) Prioritize(args *extender.Args) extender.HostPriorityList {
	var list extender.HostPriorityList
	takes := args.Pod.HasLabel(l.podLabel)
	for i, node := range args.Nodes {
		total, used := l.count(node)
		host := extender.HostPriority{Host: args.NodeNames[i]}
		switch {
		case takes && total > 0:
			host.Score = min(used, total) * extender.MaxPriority / total
		case !takes && total == 0:
			host.Score = extender.MaxPriority
		}
		list = append(list, host)
	}
	return list
}

// count is how many licences a node has and how many its pods take.
func (l *licences) count(node berth.Node) (total, used int64) {
	if text, ok := node.Annotation(l.nodeAnnotation); ok {
		if n, err := strconv.ParseUint(text, 10, 31); err == nil {
			total = int64(n)
		}
	}
	for pod := range node.Pods().All() {
		if pod.Labels().Has(l.podLabel) {
			used++
		}
	}
	return total, used
}

func main() {}
