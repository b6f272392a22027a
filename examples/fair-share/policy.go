// SPDX-License-Identifier: Apache-2.0

// Fair-share orders the scheduling queue so that each team gets its share of the
// cluster: the team that has the least of what it is due comes first.
package main

import (
	"errors"
	"math"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
)

// teamLabel is the pod label whose value is the team, where teams aren't
// namespaces. What the host sums up is fixed in a module, so it is no config.
const teamLabel = "berth.dev/team"

// Aggregates of the host.
const (
	byNamespace = "namespace"
	byLabel     = "label/" + teamLabel
)

var policy = berth.Policy{
	Name:       "fair-share",
	Version:    "1.0.0",
	Reads:      []berth.Section{berth.PodLabels, berth.PodResources, berth.PodIdentity, berth.PodGroup},
	Intents:    []berth.Intent{berth.IntentState},
	Aggregates: []string{byNamespace, byLabel},
}

func init() { berth.Register(&policy, &fairShare{}) }

// fairShare is the plugin; its fields are its config.
//
// QueueKey runs in the instance beside the cycles, PostBind in that of the
// cycles: what PostBind knows, QueueKey reads from the state that the host keeps.
type fairShare struct {
	teams         string
	capacity      []berth.Entry[string]
	weights       []berth.Entry[int64]
	defaultWeight int64
	patience      int64
	urgent        int64

	aggregate string
	resources []resource // of capacity
	weightOf  berth.Table[int64]
	lines     lines
}

// resource is one of the resources that shares are measured in.
type resource struct {
	name     berth.Symbol
	capacity float64
}

var (
	_ berth.QueueKeyPlugin = &fairShare{}
	_ berth.PostBindPlugin = &fairShare{}
)

// What a team is.
const (
	ofNamespace = "Namespace"
	ofLabel     = "Label"
)

var team = berth.NewSymbol(teamLabel)

// keysPerShare is how much a key grows with one whole cluster's worth.
const keysPerShare = 1e9

// Config is the policy's config.
func (p *fairShare) Config() []berth.Property {
	return []berth.Property{
		berth.Bind("teams", &p.teams, berth.Enum(ofNamespace, ofLabel)).Default(ofNamespace).
			Doc("what makes pods a team: their namespace, or the value of their label " + teamLabel),
		berth.Bind("capacity", &p.capacity, berth.MapOf(berth.String())).Required().
			Doc("what there is to share, by resource, as Kubernetes quantities: {cpu: \"96\", memory: 384Gi}"),
		berth.Bind("weights", &p.weights, berth.MapOf(berth.IntBetween(1, 1_000_000))).
			Doc("what teams are due relative to one another"),
		berth.Bind("defaultWeight", &p.defaultWeight, berth.IntBetween(1, 1_000_000)).Default(1).
			Doc("weight of every other team"),
		berth.Bind("patienceMinutes", &p.patience, berth.IntBetween(1, 100_000)).Default(60).
			Doc("after how many minutes of waiting a pod is a whole cluster's worth ahead"),
		berth.Bind("urgentPriority", &p.urgent, berth.Int()).Default(2_000_000_000).
			Doc("pods of at least this priority come before all others"),
	}
}

// Configured prepares the look-ups.
func (p *fairShare) Configured() error {
	p.aggregate = byNamespace
	if p.teams == ofLabel {
		p.aggregate = byLabel
	}
	p.resources = nil
	for _, e := range p.capacity {
		capacity, milli, ok := berth.ParseAmount(e.Value)
		if e.Key == "cpu" {
			capacity = milli // as pods' requests are counted
		}
		if !ok || capacity < 1 {
			return errors.New("config.capacity." + e.Key + ": want a quantity above 0, as \"96\" or \"384Gi\", got \"" + e.Value + "\"")
		}
		p.resources = append(p.resources, resource{berth.NewSymbol(e.Key), float64(capacity)})
	}
	if len(p.resources) == 0 {
		return errors.New("config.capacity: want at least one resource, got none")
	}
	p.weightOf = berth.Table[int64]{}
	for _, e := range p.weights {
		id := berth.Intern(e.Key)
		if id == 0 {
			return errors.New("config.weights: want names of teams, got an empty one")
		}
		p.weightOf.Set(id, e.Value)
	}
	p.lines = newLines(len(p.resources))
	return nil
}

// QueueKey is the share that the pod's team would have with this pod and all of
// its pods that are in line before it, by what the team is due, less what the pod
// gains by waiting. So the key, which doesn't move while the pod is queued, is
// right however much of the team is scheduled meanwhile: what it holds grows by
// what its line loses.
func (p *fairShare) QueueKey(c *berth.Cycle, pod berth.Pod) int64 {
	if int64(pod.Priority()) >= p.urgent {
		return math.MinInt64
	}
	t := p.team(pod)
	line := p.lines.of(t, p.bound(c, t))
	cost := p.cost(pod)
	var ahead amounts
	if pod.Group() != "" {
		// One pod is asked about for all of its group: it has no place in line.
		ahead = line.behind(cost)
	} else {
		ahead = p.lines.place(line, string([]byte(pod.UID())), cost, c.Now())
	}
	share := 0.0
	held, s := c.Aggregate(p.aggregate, t.String())
	if s != nil {
		berth.LogWarning("what teams hold isn't known yet", "team", t.String())
	}
	for i, r := range p.resources {
		share = max(share, (held.Get("requests", r.name.String()).Float()+ahead[i])/r.capacity)
	}
	weight := p.defaultWeight
	if w := p.weightOf.Get(t); w != 0 {
		weight = w
	}
	waited := float64(c.Now())/1e9 - float64(pod.Created())
	if pod.Created() == 0 || waited < 0 {
		waited = 0
	}
	return int64(keysPerShare * (share/float64(weight) - waited/60/float64(p.patience)))
}

// PostBind notes what was bound of a team.
func (p *fairShare) PostBind(c *berth.Cycle, pod berth.Pod, _ string) {
	if pod.Group() != "" || int64(pod.Priority()) >= p.urgent {
		return // was not in line
	}
	t := p.team(pod)
	sums := map[string]any{}
	bound, cost := p.bound(c, t), p.cost(pod)
	for i, r := range p.resources {
		sums[r.name.String()] = bound[i] + cost[i]
	}
	c.Keep(boundKey(t), sums, 0)
}

// bound is what was bound of a team since the policy is there.
func (p *fairShare) bound(c *berth.Cycle, team berth.ID) amounts {
	sums := make(amounts, len(p.resources))
	kept, s := c.Kept(boundKey(team))
	if s != nil {
		return sums
	}
	for i, r := range p.resources {
		sums[i] = kept.Get(r.name.String()).Float()
	}
	return sums
}

func boundKey(team berth.ID) string { return "bound/" + team.String() }

// team is the pod's team; 0, which is a team too, where its label is missing.
func (p *fairShare) team(pod berth.Pod) berth.ID {
	if p.teams == ofNamespace {
		return pod.Namespace()
	}
	t, _ := pod.LabelID(team)
	return t
}

// cost is what a pod asks for.
func (p *fairShare) cost(pod berth.Pod) amounts {
	cost := make(amounts, len(p.resources))
	for i, r := range p.resources {
		cost[i] = float64(pod.Resource(r.name).Request())
	}
	return cost
}

func main() {}
