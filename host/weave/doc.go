// SPDX-License-Identifier: Apache-2.0

// Package weave rewrites a WebAssembly module so that it counts fuel, bounds
// its stack and its memory, and yields to Go's garbage collector.
//
//	module ── parse, check indices and shape ── plan each body ── rewrite ── woven module
//	                                                              + 3 globals, exported
//	                                                              + 3 functions at the end
//
// # Fuel
//
// One unit is about one instruction. Blocks and constants that an engine makes
// no code for cost the same as others, so ordinary code takes 0.1 ns a unit;
// calls cost 4, loads 5 (they may miss every cache), instructions for which the
// engine leaves compiled code 32, bulk memory one more for each 8 bytes, table
// instructions one for each entry, memory.grow 16,384 for each page.
//
// The budget is in two exported globals. "berth:fuel" is what is left of the
// current slice, "berth:budget" the rest. A function keeps the fuel in a local,
// spills it before each call and at its exit, and reloads it after each call.
// It looks whether the fuel is below zero at its entry, at loop heads, after
// bulk charges and on long ways in between; if so it calls an added function,
// which is a safepoint and grants the next slice, or sets the fuel to -1, the
// budget to 0, and traps as unreachable.
//
// The same calls from the same state use the same units, in every engine.
// A Meter does the host's side. Host functions charge through it too:
//
//	if !meter.Charge(cost) {
//		return errOutOfFuel // ends the call
//	}
//
// # Safepoints
//
// While a guest runs in wazero, Go's garbage collector cannot stop that thread,
// and with it waits the whole process. memory.grow(0) lets it. A module without
// a memory gets an empty one for that. memory.fill and memory.copy of more than
// 1 MiB go in pieces with a safepoint between them.
//
// # Stack
//
// Each function that calls takes its weight from "berth:stack" and gives it
// back at its exit; below zero it traps as unreachable. Without that an engine's
// own limit would decide, which is a hundred megabytes in one and a few thousand
// frames in another.
//
// # What is refused
//
// A guest imports functions only and has one memory at most. Exceptions, tail
// calls, GC types, threads, relaxed SIMD, memory64, multi-memory and extended
// constant expressions are refused, as are the names of the added exports, any
// index out of range, and whatever exceeds Limits. Custom sections stay, but
// for those that speak of code offsets.
package weave
