// SPDX-License-Identifier: Apache-2.0

//go:build !berth_without_group_preemption

package berth

import "github.com/berth-scheduler/berth/abi"

//go:wasmexport pod_group_post_filter
func exportPodGroupPostFilter(frame uint32) uint32 {
	return current.call(abi.PodGroupPostFilter, frame)
}
