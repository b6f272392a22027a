// SPDX-License-Identifier: Apache-2.0

// Command noderesourcesfit is a port of the in-tree plugin NodeResourcesFit with
// its three scoring strategies, but for resources of device classes.
package main

import (
	"errors"
	"math"
	"slices"
	"strings"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
)

func main() {}

func init() {
	berth.Register(&berth.Policy{
		Name: "NodeResourcesFit", Version: "1", Pure: true,
		Reads: []berth.Section{berth.PodResources, berth.PodContainers, berth.NodeResources},
	}, &plugin{})
}

type resource struct {
	name   string
	weight int64
	symbol berth.Symbol
	scalar bool // counted only where a pod asks for it
}

type point struct{ utilization, score int64 }

// known is what there is to know of a resource that pods ask for.
type known struct {
	insufficient string // the reason; empty until the resource is looked up
	ignored      bool
}

type plugin struct {
	strategy      string
	resources     []resource
	shape         []point
	ignored       []string
	ignoredGroups []string
	score         func(requested, allocatable int64) int64
	known         berth.Table[known] // by the resource's name

	reasons []string // of the node that is looked at
}

// Config implements berth.ConfigPlugin.
func (p *plugin) Config() []berth.Property {
	return []berth.Property{
		berth.Bind("strategy", &p.strategy, berth.Enum("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")).Default("LeastAllocated"),
		berth.Bind("resources", &p.resources, berth.ListOf(berth.ObjectOf(func(r *resource) []berth.Property {
			return []berth.Property{
				berth.Bind("name", &r.name, berth.String()).Required(),
				berth.Bind("weight", &r.weight, berth.IntBetween(1, 100)).Default(1),
			}
		}))).Required().Doc("what counts for the score"),
		berth.Bind("shape", &p.shape, berth.ListOf(berth.ObjectOf(func(s *point) []berth.Property {
			return []berth.Property{
				berth.Bind("utilization", &s.utilization, berth.IntBetween(0, 100)).Required(),
				berth.Bind("score", &s.score, berth.IntBetween(0, 10)).Required(),
			}
		}))).Doc("RequestedToCapacityRatio: the score at percentages of use"),
		berth.Bind("ignoredResources", &p.ignored, berth.ListOf(berth.String())).Doc("extended resources that Filter leaves out"),
		berth.Bind("ignoredResourceGroups", &p.ignoredGroups, berth.ListOf(berth.String())).Doc("their prefixes up to the slash"),
	}
}

// Configured implements berth.ConfiguredPlugin.
func (p *plugin) Configured() error {
	if len(p.resources) == 0 {
		return errors.New("resources: want at least one, got none")
	}
	for i := range p.resources {
		r := &p.resources[i]
		r.symbol = berth.NewSymbol(r.name)
		r.scalar = !strings.Contains(" cpu memory ephemeral-storage ", " "+r.name+" ")
	}
	switch p.strategy {
	case "LeastAllocated":
		p.score = leastAllocated
	case "MostAllocated":
		p.score = mostAllocated
	default:
		if len(p.shape) == 0 {
			return errors.New("shape: want at least one point, got none")
		}
		p.score = p.byShape
	}
	p.known = berth.Table[known]{}
	return nil
}

// Filter implements berth.FilterPlugin. It answers with a reason for each
// resource of which too little is left.
func (p *plugin) Filter(_ *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	p.reasons = p.reasons[:0]
	never := false
	if pods := node.Resource(berth.PodCount); pods.Requested()+1 > pods.Allocatable() {
		p.reasons = append(p.reasons, "Too many pods")
	}
	for want := range pod.Resources().All() {
		request := want.Request()
		if request <= 0 {
			continue
		}
		has, name := node.ResourceByID(want.Name()), p.lookup(want.Name())
		if !name.ignored && request > has.Free() {
			p.reasons = append(p.reasons, name.insufficient)
			never = never || request > has.Allocatable()
		}
	}
	if len(p.reasons) == 0 {
		return nil
	}
	status := berth.Unschedulable(p.reasons[0])
	if never {
		status = berth.UnschedulableAndUnresolvable(p.reasons[0])
	}
	for _, reason := range p.reasons[1:] {
		status = status.And(reason)
	}
	return status
}

func (p *plugin) lookup(id berth.ID) *known {
	k := p.known.At(id)
	if k.insufficient == "" {
		name := id.String()
		*k = known{"Insufficient " + name, p.ignores(name)}
	}
	return k
}

// ignores says whether Filter leaves a resource out: only extended ones may be.
func (p *plugin) ignores(name string) bool {
	group, _, slash := strings.Cut(name, "/")
	if !slash || strings.Contains(name, "kubernetes.io/") || strings.HasPrefix(name, "requests.") {
		return false
	}
	return slices.Contains(p.ignored, name) || slices.Contains(p.ignoredGroups, group)
}

// Score implements berth.ScorePlugin.
func (p *plugin) Score(_ *berth.Cycle, pod berth.Pod, node berth.Node) (int64, *berth.Status) {
	var sum, weights int64
	for i := range p.resources {
		r := &p.resources[i]
		want, has := p.wants(pod, r), node.Resource(r.symbol)
		if r.scalar && want == 0 || has.Allocatable() == 0 {
			continue
		}
		score := p.score(has.NonZeroRequested()+want, has.Allocatable())
		if p.strategy == "RequestedToCapacityRatio" && score <= 0 {
			continue
		}
		sum += score * r.weight
		weights += r.weight
	}
	switch {
	case weights == 0:
		return 0, nil
	case p.strategy == "RequestedToCapacityRatio":
		return int64(math.Round(float64(sum) / float64(weights))), nil
	}
	return sum / weights, nil
}

// wants is what a pod requests for the score. The original leaves out what a pod
// requests as a whole: its Filter counts that, its Score doesn't.
func (p *plugin) wants(pod berth.Pod, r *resource) int64 {
	if !pod.HasOwnRequests() {
		return pod.Resource(r.symbol).NonZeroRequest()
	}
	var least int64
	switch r.name {
	case "cpu":
		least = 100
	case "memory":
		least = 200 << 20
	}
	var containers, sidecars, most int64
	for c := range pod.Containers().All() {
		request, ok := requestOf(c, r.symbol.ID())
		if !ok {
			request = least
		}
		switch c.Kind() {
		case berth.MainContainer:
			containers += request
		case berth.SidecarContainer:
			sidecars += request
			most = max(most, sidecars)
		case berth.InitContainer:
			most = max(most, sidecars+request)
		}
	}
	return max(containers+sidecars, most) + pod.Resource(r.symbol).Overhead()
}

func requestOf(c berth.Container, name berth.ID) (int64, bool) {
	for q := range c.Requests().All() {
		if q.Name() == name {
			return q.Value(), true
		}
	}
	return 0, false
}

func leastAllocated(requested, allocatable int64) int64 {
	if requested > allocatable {
		return 0
	}
	return (allocatable - requested) * 100 / allocatable
}

func mostAllocated(requested, allocatable int64) int64 {
	return min(requested, allocatable) * 100 / allocatable
}

// byShape is on the line through the shape's points, which are 0 to 10.
func (p *plugin) byShape(requested, allocatable int64) int64 {
	used := int64(100)
	if requested <= allocatable {
		used = requested * 100 / allocatable
	}
	for i, to := range p.shape {
		if used > to.utilization {
			continue
		}
		if i == 0 {
			return to.score * 10
		}
		from := p.shape[i-1]
		return from.score*10 + (to.score-from.score)*10*(used-from.utilization)/(to.utilization-from.utilization)
	}
	return p.shape[len(p.shape)-1].score * 10
}
