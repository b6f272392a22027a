// SPDX-License-Identifier: Apache-2.0

//go:build !berth_without_preemption

package berth

import "github.com/berth-scheduler/berth/abi"

//go:wasmexport post_filter
func exportPostFilter(frame uint32) uint32 { return current.call(abi.PostFilter, frame) }
