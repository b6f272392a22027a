// SPDX-License-Identifier: Apache-2.0

// Package conformance tests policies in the scheduling framework: real modules
// in the real host in Kubernetes' own scheduler, on a fake API server.
//
//	guests/   policies in Go whose config says how they behave
//	wat/      guests by hand that break one rule of the ABI each
//	World     a scheduler with the host in it, driven cycle by cycle or running
//	Run       all cases, for an engine
//
// What a policy does is compared with the same logic as a Go plugin. The cases
// that broke real systems carry their number: C1 to C13.
package conformance
