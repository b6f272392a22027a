// SPDX-License-Identifier: Apache-2.0

// Package equality holds ports of in-tree plugins as policies, in ports/, and
// the test that they decide as the originals do, on random clusters.
//
//	scene (rapid) ---> snapshot ---> framework with Berth and the port ---> lines
//	                      |                                                   =?
//	                      +--------> framework with the in-tree plugin ----> lines
//
// A line is one answer: a status of Filter with its reasons, a raw score, a
// normalised one. Both frameworks are Kubernetes' own and share the snapshot; each
// setting (nominated pods, a dry run, ...) plays the same moves on both.
// docs/equality.md says what is compared and where a port can't be equal.
package equality
