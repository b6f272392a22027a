// SPDX-License-Identifier: Apache-2.0

// Package store keeps what outlives a scheduler process, in a namespace where
// the scheduler may write: a copy of each policy's last good version, and the
// status document; and it writes Events on the policies' ConfigMaps.
//
//	manager ── Save, Delete, Prune ──► wanted ──┐            ┌─ ConfigMap last-good-*
//	        ── SetStatus ────────────► wanted ──┤  workqueue ├─ ConfigMap berth-status
//	        ◄─ Load ────────────────────────────┘  (leader)  └─ Events
//
// Everything but Load returns at once: it notes what is wanted, and Run writes
// it, as often as it takes. Only the leader writes; other replicas note the same
// and catch up when they lead. A scheduler without a reachable API server, or
// without the right to write, schedules on.
//
// The state namespace needs get, list, create, update, patch and delete of
// ConfigMaps; Events need what the scheduler has anyway.
package store
