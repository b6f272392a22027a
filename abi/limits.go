// SPDX-License-Identifier: Apache-2.0

package abi

// Limits that both sides know. The host refuses what exceeds them with the
// limit's name, what it wanted and what it got.
const (
	MaxReasons       = 8         // reasons of one verdict
	MaxReasonBytes   = 1024      // bytes of one reason
	MaxListLen       = 100_000   // names in a result's list
	MaxNameBytes     = 253       // bytes of a node's name
	MaxPayloadBytes  = 256 << 10 // bytes of a describe document or another payload
	MaxValueBytes    = 1 << 20   // bytes of a value record
	MaxValueDepth    = 64        // nesting in a value record
	MaxLogBytes      = 4096      // bytes of one log line
	MaxInternBytes   = 4096      // bytes of one interned string
	MaxReadKeyBytes  = 4096      // bytes of a key of the import read
	MaxIntents       = 256       // intents of one call
	MaxVictims       = 256       // pods of one intent evict
	MaxSteps         = 4096      // steps of one post_filter
	MaxDryRuns       = 256       // questions of one dry_run
	MaxStateKeyBytes = 253       // bytes of a key of an intent state
	MaxStateBytes    = 1 << 20   // bytes of a policy's state, keys included
	MaxMetrics       = 32        // metrics of a policy's own
	MinScore         = 0         // lowest normalised score
	MaxScore         = 100       // highest normalised score
)
