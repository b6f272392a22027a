// SPDX-License-Identifier: Apache-2.0

// Command nodeaffinity is a port of the in-tree plugin NodeAffinity, without its
// argument addedAffinity.
package main

import (
	"strconv"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
)

func main() {}

func init() {
	berth.Register(&berth.Policy{
		Name: "NodeAffinity", Version: "1", Pure: true, Normalize: berth.NormalizeMax,
		Reads: []berth.Section{berth.PodNodeSelector, berth.PodNodeAffinity, berth.NodeLabels},
	}, plugin{})
}

var nodeName = berth.NewSymbol("metadata.name")

type plugin struct{}

// PreFilter implements berth.PreFilterPlugin: terms that all ask for nodes by
// name leave those nodes only.
func (plugin) PreFilter(_ *berth.Cycle, pod berth.Pod) (*berth.NodeSet, *berth.Status) {
	required, named := 0, 0
	var names []string
	for term := range pod.NodeAffinity().All() {
		if !term.Required() {
			break
		}
		required++
		if of, ok := namesOf(term); ok {
			named++
			names = append(names, of...)
		}
	}
	switch {
	case required == 0 && pod.NodeSelector().Len() == 0:
		return nil, berth.Skip()
	case required == 0 || named < required:
		return nil, nil
	case len(names) == 0:
		return nil, berth.UnschedulableAndUnresolvable("pod affinity terms conflict")
	}
	return berth.Nodes(names...), nil
}

// namesOf are the names that a term allows; ok is false if it allows all.
func namesOf(term berth.NodeTerm) (names []string, ok bool) {
	for r := range term.Fields().All() {
		if r.Key() != nodeName.ID() || r.Operator() != berth.In {
			continue
		}
		var both []string
		for name := range r.Names().All() {
			if !ok || contains(names, name.String()) {
				both = append(both, name.String())
			}
		}
		names, ok = both, true
	}
	return names, ok
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// Filter implements berth.FilterPlugin.
func (plugin) Filter(_ *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	if !pod.Selects(node) {
		return berth.UnschedulableAndUnresolvable("node(s) didn't match Pod's node affinity/selector")
	}
	return nil
}

// PreScore implements berth.PreScorePlugin.
func (plugin) PreScore(_ *berth.Cycle, pod berth.Pod) *berth.Status {
	preferred := false
	for term := range pod.NodeAffinity().All() {
		if term.Required() {
			continue
		}
		preferred = true
		for r := range term.Labels().All() {
			if op := r.Operator(); term.Weight() != 0 && (op == berth.Gt || op == berth.Lt) && !isNumber(r.Values().At(0).String()) {
				return berth.Error("a preferred term compares with what is no number")
			}
		}
	}
	if !preferred {
		return berth.Skip()
	}
	return nil
}

func isNumber(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

// Score implements berth.ScorePlugin.
func (plugin) Score(_ *berth.Cycle, pod berth.Pod, node berth.Node) (sum int64, _ *berth.Status) {
	for term := range pod.NodeAffinity().All() {
		if !term.Required() && term.Matches(node) {
			sum += int64(term.Weight())
		}
	}
	return sum, nil
}
