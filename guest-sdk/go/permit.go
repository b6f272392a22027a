// SPDX-License-Identifier: Apache-2.0

package berth

import "github.com/berth-scheduler/berth/abi"

// PermitPlugin allows, delays or rejects a pod that was given a node.
type PermitPlugin interface {
	// Permit delays the pod with Wait, for at most timeout nanoseconds (the host
	// has a limit of its own; 0 is that). The pod is bound when Allow is called
	// for it at any point of any cycle, and rejected by Reject or the time.
	// Without Wait the timeout is ignored.
	Permit(c *Cycle, pod Pod, node Node) (s *Status, timeout int64)
}

// Durations in nanoseconds, as Permit's timeout and Cycle.Now are. (They are no
// time.Duration because package time adds 260 KB to a module.)
const (
	Millisecond int64 = 1_000_000
	Second            = 1000 * Millisecond
	Minute            = 60 * Second
	Hour              = 60 * Minute
)

// Wait makes the pod wait, in Permit.
func Wait(reason string) *Status { return newStatus(abi.Wait, reason) }
