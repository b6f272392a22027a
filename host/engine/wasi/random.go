// SPDX-License-Identifier: Apache-2.0

package wasi

// randomGet is random_get(buf, len) -> errno: bytes that look random but follow
// from the instance's seed and from how many it got before.
//
//	buf  where they go
//	len  bytes
//
// EFAULT if the buffer is not inside memory.
var randomGet = define(func(c *call) (errno, error) {
	buf, ok := c.mem.Read(c.u32(0), c.u32(1))
	if !ok {
		return efault, nil
	}
	if !c.state.spend(int64(len(buf))) {
		return 0, errFuel
	}
	_, _ = c.state.random.Read(buf) // never fails
	return esuccess, nil
}, "random_get", "bytes that follow from the instance's seed", i32, i32)
