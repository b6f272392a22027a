// SPDX-License-Identifier: Apache-2.0

//go:build !wasip1

package berth

import (
	"slices"
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

func hostRead(what uint32, key string, buffer unsafe.Pointer, room uint32) int64 {
	record, answer := native.Read(what, key)
	if record == nil {
		return answer
	}
	if len(record) <= int(room) {
		copy(unsafe.Slice((*byte)(buffer), room), record)
	}
	return int64(len(record))
}

// checkDescription finds what a host would refuse, in the author's tests.
func checkDescription(document []byte) error {
	_, err := abi.ParseDescription(document)
	return err
}

// unknownKey finds a key of a config that no property is bound to, as a host does
// by the schema.
func unknownKey(ps []Property, v abi.Value) error {
	names := make([]string, len(ps))
	for i, p := range ps {
		names[i] = p.binding().name
	}
	for i := range v.Len() {
		if k := v.Key(i); !slices.Contains(names, k) {
			want := "none"
			if len(names) > 0 {
				want = oneOf(names)
			}
			return &ConfigError{k, "is unknown; want " + want}
		}
	}
	return nil
}

// guarded runs a goroutine's function and keeps its panic, so that it can go on
// in the test's.
func guarded(p *any, f func()) {
	defer func() { *p = recover() }()
	f()
}

// Call runs a point's export; the caller holds native.Mu.
func (g *guest) Call(point abi.Point, frame uint32) uint32 {
	current = g
	return g.call(point, frame)
}

// StateClone runs the export state_clone.
func (g *guest) StateClone(handle uint32) uint32 { return g.states.clone(handle) }

// CycleEnd runs the export cycle_end.
func (g *guest) CycleEnd(cycle uint64) { g.endCycle(cycle) }

func init() {
	native.NewGuest = func(policy, plugin any) native.Guest { return newGuest(policy.(*Policy), plugin) }
}
