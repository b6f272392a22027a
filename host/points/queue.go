// SPDX-License-Identifier: Apache-2.0

package points

import "github.com/berth-scheduler/berth/abi"

// queue holds the points that the scheduling queue calls, before any attempt.
func queue() []Info {
	return []Info{
		{
			Point: abi.PreEnqueue, Plugin: berth, Method: "PreEnqueue", Instance: Beside,
			Caller:    "the queue, each time a pod is to enter its active or back-off part: when it is new or updated, after an event, when it is activated",
			Goroutine: queueLock,
			Codes: []Code{
				{abi.Success, "the pod may be queued"},
				{abi.UnschedulableAndUnresolvable, "the pod is gated: no attempt is made, and it is asked about again when a hint says so"},
				{abi.Error, asFault},
			},
			Idle:   Idle{abi.Success, "the pod may be queued"},
			Fail:   gated,
			Ignore: "the pod may be queued",
		},
		{
			Point: abi.QueueingHint, Plugin: berth, Method: "EventsToRegister (QueueingHintFn)", Instance: Beside,
			Caller:    "the queue, for each event that the policy asks for and each pod that the policy turned down; the host, for changes of declared resources and data sets",
			Goroutine: queueLock + "; for declared resources a goroutine of the host, without the lock",
			Codes: []Code{
				{abi.Success, "the event may help: the pod is tried again"},
				{abi.Skip, "it doesn't help: the pod stays where it is, unless another policy that turned it down says otherwise"},
				{abi.Error, "as success: no wake-up is lost"},
			},
			Idle:   Idle{abi.Unset, "Queue: no policy is known to have turned the pod down"},
			Fail:   "the pod is tried again",
			Ignore: "the pod is tried again",
		},
		{
			Point: abi.QueueKey, Plugin: queueSort, Method: "PreEnqueue", Instance: Beside,
			Caller:    "the queue, as at pre_enqueue; for the first policy in order that has the point",
			Goroutine: queueLock,
			Codes: []Code{
				{abi.Success, "the key counts until the pod is queued anew: pods with a lower one come first, then priority and age decide"},
				{abi.Error, asFault},
			},
			Idle:   Idle{abi.Success, "the neutral key 0, which leaves PrioritySort's order"},
			Fail:   gated,
			Ignore: "the neutral key 0",
		},
	}
}
