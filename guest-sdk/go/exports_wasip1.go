// SPDX-License-Identifier: Apache-2.0

package berth

import "github.com/berth-scheduler/berth/abi"

// What the host calls: the functions of abi.Exports. Points that the registered
// plugin doesn't implement answer abi.NotHandled.

//go:wasmexport abi_version
func exportABIVersion() uint32 { return abi.PackVersion(abi.Major, abi.Minor) }

//go:wasmexport alloc
func exportAlloc(size uint32) uint32 { return hostAlloc(size) }

//go:wasmexport free
func exportFree(ptr uint32) { hostFree(ptr) }

//go:wasmexport gc
func exportGC() { collectGarbage() }

//go:wasmexport state_clone
func exportStateClone(handle uint32) uint32 { return current.states.clone(handle) }

//go:wasmexport cycle_end
func exportCycleEnd(cycle uint64) { current.states.end(cycle) }

//go:wasmexport describe
func exportDescribe(frame uint32) uint32 { return current.call(abi.Describe, frame) }

//go:wasmexport configure
func exportConfigure(frame uint32) uint32 { return current.call(abi.Configure, frame) }

//go:wasmexport pre_enqueue
func exportPreEnqueue(frame uint32) uint32 { return current.call(abi.PreEnqueue, frame) }

//go:wasmexport queueing_hint
func exportQueueingHint(frame uint32) uint32 { return current.call(abi.QueueingHint, frame) }

//go:wasmexport queue_key
func exportQueueKey(frame uint32) uint32 { return current.call(abi.QueueKey, frame) }

//go:wasmexport pre_filter
func exportPreFilter(frame uint32) uint32 { return current.call(abi.PreFilter, frame) }

//go:wasmexport add_pod
func exportAddPod(frame uint32) uint32 { return current.call(abi.AddPod, frame) }

//go:wasmexport remove_pod
func exportRemovePod(frame uint32) uint32 { return current.call(abi.RemovePod, frame) }

//go:wasmexport filter
func exportFilter(frame uint32) uint32 { return current.call(abi.Filter, frame) }

//go:wasmexport post_filter
func exportPostFilter(frame uint32) uint32 { return current.call(abi.PostFilter, frame) }

//go:wasmexport pre_score
func exportPreScore(frame uint32) uint32 { return current.call(abi.PreScore, frame) }

//go:wasmexport score
func exportScore(frame uint32) uint32 { return current.call(abi.Score, frame) }

//go:wasmexport normalize_score
func exportNormalizeScore(frame uint32) uint32 { return current.call(abi.NormalizeScore, frame) }

//go:wasmexport reserve
func exportReserve(frame uint32) uint32 { return current.call(abi.Reserve, frame) }

//go:wasmexport unreserve
func exportUnreserve(frame uint32) uint32 { return current.call(abi.Unreserve, frame) }

//go:wasmexport permit
func exportPermit(frame uint32) uint32 { return current.call(abi.Permit, frame) }

//go:wasmexport pre_bind_pre_flight
func exportPreBindPreFlight(frame uint32) uint32 { return current.call(abi.PreBindPreFlight, frame) }

//go:wasmexport pre_bind
func exportPreBind(frame uint32) uint32 { return current.call(abi.PreBind, frame) }

//go:wasmexport bind
func exportBind(frame uint32) uint32 { return current.call(abi.Bind, frame) }

//go:wasmexport post_bind
func exportPostBind(frame uint32) uint32 { return current.call(abi.PostBind, frame) }

//go:wasmexport sign_pod
func exportSignPod(frame uint32) uint32 { return current.call(abi.SignPod, frame) }

//go:wasmexport pod_group_post_filter
func exportPodGroupPostFilter(frame uint32) uint32 {
	return current.call(abi.PodGroupPostFilter, frame)
}

//go:wasmexport generate_placements
func exportGeneratePlacements(frame uint32) uint32 {
	return current.call(abi.GeneratePlacements, frame)
}

//go:wasmexport score_placement
func exportScorePlacement(frame uint32) uint32 { return current.call(abi.ScorePlacement, frame) }

//go:wasmexport normalize_placement_score
func exportNormalizePlacementScore(frame uint32) uint32 {
	return current.call(abi.NormalizePlacementScore, frame)
}
