// SPDX-License-Identifier: Apache-2.0

package points

import "github.com/berth-scheduler/berth/abi"

// grouped holds the points of a pod group's cycle, which is under the gates
// GenericWorkload and, for placements, TopologyAwareWorkloadScheduling.
func grouped() []Info {
	return []Info{
		{
			Point: abi.PodGroupPostFilter, Plugin: berth, Method: "PodGroupPostFilter", Instance: Cycle,
			Caller:    "the group's cycle, when the group as a whole found no nodes; in steps, as post_filter",
			Goroutine: scheduling,
			Codes: []Code{
				{abi.Success, "its pods are nominated, and who is to be evicted is: no other plugin is asked"},
				{abi.Unschedulable, "nothing to be done here: the next policy and then DefaultPreemption are asked"},
				{abi.UnschedulableAndUnresolvable, "nothing to be done, and nobody else is asked"},
				{abi.Error, asFault},
			},
			Idle:   Idle{abi.Unschedulable, "without reasons, which lets DefaultPreemption run"},
			Fail:   "Error: no plugin after it is asked, so nothing is preempted, and the group waits",
			Ignore: "the next policy and then DefaultPreemption are asked",
		},
		{
			Point: abi.GeneratePlacements, Plugin: placement, Method: "GeneratePlacements", Instance: Cycle,
			Caller:    "the group's cycle, at its start; the first policy that doesn't skip is the last that is asked",
			Goroutine: scheduling,
			Codes: []Code{
				{abi.Success, "the group is tried on each of these sets of nodes, and on no other"},
				{abi.Skip, "the next policy and then the in-tree plugin are asked"},
				{abi.Unschedulable, "there is none for it: the group's attempt ends"},
				{abi.Error, asFault},
			},
			Idle:   Idle{abi.Success, "the placements of the in-tree plugin TopologyPlacementGenerator, which BerthPlacement asks"},
			Fail:   groupError,
			Ignore: "the next policy and then the in-tree plugin are asked",
		},
		{
			Point: abi.ScorePlacement, Plugin: berth, Method: "ScorePlacement", Instance: Cycle,
			Caller:    "the group's cycle, for each placement that enough of its pods fit",
			Goroutine: parallel,
			Codes: []Code{
				{abi.Success, "the raw score, any number; 0 to 100 after normalising"},
				{abi.Error, asFault},
			},
			Idle:   Idle{abi.Success, "0 for every placement"},
			Fail:   groupError,
			Ignore: "the policy's scores are left out for all placements",
		},
		{
			Point: abi.NormalizePlacementScore, Plugin: berth, Method: "PlacementScoreExtensions.NormalizePlacementScore", Instance: Cycle,
			Caller:    "the group's cycle, once all placements have their scores",
			Goroutine: "one a plugin, beside those of other plugins",
			Codes: []Code{
				{abi.Success, "the scores are 0 to 100"},
				{abi.Error, asFault},
			},
			Idle:   Idle{abi.Success, "the scores stay"},
			Fail:   groupError,
			Ignore: "the policy's scores are left out for all placements",
		},
	}
}
