// SPDX-License-Identifier: Apache-2.0

//go:build !berth_without_queue

package berth

import "github.com/berth-scheduler/berth/abi"

//go:wasmexport pre_enqueue
func exportPreEnqueue(frame uint32) uint32 { return current.call(abi.PreEnqueue, frame) }

//go:wasmexport queueing_hint
func exportQueueingHint(frame uint32) uint32 { return current.call(abi.QueueingHint, frame) }

//go:wasmexport queue_key
func exportQueueKey(frame uint32) uint32 { return current.call(abi.QueueKey, frame) }

//go:wasmexport sign_pod
func exportSignPod(frame uint32) uint32 { return current.call(abi.SignPod, frame) }
