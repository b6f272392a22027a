// SPDX-License-Identifier: Apache-2.0

package wasi

// argsGet is args_get(argv, argv_buf) -> errno. There are no arguments, so it
// writes nothing.
//
//	argv      where the pointers would go
//	argv_buf  where the strings would go
//
// It always succeeds.
var argsGet = define(errnoOf(esuccess), "args_get", "the arguments: none", i32, i32)

// argsSizesGet is args_sizes_get(argc, argv_len) -> errno: how many arguments
// there are, and how many bytes their strings take.
//
//	argc      where the count goes, a u32
//	argv_len  where the length goes, a u32
//
// Both are 0:
//
//	         argc           argv_len
//	?? ?? [00 00 00 00] ?? [00 00 00 00] ??
//
// EFAULT if one is not inside memory; the other may be written nevertheless.
var argsSizesGet = define(noStrings, "args_sizes_get", "the sizes of the arguments: 0", i32, i32)

// environGet is environ_get(environ, environ_buf) -> errno, as argsGet.
var environGet = define(errnoOf(esuccess), "environ_get", "the environment: empty", i32, i32)

// environSizesGet is environ_sizes_get(count, len) -> errno, as argsSizesGet.
var environSizesGet = define(noStrings, "environ_sizes_get", "the sizes of the environment: 0", i32, i32)

func noStrings(c *call) (errno, error) {
	if !c.putU32(c.u32(0), 0) || !c.putU32(c.u32(1), 0) {
		return efault, nil
	}
	return esuccess, nil
}
