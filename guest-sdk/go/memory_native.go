// SPDX-License-Identifier: Apache-2.0

//go:build !wasip1

package berth

import (
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/guest-sdk/go/internal/native"
)

// addressesLast says that what address returns is a copy for one call.
const addressesLast = false

var memory = native.Base()

// at is the place of an address in the fake guest's memory.
func at(address uint32) unsafe.Pointer { return unsafe.Add(memory, address) }

// address copies n bytes at p into the fake guest's memory.
func address(p unsafe.Pointer, n int) uint32 { return native.Publish(p, n) }

func unpublish() { native.Unpublish() }

func hostLog(level uint32, line string) { native.Log(level, line) }
func hostIntern(s string) uint32        { return native.Intern(s) }

// Call runs a point's export; the caller holds native.Mu.
func (g *guest) Call(point abi.Point, frame uint32) uint32 {
	current = g
	return g.call(point, frame)
}

// StateClone runs the export state_clone.
func (g *guest) StateClone(handle uint32) uint32 { return g.states.clone(handle) }

// CycleEnd runs the export cycle_end.
func (g *guest) CycleEnd(cycle uint64) { g.states.end(cycle) }

// Points are the points that the plugin implements.
func (g *guest) Points() []abi.Point { return g.points() }

func init() {
	native.NewGuest = func(policy, plugin any) native.Guest { return newGuest(policy.(*Policy), plugin) }
}
