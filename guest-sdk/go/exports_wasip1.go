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
func exportCycleEnd(cycle uint64) { current.endCycle(cycle) }

//go:wasmexport describe
func exportDescribe(frame uint32) uint32 { return current.call(abi.Describe, frame) }

//go:wasmexport configure
func exportConfigure(frame uint32) uint32 { return current.call(abi.Configure, frame) }

//go:wasmexport pre_filter
func exportPreFilter(frame uint32) uint32 { return current.call(abi.PreFilter, frame) }

//go:wasmexport add_pod
func exportAddPod(frame uint32) uint32 { return current.call(abi.AddPod, frame) }

//go:wasmexport remove_pod
func exportRemovePod(frame uint32) uint32 { return current.call(abi.RemovePod, frame) }

//go:wasmexport filter
func exportFilter(frame uint32) uint32 { return current.call(abi.Filter, frame) }

//go:wasmexport pre_score
func exportPreScore(frame uint32) uint32 { return current.call(abi.PreScore, frame) }

//go:wasmexport score
func exportScore(frame uint32) uint32 { return current.call(abi.Score, frame) }

//go:wasmexport normalize_score
func exportNormalizeScore(frame uint32) uint32 { return current.call(abi.NormalizeScore, frame) }
