// SPDX-License-Identifier: Apache-2.0

// Package module turns bytes from anywhere into a compiled module that the host
// can run.
//
//	bytes -> size -> digest -> interface -> section -> weave -> compile
//	                            |            |
//	                 imports and exports   berth.describe: what the module
//	                 as in abi's tables    says of itself without running
//
// [Inspect] stops before weaving and runs nothing; [Load] goes on to a compiled
// [Module], whose Describe starts the guest once and compares what it says of
// itself with the section.
//
// Nothing here trusts the bytes: whatever they are, the answer is a value or an
// error of one line, never a panic. All functions may be called from any
// goroutine.
package module
