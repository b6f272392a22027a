// SPDX-License-Identifier: Apache-2.0

// Load-aware prefers nodes that are little used, by what is measured rather than
// by what pods ask for.
package main

import berth "github.com/berth-scheduler/berth/guest-sdk/go"

var policy = berth.Policy{
	Name:     "load-aware",
	Version:  "1.0.0",
	Reads:    []berth.Section{berth.NodeResources, berth.NodePods, berth.PodResources},
	DataSets: []string{load},
}

func init() { berth.Register(&policy, &loadAware{}) }

// load is the data set: "NODE/cpu" in millicores, "NODE/memory" in bytes, and, if
// it has that, "NODE/timestamp" in Unix seconds.
const load = "load"

// loadAware is the plugin; its fields are its config.
type loadAware struct {
	cpu, memory int64
	margin      int64
	most        int64
	maxAge      int64
}

var (
	_ berth.FilterPlugin = &loadAware{}
	_ berth.ScorePlugin  = &loadAware{}
)

var busy = berth.UnschedulableAndUnresolvable("the node is in use beyond the limit")

// Config is the policy's config.
func (p *loadAware) Config() []berth.Property {
	return []berth.Property{
		berth.Bind("cpuWeight", &p.cpu, berth.IntBetween(0, 100)).Default(1).
			Doc("how much CPU counts in the score"),
		berth.Bind("memoryWeight", &p.memory, berth.IntBetween(0, 100)).Default(1).
			Doc("how much memory counts in the score"),
		berth.Bind("margin", &p.margin, berth.IntBetween(0, 100)).Default(10).
			Doc("percent that is put on top of what was measured"),
		berth.Bind("limit", &p.most, berth.IntBetween(0, 100)).Default(0).
			Doc("percent of CPU or memory from which on a node takes no pods; 0: no limit"),
		berth.Bind("maxAgeSeconds", &p.maxAge, berth.IntBetween(1, 3600)).Default(90).
			Doc("a measurement older than this doesn't count: the node is judged by its pods' requests"),
	}
}

// Configured checks what the schema can't say.
func (p *loadAware) Configured() error {
	if p.cpu+p.memory == 0 {
		return &berth.ConfigError{Path: "config.cpuWeight", Text: "want cpuWeight or memoryWeight above 0, got both 0"}
	}
	return nil
}

// Filter keeps pods off nodes that are in use beyond the limit.
func (p *loadAware) Filter(c *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	if p.most == 0 {
		return nil
	}
	for _, r := range resources {
		if use, measured := p.use(c, pod, node, r); measured && use > p.most {
			return busy
		}
	}
	return nil
}

// Score is 100 less the percentage in use, CPU and memory by their weights.
func (p *loadAware) Score(c *berth.Cycle, pod berth.Pod, node berth.Node) (int64, *berth.Status) {
	cpu, _ := p.use(c, pod, node, resources[0])
	memory, _ := p.use(c, pod, node, resources[1])
	used := (cpu*p.cpu + memory*p.memory) / (p.cpu + p.memory)
	return 100 - min(used, 100), nil
}

// resource is what is measured, and by which key.
type resource struct {
	name berth.Symbol
	key  string
}

var resources = [...]resource{{berth.CPU, "/cpu"}, {berth.Memory, "/memory"}}

// use is the percentage of a resource that would be in use with the pod.
// measured says whether it was measured lately; else it is what pods ask for.
func (p *loadAware) use(c *berth.Cycle, pod berth.Pod, node berth.Node, r resource) (percent int64, measured bool) {
	n := node.Resource(r.name)
	used, measured := n.NonZeroRequested(), false
	// What isn't there yet counts as too old.
	if v, s := c.DataSet(load, node.Name()+r.key); s == nil && v.Exists() {
		if age := max(v.Get("age_ns").Int(), measuredAgo(c, node)); age <= p.maxAge*berth.Second {
			used, measured = p.measured(c, node, r, int64(v.Get("value").Float()), age), true
		}
	}
	used += pod.Resource(r.name).NonZeroRequest()
	if n.Allocatable() <= 0 {
		return 100, measured
	}
	return used * 100 / n.Allocatable(), measured
}

// measuredAgo is how long ago a node was measured, 0 where the data set doesn't
// say: then it is as old as the data set.
func measuredAgo(c *berth.Cycle, node berth.Node) int64 {
	at, s := c.DataSet(load, node.Name()+"/timestamp")
	if s != nil || !at.Exists() {
		return 0
	}
	return c.Now() - int64(at.Get("value").Float())*berth.Second
}

// measured is what was measured, with the margin, and the requests of the pods
// that can't be in it yet: those that started after it, or didn't yet.
func (p *loadAware) measured(c *berth.Cycle, node berth.Node, r resource, value, age int64) int64 {
	used := value + value*p.margin/100
	since := (c.Now() - age) / berth.Second
	for other := range node.Pods().All() {
		if started := other.Started(); started == 0 || started > since {
			used += other.Requests().Value(r.name)
		}
	}
	return used
}

func main() {}
