// SPDX-License-Identifier: Apache-2.0

package wasi

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/engine"
)

// procExit is proc_exit(code): ends the call with a trap whose error is an
// *engine.ExitError with the code, 0 included. (A Go guest that panics prints
// why, and then traps as unreachable.)
var procExit = function{
	abi.Function{Name: "proc_exit", Params: []abi.ValueType{i32}, Doc: "ends the guest"},
	func(c *call) (errno, error) { return 0, &engine.ExitError{Code: c.u32(0)} },
}

// procRaise is proc_raise(signal) -> errno. There are no signals: ENOSYS.
var procRaise = define(errnoOf(enosys), "proc_raise", "no signals", i32)

// schedYield is sched_yield() -> errno. There is nobody to yield to.
var schedYield = define(errnoOf(esuccess), "sched_yield", "does nothing")

// errSleep is what the author of a policy that sleeps reads.
var errSleep = errors.New("sleeping is not available to a policy")

// Naps are what Go's runtime takes while it panics, to let other threads come to
// a halt: five of 1 ms. Without them its message would never be printed.
const (
	maxNap  = 10 * time.Millisecond
	maxNaps = 32 // a call; a guest that sleeps with time.Sleep takes them all
)

// pollOneoff is poll_oneoff(in, out, subscriptions, events) -> errno: waits
// until a time or a file's readiness. The clock stands still during a call, so
// the guest would wait until its fuel is used up: it ends the call instead.
//
//	in             subscriptions of 48 bytes
//	out            where events of 32 bytes go
//	subscriptions  of in
//	events         where the number of events goes, a u32
//
// A nap, which is one subscription to a clock for at most 10 ms from now, is
// over at once, up to 32 times a call:
//
//	         userdata           clock                  timeout            relative
//	in:  [ 8 bytes ] [00 … ] [01 00 00 00] ... [40 42 0f 00 00 00 00 00] ... [00 00]
//	out: [ 8 bytes ] [00 00] [00] ...
//
// EINVAL without subscriptions, EFAULT if a nap's in, out or events is not
// inside memory.
var pollOneoff = define(func(c *call) (errno, error) {
	in, out, count, events := c.u32(0), c.u32(1), c.u32(2), c.u32(3)
	if count == 0 {
		return einval, nil
	}
	if count > 1 || c.state.naps >= maxNaps {
		return 0, errSleep
	}
	sub, ok := c.mem.Read(in, 48)
	if !ok {
		return efault, nil
	}
	const clockTag = 0
	timeout := binary.LittleEndian.Uint64(sub[24:])
	if absolute := sub[40]&1 != 0; sub[8] != clockTag || absolute || timeout > uint64(maxNap) {
		return 0, errSleep
	}
	event := [32]byte{}
	copy(event[:8], sub) // userdata; no error, and the tag of a clock is 0
	if _, ok := c.mem.Read(events, 4); !ok || !c.mem.Write(out, event[:]) {
		return efault, nil
	}
	c.state.naps++
	c.putU32(events, 1)
	return esuccess, nil
}, "poll_oneoff", "ends the guest: sleeping is not available to a policy", i32, i32, i32, i32)
