// SPDX-License-Identifier: Apache-2.0

// Package policy reads policy.yaml, the file by which an operator names a
// module and says how it is used.
//
//	apiVersion: berth.dev/v1alpha1
//	kind: Policy
//	mode: Enforce
//	weight: 2
//	match:
//	  namespaces: [team-a]
//	config:
//	  pools: {team-a: gold}
//
// [Parse] is strict: what it doesn't know, it refuses by name and line, so that
// a typo never turns into a default. What it returns is the effective policy:
// every default is filled in, and [Policy.Hash] names that content. The fields
// of [Policy] are the reference; docs/policy-yaml.md holds them as a table.
//
// A Policy never changes after Parse and may be used by any number of
// goroutines.
package policy
