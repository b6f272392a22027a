// SPDX-License-Identifier: Apache-2.0

// Team-pools keeps teams on the node pools that they own, with an overflow
// pool for those that may.
package main

import (
	"errors"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
)

var policy = berth.Policy{
	Name:    "team-pools",
	Version: "1.0.0",
	Reads:   []berth.Section{berth.PodLabels, berth.NodeLabels},
	Pure:    true,
}

func init() { berth.Register(&policy, &teamPools{}) }

// teamPools is the plugin; its fields are its config.
type teamPools struct {
	teamLabel  berth.Symbol
	poolLabel  berth.Symbol
	namespaces map[string]string
	pools      map[string][]string
	overflow   overflow
	unowned    string

	// What Configured makes of them: label values are compared by their IDs.
	teamOf map[berth.ID]berth.ID // by namespace
	owns   map[ownership]bool
	owned  map[berth.ID]bool // by pool
	teams  map[berth.ID]bool
	spill  map[berth.ID]bool // overflow pools
}

type overflow struct {
	pools    []string
	allow    string
	priority int64
	label    berth.Symbol
}

type ownership struct{ team, pool berth.ID }

var _ berth.FilterPlugin = &teamPools{}

// Who may use overflow pools, and nodes of pools that nobody owns.
const (
	never    = "Never"
	always   = "Always"
	priority = "PriorityAtLeast"
	optIn    = "OptIn"

	everyone = "Everyone"
	teamless = "Teamless"
	nobody   = "Nobody"
)

var optedIn = berth.NewSymbol("true")

// Reasons.
var (
	otherTeam   = berth.UnschedulableAndUnresolvable("the node's pool belongs to another team")
	noTeam      = berth.UnschedulableAndUnresolvable("the node's pool belongs to a team, the pod doesn't")
	noOverflow  = berth.UnschedulableAndUnresolvable("the pod may not use overflow pools")
	lowPriority = berth.UnschedulableAndUnresolvable("the pod's priority is too low for overflow pools")
	notOptedIn  = berth.UnschedulableAndUnresolvable("the pod doesn't ask for overflow pools")
	notPooled   = berth.UnschedulableAndUnresolvable("the node is in no team's pool")
)

// Config is the policy's config.
func (p *teamPools) Config() []berth.Property {
	return []berth.Property{
		berth.Bind("teamLabel", &p.teamLabel, berth.Name()).Default(berth.NewSymbol("berth.dev/team")).
			Doc("pod label whose value is the pod's team; empty: only namespaces say it"),
		berth.Bind("poolLabel", &p.poolLabel, berth.Name()).Default(berth.NewSymbol("berth.dev/pool")).
			Doc("node label whose value is the node's pool"),
		berth.Bind("namespaces", &p.namespaces, berth.MapOf(berth.String())).
			Doc("team of the pods of a namespace that have no team label"),
		berth.Bind("pools", &p.pools, berth.MapOf(berth.ListOf(berth.String()))).Required().
			Doc("pools that each team owns; a pool may have several owners"),
		berth.Bind("overflow", &p.overflow, berth.ObjectOf(overflowProperties)).
			Doc("pools that teams may use beside their own"),
		berth.Bind("unowned", &p.unowned, berth.Enum(everyone, teamless, nobody)).Default(teamless).
			Doc("who may use nodes without a pool, or of a pool that nobody owns"),
	}
}

func overflowProperties(o *overflow) []berth.Property {
	return []berth.Property{
		berth.Bind("pools", &o.pools, berth.ListOf(berth.String())).Required(),
		berth.Bind("allow", &o.allow, berth.Enum(never, always, priority, optIn)).Default(never).
			Doc("which pods of a team that owns a pool"),
		berth.Bind("priority", &o.priority, berth.IntBetween(-1<<31, 1<<31-1)).
			Doc("with PriorityAtLeast: the lowest priority"),
		berth.Bind("label", &o.label, berth.Name()).Default(berth.NewSymbol("berth.dev/overflow")).
			Doc("with OptIn: the pod label that has to be \"true\""),
	}
}

// Configured builds the look-up tables.
func (p *teamPools) Configured() error {
	if p.poolLabel == (berth.Symbol{}) {
		return errors.New("config.poolLabel: want a label key, got none")
	}
	id := func(s string) berth.ID { return berth.NewSymbol(s).ID() }
	p.teamOf, p.owns, p.owned = map[berth.ID]berth.ID{}, map[ownership]bool{}, map[berth.ID]bool{}
	p.teams, p.spill = map[berth.ID]bool{}, map[berth.ID]bool{}
	for team, pools := range p.pools {
		if team == "" {
			return errors.New("config.pools: want names of teams, got an empty one")
		}
		p.teams[id(team)] = true
		for _, pool := range pools {
			p.owns[ownership{id(team), id(pool)}] = true
			p.owned[id(pool)] = true
		}
	}
	for namespace, team := range p.namespaces {
		if !p.teams[id(team)] {
			return errors.New("config.namespaces." + namespace + ": want a team of config.pools, got \"" + team + "\"")
		}
		p.teamOf[id(namespace)] = id(team)
	}
	for _, pool := range p.overflow.pools {
		p.spill[id(pool)] = true
	}
	return nil
}

// Filter lets a pod onto the pools of its team, onto overflow pools if it may
// overflow, and onto the rest as the config says.
func (p *teamPools) Filter(_ *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	team := p.team(pod)
	pool, _ := node.LabelID(p.poolLabel)
	owned, spill := p.owned[pool], p.spill[pool]
	switch {
	case owned && p.owns[ownership{team, pool}]:
		return nil
	case spill && p.teams[team]:
		return p.mayOverflow(pod)
	case owned && team == 0:
		return noTeam
	case owned:
		return otherTeam
	case spill:
		return noOverflow
	case p.unowned == everyone || p.unowned == teamless && team == 0:
		return nil
	}
	return notPooled
}

// team is the pod's team, 0 where it has none.
func (p *teamPools) team(pod berth.Pod) berth.ID {
	if team, ok := pod.LabelID(p.teamLabel); ok {
		return team
	}
	return p.teamOf[pod.Namespace()]
}

func (p *teamPools) mayOverflow(pod berth.Pod) *berth.Status {
	switch p.overflow.allow {
	case always:
		return nil
	case priority:
		if int64(pod.Priority()) < p.overflow.priority {
			return lowPriority
		}
		return nil
	case optIn:
		if !pod.LabelIs(p.overflow.label, optedIn) {
			return notOptedIn
		}
		return nil
	}
	return noOverflow
}

func main() {}
