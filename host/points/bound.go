// SPDX-License-Identifier: Apache-2.0

package points

import "github.com/berth-scheduler/berth/abi"

// bound holds the points from the choice of a node to the end of binding, and
// the signature, which decides whether the choice serves other pods too.
func bound() []Info {
	return []Info{
		{
			Point: abi.Reserve, Plugin: berth, Method: "Reserve", Instance: Cycle,
			Caller:    "the scheduling cycle, when the pod was given a node; in a pod group's simulation for each pod and placement that is tried",
			Goroutine: scheduling,
			Codes: []Code{
				{abi.Success, "noted"},
				{abi.Unschedulable, "the pod is rejected, unreserved, and waits for a hint"},
				{abi.UnschedulableAndUnresolvable, "the same"},
				{abi.Pending, "the same, without back-off when the hint comes"},
				{abi.Error, asFault},
			},
			Idle:   Idle{abi.Success, "noted"},
			Fail:   "the attempt ends with Error: the pod is unreserved and tried again with back-off",
			Ignore: "the pod goes on",
		},
		{
			Point: abi.Unreserve, Plugin: berth, Method: "Unreserve", Instance: Cycle,
			Caller:    "the scheduler, when reserve or anything after it failed, and in a pod group when a simulation is taken back: once for each policy that was asked to reserve or has no reserve, the last first",
			Goroutine: "the scheduling goroutine up to permit, then the pod's binding goroutine",
			Codes: []Code{
				{abi.Success, "undone"},
			},
			Idle:   Idle{abi.Unset, "none: the framework takes no status"},
			Fail:   "the fault is counted and reported; the other policies are told",
			Ignore: "the same",
		},
		{
			Point: abi.Permit, Plugin: berth, Method: "Permit", Instance: Cycle,
			Caller:    "the scheduling cycle, after reserve; in a pod group once the whole group has its nodes. The wait is the binding goroutine's",
			Goroutine: scheduling,
			Codes: []Code{
				{abi.Success, "the pod may be bound"},
				{abi.Wait, "this policy holds the pod until it allows or rejects it, or the timeout is over; the pod is bound when nobody holds it"},
				{abi.Unschedulable, "the pod is rejected, unreserved, and waits for a hint"},
				{abi.UnschedulableAndUnresolvable, "the same"},
				{abi.Pending, "the same, without back-off when the hint comes"},
				{abi.Error, asFault},
			},
			Idle:   Idle{abi.Success, "the pod may be bound"},
			Fail:   "the attempt ends with Error: the pod is unreserved and tried again with back-off",
			Ignore: "the pod may be bound",
		},
		{
			Point: abi.PreBindPreFlight, Plugin: berth, Method: "PreBindPreFlight", Instance: Cycle,
			Caller:    "the binding cycle, at its start, unless the gate NominatedNodeNameForExpectation is off",
			Goroutine: binding,
			Codes: []Code{
				{abi.Success, "pre_bind has work, as without this point: the node is announced in the pod's status meanwhile"},
				{abi.Skip, "it has none, and isn't called"},
				{abi.Error, asFault},
			},
			Idle:   Idle{abi.Skip, "with AllowParallel, so that no other plugin's PreBind waits"},
			Fail:   bindingError,
			Ignore: "pre_bind is left out",
		},
		{
			Point: abi.PreBind, Plugin: berth, Method: "PreBind", Instance: Cycle,
			Caller:    "the binding cycle, after the wait in permit",
			Goroutine: binding,
			Codes: []Code{
				{abi.Success, "go on; when all policies agree the host patches the pod as they asked, once"},
				{abi.Unschedulable, "the pod is unreserved and tried again with back-off"},
				{abi.UnschedulableAndUnresolvable, "the same"},
				{abi.Error, asFault},
			},
			Idle:   Idle{abi.Success, "nothing to do"},
			Fail:   bindingError,
			Ignore: "the pod goes on without what this policy wanted patched",
		},
		{
			Point: abi.Bind, Plugin: berth, Method: "Bind", Instance: Cycle,
			Caller:    "the binding cycle, before DefaultBinder; the first policy that doesn't skip is the last that is asked",
			Goroutine: binding,
			Codes: []Code{
				{abi.Success, "with the intent bind, without which it is a fault: the host binds the pod, and whether it succeeds or not nobody else does"},
				{abi.Skip, "the next policy and then DefaultBinder are asked"},
				{abi.Error, asFault},
			},
			Idle:   Idle{abi.Skip, "DefaultBinder binds"},
			Fail:   bindingError,
			Ignore: "the next policy and then DefaultBinder are asked; the pod is bound once",
		},
		{
			Point: abi.PostBind, Plugin: berth, Method: "PostBind", Instance: Cycle,
			Caller:    "the binding cycle, when the pod was bound",
			Goroutine: binding,
			Codes: []Code{
				{abi.Success, "noted"},
			},
			Idle:   Idle{abi.Unset, "none: the framework takes no status"},
			Fail:   "the fault is counted and reported; the pod is bound",
			Ignore: "the same",
		},
		{
			Point: abi.SignPod, Plugin: berth, Method: "SignPod", Instance: Beside,
			Caller:    "the queue, when a pod is new or updated, if the gate OpportunisticBatching is on; only for policies whose verdicts equal pods share",
			Goroutine: queueLock,
			Codes: []Code{
				{abi.Success, "pods of one template with the same key may share one another's nodes"},
				{abi.Unschedulable, "the pod isn't batched"},
				{abi.Error, "the pod isn't batched"},
			},
			Idle:   Idle{abi.Success, "no fragment: Berth makes no difference between pods"},
			Fail:   "the pod isn't batched",
			Ignore: "the pod isn't batched",
		},
	}
}
