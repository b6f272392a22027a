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
	namespaces []berth.Entry[string]
	pools      []berth.Entry[[]string]
	overflow   overflow
	unowned    string

	// What Configured makes of them: label values are compared by their IDs.
	teamOf berth.Table[berth.ID] // by namespace
	teams  berth.Table[bool]
	byName berth.Table[*pool]
}

// pool is a pool that the config names.
type pool struct {
	owners   []berth.ID
	overflow bool
}

type overflow struct {
	pools    []string
	allow    string
	priority int64
	label    berth.Symbol
}

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
		berth.Bind("priority", &o.priority, berth.Int()).
			Doc("with PriorityAtLeast: the lowest priority"),
		berth.Bind("label", &o.label, berth.Name()).Default(berth.NewSymbol("berth.dev/overflow")).
			Doc("with OptIn: the pod label that has to be \"true\""),
	}
}

// Configured builds the look-up tables.
func (p *teamPools) Configured() error {
	if p.poolLabel.String() == "" {
		return errors.New("config.poolLabel: want a label key, got none")
	}
	p.teamOf, p.teams, p.byName = berth.Table[berth.ID]{}, berth.Table[bool]{}, berth.Table[*pool]{}
	for _, e := range p.pools {
		team := berth.Intern(e.Key)
		if team == 0 {
			return errors.New("config.pools: want names of teams, got an empty one")
		}
		p.teams.Set(team, true)
		for _, name := range e.Value {
			pool := p.pool(name)
			pool.owners = append(pool.owners, team)
		}
	}
	for _, e := range p.namespaces {
		team := berth.Intern(e.Value)
		if !p.teams.Get(team) {
			return errors.New("config.namespaces." + e.Key + ": want a team of config.pools, got \"" + e.Value + "\"")
		}
		p.teamOf.Set(berth.Intern(e.Key), team)
	}
	for _, name := range p.overflow.pools {
		p.pool(name).overflow = true
	}
	return nil
}

// pool is the pool of that name, made if need be.
func (p *teamPools) pool(name string) *pool {
	at := p.byName.At(berth.Intern(name))
	if *at == nil {
		*at = &pool{}
	}
	return *at
}

// Filter lets a pod onto the pools of its team, onto overflow pools if it may
// overflow, and onto the rest as the config says.
func (p *teamPools) Filter(_ *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	team := p.team(pod)
	name, _ := node.LabelID(p.poolLabel)
	pool := p.byName.Get(name)
	switch {
	case pool == nil:
		return p.filterUnowned(team)
	case pool.ownedBy(team):
		return nil
	case pool.overflow && p.teams.Get(team):
		return p.mayOverflow(pod)
	case pool.owners == nil:
		return noOverflow
	case team == 0:
		return noTeam
	}
	return otherTeam
}

func (p *pool) ownedBy(team berth.ID) bool {
	for _, owner := range p.owners {
		if owner == team {
			return true
		}
	}
	return false
}

func (p *teamPools) filterUnowned(team berth.ID) *berth.Status {
	if p.unowned == everyone || p.unowned == teamless && team == 0 {
		return nil
	}
	return notPooled
}

// team is the pod's team, 0 where it has none.
func (p *teamPools) team(pod berth.Pod) berth.ID {
	if team, ok := pod.LabelID(p.teamLabel); ok {
		return team
	}
	return p.teamOf.Get(pod.Namespace())
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
