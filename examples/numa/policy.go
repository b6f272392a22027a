// SPDX-License-Identifier: Apache-2.0

// Numa puts guaranteed pods where one NUMA zone of the node has room for all of
// the pod, by what an agent on each node reports.
package main

import berth "github.com/berth-scheduler/berth/guest-sdk/go"

var policy = berth.Policy{
	Name:    "numa",
	Version: "1.0.0",
	Reads:   []berth.Section{berth.NodePods, berth.PodResources},
	Resources: []berth.Resource{{
		Name:   topologies,
		Fields: []string{"zones", "pods"},
	}},
}

func init() { berth.Register(&policy, &numa{}) }

// topologies are the reports, one a node and of its name.
const topologies = "berth.dev/v1alpha1/nodetopologies"

// numa is the plugin; its fields are its config.
type numa struct {
	unreported string
	every      bool
}

var (
	_ berth.FilterPlugin = &numa{}
	_ berth.ScorePlugin  = &numa{}
)

// What becomes of nodes without a report.
const (
	allow  = "Allow"
	refuse = "Refuse"
)

// Reasons.
var (
	noZone   = berth.Unschedulable("no NUMA zone of the node has room for the pod")
	noReport = berth.UnschedulableAndUnresolvable("nothing is known of the node's NUMA zones")
)

// Config is the policy's config.
func (p *numa) Config() []berth.Property {
	return []berth.Property{
		berth.Bind("unreported", &p.unreported, berth.Enum(allow, refuse)).Default(refuse).
			Doc("whether a pod that needs a zone may run on a node without a report"),
		berth.Bind("everyPod", &p.every, berth.Bool()).Default(false).
			Doc("true: all pods need a zone; false: those of QoS class Guaranteed"),
	}
}

// needsZone says whether the policy is about a pod.
func (p *numa) needsZone(pod berth.Pod) bool { return p.every || pod.QoS() == berth.Guaranteed }

// Filter lets a pod onto nodes of which one zone holds it.
func (p *numa) Filter(c *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	if !p.needsZone(pod) {
		return nil
	}
	report, s := c.Object(topologies, "", node.Name())
	switch {
	case s != nil:
		return s
	case !report.Exists() && p.unreported == allow:
		return nil
	case !report.Exists():
		return noReport
	}
	if _, ok := best(report, want(pod), unreported(report, node)); !ok {
		return noZone
	}
	return nil
}

// Score prefers nodes whose best zone is left with the least free CPU: large
// zones stay whole for large pods. Nodes without a report come last.
func (p *numa) Score(c *berth.Cycle, pod berth.Pod, node berth.Node) (int64, *berth.Status) {
	if !p.needsZone(pod) {
		return 0, nil
	}
	report, s := c.Object(topologies, "", node.Name())
	if s != nil || !report.Exists() {
		return 0, s
	}
	left, ok := best(report, want(pod), unreported(report, node))
	if !ok || left.capacity <= 0 {
		return 0, nil
	}
	return 100 - left.cpu*100/left.capacity, nil
}

// amount is CPU in millicores and memory in bytes.
type amount struct{ cpu, memory int64 }

func want(pod berth.Pod) amount {
	return amount{pod.Resource(berth.CPU).Request(), pod.Resource(berth.Memory).Request()}
}

// unreported is what the node's pods ask for that the report doesn't count yet.
// Which zone the node will give them isn't known, so it is taken from each.
func unreported(report berth.Object, node berth.Node) amount {
	var sum amount
	counted := report.Get("pods")
	for pod := range node.Pods().All() {
		if !contains(counted, pod.UID()) {
			sum.cpu += pod.Requests().Value(berth.CPU)
			sum.memory += pod.Requests().Value(berth.Memory)
		}
	}
	return sum
}

func contains(list berth.Object, text string) bool {
	for i := range list.Len() {
		if list.At(i).Text() == text {
			return true
		}
	}
	return false
}

// rest is what a zone has left with the pod.
type rest struct {
	amount
	capacity int64 // of CPU
}

// best is the zone that holds the pod with the least CPU left over.
func best(report berth.Object, pod, taken amount) (found rest, ok bool) {
	zones := report.Get("zones")
	for i := range zones.Len() {
		z := zones.At(i)
		left := rest{
			amount{
				z.Get("freeMilliCPU").Int() - taken.cpu - pod.cpu,
				z.Get("freeMemory").Int() - taken.memory - pod.memory,
			},
			z.Get("milliCPU").Int(),
		}
		if left.cpu >= 0 && left.memory >= 0 && (!ok || left.cpu < found.cpu) {
			found, ok = left, true
		}
	}
	return found, ok
}

func main() {}
