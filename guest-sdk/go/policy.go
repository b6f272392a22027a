// SPDX-License-Identifier: Apache-2.0

package berth

import "github.com/berth-scheduler/berth/abi"

// Policy is what a policy says of itself.
type Policy struct {
	// Name names the policy to people: in berth inspect and in logs. What
	// operators call it is up to their policy.yaml.
	Name string
	// Version is the author's version, free text. BuildVersion, if set, takes
	// its place.
	Version string
	// Reads are the sections of nodes and pods that the plugin reads. Reading
	// one that isn't listed is a panic that names it.
	Reads []Section
	// Normalize says how raw scores become 0..100. It needn't be set for a
	// plugin with a NormalizeScore of its own.
	Normalize Normalization
	// Pure says that Filter and Score depend on nothing but the pod, the node
	// and the config: no memory of other calls, no clock, and no cycle state but
	// what PreFilter and PreScore make of the pod. The host may then keep what
	// they answered, across cycles.
	Pure bool
	// Intents are the kinds of what the plugin asks the host to do. Asking for
	// one that isn't listed is a panic that names it.
	Intents []Intent
	// Events are those that QueueingHint is called for, by name: "node/label". The
	// host's table has them all (abi.Events). None is those that change what the
	// plugin reads.
	Events []string
	// Resources are those whose objects the plugin reads by Cycle.Object and
	// Objects. policy.yaml must grant them.
	Resources []Resource
	// DataSets are the names of the data sets that the plugin reads.
	DataSets []string
	// Aggregates are the sums over assigned pods that the plugin reads:
	// "namespace", or "label/KEY".
	Aggregates []string
}

// Resource is a resource of the API server whose objects a policy reads. Its
// Name is group/version/resource, or version/resource in the core group. A label
// Selector and a list of Fields ("spec.min") make the host keep less.
type Resource = abi.Resource

// Normalization says who maps raw scores to 0..100, and how.
type Normalization string

// Normalizations.
const (
	// NormalizeNone is for scores that are 0..100 already. It is the default.
	NormalizeNone Normalization = abi.NormalizeNone
	// NormalizeMax makes the highest score 100 and 0 stay 0.
	NormalizeMax Normalization = abi.NormalizeMax
	// NormalizeReversed is 100 minus what NormalizeMax gives: a low score is a
	// good one.
	NormalizeReversed Normalization = abi.NormalizeReversed
)

// Register makes a plugin the module's policy. It is called once, from init.
// What the plugin does is found by its methods: see FilterPlugin, ScorePlugin
// and their like.
//
//	func init() { berth.Register(&policy, &teamPools{}) }
//
// It panics, so that the module doesn't start, if the plugin implements no point
// or only part of one, or if the policy contradicts it.
func Register(p *Policy, plugin any) {
	if registered {
		panic("berth: Register is called twice: a module is one policy")
	}
	registered = true
	current = newGuest(p, plugin)
}

// BuildVersion is a version that is known only at build time. Set it with
//
//	berth build --version v1.2.3
//
// or -ldflags "-X github.com/berth-scheduler/berth/guest-sdk/go.BuildVersion=v1.2.3".
var BuildVersion string

var registered bool

// minor is the ABI minor that a policy needs at least: that of the oldest host
// that has all this SDK uses.
const minor = 0

// guest is a policy in an instance.
type guest struct {
	policy              *Policy
	plugin              plugin
	nodeReads, podReads uint32
	described           []byte

	strings    pointer // the string table of the call in progress
	stringsLen uint32
	interned   []interned // since the call began
	cycle      Cycle
	states     states
	talking    talking
	space      space       // what the call in progress reads
	list       []stringRef // what PreFilter's node set is written to
	scores     []int64     // what normalize_score gathers
	applied    int         // how many of them were handed out
	line       []byte      // the log line being built
}

// current is the guest that is called: the only one of an instance.
var current = &guest{policy: &Policy{}}

// plugin is what the author's type implements.
type plugin struct {
	_ [0]func() // not compared: saves code

	config         ConfigPlugin
	configured     ConfiguredPlugin
	preFilter      PreFilterPlugin
	preFilterNodes PreFilterNodesPlugin
	preFilterExt   PreFilterExtensions
	filter         FilterPlugin
	preScore       PreScorePlugin
	preScoreNodes  PreScoreNodesPlugin
	score          ScorePlugin
	normalize      NormalizeScorePlugin

	queue      queuePlugin
	preemption preemptionPlugin
	binding    bindingPlugin
	placement  placementPlugin

	groupPreemption groupPreemptionPlugin
}

func newGuest(p *Policy, impl any) *guest {
	g := &guest{policy: p}
	pl := &g.plugin
	pl.config, _ = impl.(ConfigPlugin)
	pl.configured, _ = impl.(ConfiguredPlugin)
	pl.preFilter, _ = impl.(PreFilterPlugin)
	pl.preFilterNodes, _ = impl.(PreFilterNodesPlugin)
	pl.preFilterExt, _ = impl.(PreFilterExtensions)
	pl.filter, _ = impl.(FilterPlugin)
	pl.preScore, _ = impl.(PreScorePlugin)
	pl.preScoreNodes, _ = impl.(PreScoreNodesPlugin)
	pl.score, _ = impl.(ScorePlugin)
	pl.normalize, _ = impl.(NormalizeScorePlugin)
	pl.queue.find(impl)
	pl.preemption.find(impl)
	pl.groupPreemption.find(impl)
	pl.binding.find(impl)
	pl.placement.find(impl)

	problem := g.problem(impl)
	if problem == "" {
		problem = g.contradiction()
	}
	if problem != "" {
		panic("berth: policy \"" + p.Name + "\": " + problem)
	}
	g.described = g.document()
	if err := checkDescription(g.described); err != nil {
		panic("berth: policy \"" + p.Name + "\": " + err.Error())
	}
	g.nodeReads, g.podReads = masks(p.Reads)
	return g
}

// problem says what is wrong with a plugin that compiles.
func (g *guest) problem(impl any) string {
	pl := &g.plugin
	_, nodeBegin := impl.(interface {
		PreFilterBegin(*Cycle, Pod) *Status
	})
	_, node := impl.(interface {
		PreFilterNode(*Cycle, Pod, Node) *Status
	})
	_, scoreBegin := impl.(interface {
		PreScoreBegin(*Cycle, Pod) *Status
	})
	_, scoreNode := impl.(interface {
		PreScoreNode(*Cycle, Pod, Node) *Status
	})
	switch {
	case pl.preFilter != nil && pl.preFilterNodes != nil:
		return "want PreFilter or PreFilterBegin, PreFilterNode and PreFilterEnd, got both"
	case (nodeBegin || node) && pl.preFilterNodes == nil:
		return "want all of PreFilterBegin, PreFilterNode and PreFilterEnd, got some"
	case pl.preScore != nil && pl.preScoreNodes != nil:
		return "want PreScore or PreScoreBegin, PreScoreNode and PreScoreEnd, got both"
	case (scoreBegin || scoreNode) && pl.preScoreNodes == nil:
		return "want all of PreScoreBegin, PreScoreNode and PreScoreEnd, got some"
	case pl.preFilterExt != nil && pl.preFilter == nil && pl.preFilterNodes == nil:
		return "AddPod and RemovePod update what PreFilter prepared: want one of its forms, got none"
	case pl.score == nil && (pl.normalize != nil || pl.preScore != nil || pl.preScoreNodes != nil):
		return "want Score beside PreScore and NormalizeScore, got none"
	case pl.normalize != nil && g.policy.Normalize != "":
		return "want NormalizeScore or Policy.Normalize, got both"
	case pl.normalize == nil && g.policy.Normalize != "" && pl.score == nil:
		return "want Score where Policy.Normalize is set, got none"
	case g.policy.Pure && (pl.preFilterNodes != nil || pl.preScoreNodes != nil || pl.preFilterExt != nil):
		return "want no PreFilterNode, PreScoreNode and AddPod in a pure policy, which see other nodes and pods, got one"
	}
	return ""
}
