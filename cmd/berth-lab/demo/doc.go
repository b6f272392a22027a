// SPDX-License-Identifier: Apache-2.0

// Package demo shows, on a lab's cluster, what Berth is for, and checks it:
//
//	stock    the stock scheduler places pods by no rule
//	phase 1  Berth places pods by team-pools and cost-aware
//	swap     team-pools is replaced while pods keep arriving
//	phase 2  Berth places pods by the new rule
//	pending  a pod that the rule leaves no node says why
//
// What a policy may do is written down twice: in the policies' config (the
// YAML files here), and in Go (rule.go). The check uses the latter and the API
// server's final state, and nothing that a policy says.
package demo
