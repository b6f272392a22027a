// SPDX-License-Identifier: Apache-2.0

// Command balancedallocation is a port of the in-tree plugin
// NodeResourcesBalancedAllocation, but for resources of device classes.
package main

import (
	"math"
	"strings"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
)

func main() {}

func init() {
	berth.Register(&berth.Policy{
		Name: "NodeResourcesBalancedAllocation", Version: "1", Pure: true,
		Reads: []berth.Section{berth.PodResources, berth.NodeResources},
	}, &plugin{})
}

type plugin struct {
	names     []string
	resources []resource
	with, now []float64 // fractions in use, with the pod and without it
}

type resource struct {
	symbol berth.Symbol
	scalar bool // counted only where a pod asks for it
}

// Config implements berth.ConfigPlugin.
func (p *plugin) Config() []berth.Property {
	return []berth.Property{
		berth.Bind("resources", &p.names, berth.ListOf(berth.String())).Default([]string{"cpu", "memory"}).Doc("what is to be balanced"),
	}
}

// Configured implements berth.ConfiguredPlugin.
func (p *plugin) Configured() error {
	p.resources = nil
	for _, name := range p.names {
		scalar := !strings.Contains(" cpu memory ephemeral-storage ", " "+name+" ")
		p.resources = append(p.resources, resource{berth.NewSymbol(name), scalar})
	}
	return nil
}

// Score implements berth.ScorePlugin: 75 where the pod changes nothing, more
// where the node is better balanced with it.
func (p *plugin) Score(_ *berth.Cycle, pod berth.Pod, node berth.Node) (int64, *berth.Status) {
	p.with, p.now = p.with[:0], p.now[:0]
	bestEffort := true
	for i := range p.resources {
		r := &p.resources[i]
		want, has := pod.Resource(r.symbol).Request(), node.Resource(r.symbol)
		bestEffort = bestEffort && want == 0
		if r.scalar && want == 0 || has.Allocatable() == 0 {
			continue
		}
		p.with = append(p.with, fraction(has.Requested()+want, has.Allocatable()))
		p.now = append(p.now, fraction(has.Requested(), has.Allocatable()))
	}
	if bestEffort {
		return 0, nil
	}
	return 50 + (50+balance(p.with)-balance(p.now))/2, nil
}

func fraction(requested, allocatable int64) float64 {
	return min(float64(requested)/float64(allocatable), 1)
}

// balance is 100 less the standard deviation in percent.
func balance(fractions []float64) int64 {
	deviation := 0.0
	switch n := float64(len(fractions)); {
	case len(fractions) == 2:
		deviation = math.Abs((fractions[0] - fractions[1]) / 2)
	case len(fractions) > 2:
		var total, sum float64
		for _, f := range fractions {
			total += f
		}
		mean := total / n
		for _, f := range fractions {
			sum += (f - mean) * (f - mean)
		}
		deviation = math.Sqrt(sum / n)
	}
	return int64((1 - deviation) * 100)
}
