// SPDX-License-Identifier: Apache-2.0

package wasi

// clocks is how many clocks there are: realtime, monotonic, process and thread
// CPU time. All of them show the pinned time.
const clocks = 4

// clockResGet is clock_res_get(id, resolution) -> errno: a clock's resolution.
//
//	id          0 to 3
//	resolution  where it goes, a u64: 1 ns
//
// EINVAL for other clocks, EFAULT if resolution is not inside memory.
var clockResGet = define(func(c *call) (errno, error) {
	if c.u32(0) >= clocks {
		return einval, nil
	}
	if !c.putU64(c.u32(1), uint64(clockResolution)) {
		return efault, nil
	}
	return esuccess, nil
}, "clock_res_get", "a clock's resolution: 1 ns", i32, i32)

// clockTimeGet is clock_time_get(id, precision, time) -> errno: the time that
// the host pinned for this call, which doesn't pass while the guest runs.
//
//	id         0 to 3
//	precision  how inexact the answer may be, not looked at
//	time       where it goes, a u64 in ns
//
// EINVAL for other clocks, EFAULT if time is not inside memory.
var clockTimeGet = define(func(c *call) (errno, error) {
	if c.u32(0) >= clocks {
		return einval, nil
	}
	if !c.putU64(c.u32(2), uint64(c.state.clock)) {
		return efault, nil
	}
	return esuccess, nil
}, "clock_time_get", "the time that the host pinned for the call", i32, i64, i32)
