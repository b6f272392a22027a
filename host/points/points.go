// SPDX-License-Identifier: Apache-2.0

// Package points is the table of extension points for people: who calls each and
// in which goroutine, what a status means there, what Berth answers when no
// policy has anything to say, and what a pod gets when a policy fails. berth
// points prints it, and docs/points.md holds it. It imports nothing but the ABI,
// so that a command needn't hold a scheduler.
package points

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// Info is a row of the table.
type Info struct {
	Point     abi.Point
	Plugin    string // the framework plugin that has the method: Berth, BerthQueueSort or BerthPlacement
	Method    string // of the framework's interface
	Caller    string // who calls it, and when
	Goroutine string
	Instance  string // of the guest: Cycle or Beside
	Codes     []Code // in the order of abi.Points
	Idle      Idle
	Fail      string // what a fault brings with failurePolicy Fail
	Ignore    string // and with Ignore
}

// Code is what a status code means at a point.
type Code struct {
	Code  abi.Code
	Means string
}

// Idle is what the framework hears from the plugin where no policy has anything
// to say.
type Idle struct {
	Code abi.Code // Unset where the framework takes no status
	Text string
}

// Instances of a policy's version: one for the cycles, and one for the points
// that run under or near the queue's lock.
const (
	Cycle  = "cycle"
	Beside = "beside"
)

// Plugins.
const (
	berth     = "Berth"
	queueSort = "BerthQueueSort"
	placement = "BerthPlacement"
)

// What more than one row says.
const (
	queueLock  = "whichever changes the queue, under the queue's lock: one at a time"
	scheduling = "the scheduling goroutine: one pod at a time"
	parallel   = "up to parallelism (16) at once; calls of the guest one after the other"
	binding    = "the pod's binding goroutine, beside scheduling and other pods' binding"

	asFault      = "a fault: the failure policy decides"
	gated        = "the pod is gated, and asked about again with back-off, from 1 s to 1 min"
	errorStatus  = "the attempt ends with Error, and is made again with back-off"
	groupError   = "the group's attempt ends with Error, and is made again with back-off"
	bindingError = "the binding ends with Error: the pod is unreserved and tried again with back-off"
)

// OutOfReach are the framework's points that no plugin from outside can have,
// with the reason.
var OutOfReach = []struct{ Method, Why string }{
	{"PlacementFeasible", "the framework takes it from the plugin GangScheduling by name and from no other; a policy that limits a group says so at filter, reserve, permit or generate_placements"},
	{"Less (QueueSort)", "a sort of the heap may not call a guest: BerthQueueSort compares the keys that queue_key gave"},
	{"EventsToRegister", "asked once, at start, when no policy is known: Berth registers the events of all, and queueing_hint chooses"},
}

// Table is the table, in the order of abi.Points, without the two calls of a
// policy's life.
func Table() []Info {
	return slices.Concat(queue(), scheduled(), bound(), grouped())
}

// Of is the row of a point.
func Of(p abi.Point) (Info, bool) {
	for _, i := range Table() {
		if i.Point == p {
			return i, true
		}
	}
	return Info{}, false
}

// Intents are the kinds of intents that a result may hold at the point.
func (i *Info) Intents() (kinds []string) {
	if !slices.Contains(abi.TakesIntents(), i.Point) {
		return nil
	}
	for _, in := range abi.Intents() {
		if in.Points == nil || slices.Contains(in.Points, i.Point) {
			kinds = append(kinds, in.Kind)
		}
	}
	return kinds
}

// Snapshot says whether the scheduler's snapshot may be read at the point.
func (i *Info) Snapshot() bool {
	return i.Instance == Cycle && !slices.Contains([]abi.Point{
		abi.Unreserve, abi.PreBindPreFlight, abi.PreBind, abi.Bind, abi.PostBind,
	}, i.Point)
}

// Reads are the names of what the import read gives at the point, beside what is
// resident.
func (i *Info) Reads() (names []string) {
	for _, r := range abi.ReadTable() {
		switch {
		case r.Cycle && !i.Snapshot():
		case r.Read == abi.ReadNodeStatus && i.Point != abi.PostFilter:
		default:
			names = append(names, r.Name)
		}
	}
	return names
}
