// SPDX-License-Identifier: Apache-2.0

// Binpack fills nodes up, by the resources that the operator names.
package main

import (
	"errors"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
)

var policy = berth.Policy{
	Name:    "binpack",
	Version: "1.0.0",
	Reads:   []berth.Section{berth.PodResources, berth.NodeResources},
	Pure:    true,
}

func init() { berth.Register(&policy, &binpack{}) }

// binpack is the plugin; its fields are its config.
type binpack struct {
	resources []resource
}

// resource is a resource that counts.
type resource struct {
	name   berth.Symbol
	weight int64
	scarce bool
}

var _ berth.ScorePlugin = &binpack{}

// Config is the policy's config.
func (p *binpack) Config() []berth.Property {
	return []berth.Property{
		berth.Bind("resources", &p.resources, berth.ListOf(berth.ObjectOf(resourceProperties))).
			Doc("resources that count; left out: cpu and memory, alike"),
	}
}

func resourceProperties(r *resource) []berth.Property {
	return []berth.Property{
		berth.Bind("name", &r.name, berth.Name()).Required().
			Doc("cpu, memory, ephemeral-storage, or an extended resource"),
		berth.Bind("weight", &r.weight, berth.IntBetween(1, 100)).Default(1).
			Doc("its share in the score"),
		berth.Bind("scarce", &r.scarce, berth.Bool()).
			Doc("nodes that have it score 0 for pods that don't request it"),
	}
}

// Configured checks what the schema can't say.
func (p *binpack) Configured() error {
	if p.resources == nil {
		p.resources = []resource{{name: berth.CPU, weight: 1}, {name: berth.Memory, weight: 1}}
	}
	if len(p.resources) == 0 {
		return errors.New("config.resources: want at least one, got none")
	}
	for i, r := range p.resources {
		for _, other := range p.resources[:i] {
			if r.name.ID() == other.name.ID() {
				return errors.New("config.resources: \"" + r.name.String() + "\" is there twice")
			}
		}
	}
	return nil
}

// Score is how full the pod would make the node, in percent: the mean over the
// resources by weight. A resource counts if the node has it and the pod requests
// it; cpu and memory always count, pods that request none with the scheduler's
// minimum.
func (p *binpack) Score(_ *berth.Cycle, pod berth.Pod, node berth.Node) (int64, *berth.Status) {
	var sum, weights float64
	for i := range p.resources {
		r := &p.resources[i]
		have, want := node.Resource(r.name), pod.Resource(r.name).NonZeroRequest()
		if have.Allocatable() <= 0 {
			continue
		}
		if want == 0 {
			if r.scarce {
				return 0, nil
			}
			continue
		}
		// More than all may be asked for: what the scheduler assumes for
		// pods without requests isn't checked by any filter.
		used := min(1, (float64(have.NonZeroRequested())+float64(want))/float64(have.Allocatable()))
		sum += used * float64(r.weight)
		weights += float64(r.weight)
	}
	if weights == 0 {
		return 0, nil
	}
	return int64(100 * sum / weights), nil
}

func main() {}
