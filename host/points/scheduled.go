// SPDX-License-Identifier: Apache-2.0

package points

import "github.com/berth-scheduler/berth/abi"

// scheduled holds the points of a scheduling cycle up to the choice of a node.
func scheduled() []Info {
	return []Info{
		{
			Point: abi.PreFilter, Plugin: berth, Method: "PreFilter", Instance: Cycle,
			Caller:    "the scheduling cycle, once an attempt; in a pod group once for each pod and placement",
			Goroutine: scheduling,
			Codes: []Code{
				{abi.Success, "go on; with a list of nodes, with those only: sets of several policies are intersected"},
				{abi.Skip, "the policy's filter, add_pod and remove_pod are left out in this attempt; of a node in a chunk: the node is left out"},
				{abi.Unschedulable, "no node fits, but preemption may help: other policies and plugins still run"},
				{abi.UnschedulableAndUnresolvable, "no node fits and preemption can't help: the attempt ends"},
				{abi.Error, asFault},
			},
			Idle:   Idle{abi.Skip, "the framework then leaves Berth out of Filter, AddPod and RemovePod"},
			Fail:   errorStatus,
			Ignore: "the policy is left out of the attempt",
		},
		{
			Point: abi.AddPod, Plugin: berth, Method: "PreFilterExtensions.AddPod", Instance: Cycle,
			Caller:    "the framework, before it filters a node as if pods nominated to it ran there; preemption, when it spares a victim",
			Goroutine: parallel + ", each on a clone of the state",
			Codes: []Code{
				{abi.Success, "the state counts the pod"},
				{abi.Error, asFault},
			},
			Idle:   Idle{abi.Success, "nothing is changed"},
			Fail:   "the node is rejected with Error: the attempt ends with it, a candidate of preemption is left out",
			Ignore: "the policy is left out for the node",
		},
		{
			Point: abi.RemovePod, Plugin: berth, Method: "PreFilterExtensions.RemovePod", Instance: Cycle,
			Caller:    "preemption, for each victim that it thinks away from a node",
			Goroutine: parallel + ", each on a clone of the state",
			Codes: []Code{
				{abi.Success, "the state no longer counts the pod"},
				{abi.Error, asFault},
			},
			Idle:   Idle{abi.Success, "nothing is changed"},
			Fail:   "the candidate is left out, with Error",
			Ignore: "the policy is left out for the node",
		},
		{
			Point: abi.Filter, Plugin: berth, Method: "Filter", Instance: Cycle,
			Caller:    "the framework, for each node until enough fit; twice for nodes with nominated pods; preemption, for nodes without their victims. The guest is called with chunks of the nodes that come next",
			Goroutine: parallel,
			Codes: []Code{
				{abi.Success, "the pod fits the node"},
				{abi.Unschedulable, "it doesn't, but would if pods left: preemption may try"},
				{abi.UnschedulableAndUnresolvable, "it doesn't, whatever leaves"},
				{abi.Error, asFault},
			},
			Idle:   Idle{abi.Success, "every node fits; after pre_filter's Skip it isn't called"},
			Fail:   errorStatus,
			Ignore: "the node fits, as far as the policy is concerned",
		},
		{
			Point: abi.PostFilter, Plugin: berth, Method: "PostFilter", Instance: Cycle,
			Caller:    "the scheduling cycle, when pre_filter or filter left no node; not for the pods of a pod group, nor while victims of the pod end. In steps: the guest asks for nodes and dry runs, and is called again with the answers",
			Goroutine: scheduling,
			Codes: []Code{
				{abi.Success, "the pod is nominated to a node, and who is to be evicted is: no other plugin is asked. If the host refuses the evictions (disruption budget, priority), as unschedulable"},
				{abi.Unschedulable, "nothing to be done here: the next policy and then DefaultPreemption are asked"},
				{abi.UnschedulableAndUnresolvable, "nothing to be done, and nobody else is asked: this replaces DefaultPreemption"},
				{abi.Error, asFault},
			},
			Idle:   Idle{abi.Unschedulable, "without reasons, which lets DefaultPreemption run"},
			Fail:   "Error: no plugin after it is asked, so nothing is preempted, and the pod waits with its reasons",
			Ignore: "the next policy and then DefaultPreemption are asked",
		},
		{
			Point: abi.PreScore, Plugin: berth, Method: "PreScore", Instance: Cycle,
			Caller:    "the scheduling cycle, when at least two nodes fit",
			Goroutine: scheduling,
			Codes: []Code{
				{abi.Success, "go on"},
				{abi.Skip, "the policy gives no scores in this attempt, as one that doesn't match; of a node in a chunk: nothing"},
				{abi.Error, asFault},
			},
			Idle:   Idle{abi.Skip, "the framework then leaves Berth out of Score"},
			Fail:   errorStatus,
			Ignore: "the policy gives no scores in this attempt",
		},
		{
			Point: abi.Score, Plugin: berth, Method: "Score", Instance: Cycle,
			Caller:    "the framework, for each node that fits, when there are at least two; the guest is called with chunks of them",
			Goroutine: parallel,
			Codes: []Code{
				{abi.Success, "the raw score, any number; 0 to 100 after normalising"},
				{abi.Error, asFault},
			},
			Idle:   Idle{abi.Success, "0 for every node; after pre_score's Skip it isn't called"},
			Fail:   errorStatus,
			Ignore: "the policy's scores are left out for all nodes of the cycle",
		},
		{
			Point: abi.NormalizeScore, Plugin: berth, Method: "ScoreExtensions.NormalizeScore", Instance: Cycle,
			Caller:    "the framework, once all nodes have their scores; again for the pods that a batch places by them",
			Goroutine: "one a plugin, beside those of other plugins",
			Codes: []Code{
				{abi.Success, "the scores are 0 to 100"},
				{abi.Error, asFault},
			},
			Idle:   Idle{abi.Success, "the scores stay"},
			Fail:   errorStatus,
			Ignore: "the policy's scores are left out for all nodes of the cycle",
		},
	}
}
