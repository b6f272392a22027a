// SPDX-License-Identifier: Apache-2.0

// Package abi is the contract between Berth's host and its guests: every name,
// number and layout that crosses the sandbox, as tables.
//
//	host                                   guest (WebAssembly reactor)
//	 |  alloc(size)            ----------->  |  memory for frames, views, strings
//	 |  frame {point, pod, nodes, state} ->  |  filter(frame), score(frame), ...
//	 |  <------------- result {code, items}  |
//	 |  <----------- log(...), intern(...)   |
//
// Points and Exports say what a guest may export, Imports what it may import,
// FrameStruct and ResultStruct how a call crosses, NodeSections and PodSections
// what a view record holds, EncodeValue and OpenValue how trees cross, and
// Description what a guest says of itself. SPEC.md is the same in prose; a test
// compares the two.
//
// The package imports the standard library only, and of that nothing heavy, so
// that guests can use it: it builds for GOOS=wasip1.
package abi
