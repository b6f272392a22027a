// SPDX-License-Identifier: Apache-2.0

package extender

import berth "github.com/berth-scheduler/berth/guest-sdk/go"

// Filterer is an extender's filter verb.
type Filterer interface {
	// Filter says which nodes the pod fits. A node that is in none of the
	// result's lists counts as one that it doesn't fit.
	Filter(args *Args) *FilterResult
}

// Prioritizer is an extender's prioritize verb.
type Prioritizer interface {
	// Prioritize gives nodes scores of 0 to MaxPriority. A node that is left out
	// has 0.
	Prioritize(args *Args) HostPriorityList
}

// Preempter is an extender's preempt verb.
type Preempter interface {
	// ProcessPreemption returns those of the nodes that preemption may use, with
	// the victims that are to go there: those that it was given, or fewer or
	// others of the node.
	ProcessPreemption(args *PreemptionArgs) *PreemptionResult
}

// MaxPriority is the highest score that a Prioritizer may give.
const MaxPriority = 10

// Args are the arguments of filter and prioritize.
type Args struct {
	Pod       berth.Pod
	NodeNames []string
	Nodes     []berth.Node // of NodeNames, in the same order
}

// FilterResult is what filter answers.
type FilterResult struct {
	// NodeNames are the nodes that the pod fits.
	NodeNames []string
	// FailedNodes are nodes that it doesn't fit, with the reason. Preemption may
	// help there.
	FailedNodes map[string]string
	// FailedAndUnresolvableNodes are nodes where preemption can't help.
	FailedAndUnresolvableNodes map[string]string
	// Error ends the pod's attempt.
	Error string
}

// HostPriority is the score of a node.
type HostPriority struct {
	Host  string
	Score int64
}

// HostPriorityList is what prioritize answers.
type HostPriorityList []HostPriority

// PreemptionArgs are the arguments of preempt.
type PreemptionArgs struct {
	Pod                   berth.Pod
	NodeNameToMetaVictims map[string]*MetaVictims
}

// PreemptionResult is what preempt answers.
type PreemptionResult struct {
	NodeNameToMetaVictims map[string]*MetaVictims
}

// MetaVictims are the pods that would have to leave a node.
type MetaVictims struct {
	Pods []MetaPod
}

// MetaPod is a victim.
type MetaPod struct {
	UID string
}
