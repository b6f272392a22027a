// SPDX-License-Identifier: Apache-2.0

// Package layering has no code: its tests check what holds for the repository
// as a whole, which no package can check for itself.
//
//	abi        → the standard library
//	guest-sdk  → abi
//	host       → abi, engines, Kubernetes      (never guest-sdk)
//	examples   → guest-sdk
//	cmd        → host, abi                     (cmd/berth-lab: test/lab, config too)
//	test       → host, abi, test/lab, config
//
// Nobody imports cmd or examples, and of test only test/lab may be imported.
// The API server and etcd, which test/lab embeds, never reach the commands that
// run in production. The rest is in the tests: a licence line in every source
// file, one go.mod without replace, nothing large that can be built.
package layering
