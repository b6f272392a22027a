// SPDX-License-Identifier: Apache-2.0

package native

import "github.com/berth-scheduler/berth/abi"

// Guest is what an instance exports, but for its memory.
type Guest interface {
	Call(point abi.Point, frame uint32) uint32
	StateClone(handle uint32) uint32
	CycleEnd(cycle uint64)
}

// NewGuest makes a guest of a policy and its plugin. Package berth sets it.
var NewGuest func(policy, plugin any) Guest

// Log receives the lines that guests log. The fake host sets it before a call.
var Log = func(level uint32, line string) {}

// Read answers the import read: a value record, or a negative number that says
// why there is none. The fake host sets it before a call.
var Read = func(what uint32, key string) (record []byte, answer int64) { return nil, abi.ReadRefused }
