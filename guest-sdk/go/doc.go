// SPDX-License-Identifier: Apache-2.0

// Package berth is for writing scheduling policies in Go: an ordinary type with
// the methods of a scheduler plugin becomes a WebAssembly module that Berth's
// host runs. README.md is the tutorial.
//
//	func init() { berth.Register(&policy, &teamPools{}) }
//
//	scheduler (host)                        module (guest)
//	  _initialize     ------------------>   package variables, init: Register
//	  describe        ------------------>   name, points, sections, config schema
//	  configure       ------------------>   Config's variables are set, Configured
//	  pre_filter ...  ------------------>   PreFilter, Filter, Score ... of the plugin
//	  cycle_end, gc   ------------------>   state is dropped, garbage collected
//
// An instance runs one call at a time, so a plugin needs no locks. After a panic
// the host throws the instance away; the next one starts from _initialize.
// Values that point into the host's records (Pod, Node, what their lists hold,
// and strings from them unless said otherwise) are valid during the call.
//
// All exports are in this package; an author writes none. It imports package abi
// and little of the standard library, so that modules stay small. Where a policy
// runs natively, in tests, package berthtest plays the host.
package berth
