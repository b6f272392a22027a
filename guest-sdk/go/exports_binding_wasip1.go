// SPDX-License-Identifier: Apache-2.0

//go:build !berth_without_binding

package berth

import "github.com/berth-scheduler/berth/abi"

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
