// SPDX-License-Identifier: Apache-2.0

package abi

// Offsets in a call frame, which the host writes into guest memory before each
// call. The guest may read it until it returns.
const (
	FrameSizeField  = 0
	FramePoint      = 4
	FramePhase      = 6
	FrameCycle      = 8
	FrameNow        = 16
	FrameStringsPtr = 24
	FrameStringsLen = 28
	FramePodPtr     = 32
	FramePodLen     = 36
	FrameNodesPtr   = 40
	FrameNodesLen   = 44
	FrameState      = 48
	FrameArgPtr     = 52
	FrameArgLen     = 56
	FrameResultPtr  = 60
	FrameResultLen  = 64
	FrameFlags      = 68
	FrameCluster    = 72
	FrameGroup      = 76
	FrameSize       = 96
)

// FrameStruct is the layout of a call frame.
var FrameStruct = &Struct{"frame", FrameSize, []Field{
	{"size", FrameSizeField, U32, "bytes of this frame; a newer minor may append fields"},
	{"point", FramePoint, U16, "number of the point"},
	{"phase", FramePhase, U16, "whole 0, begin 1, chunk 2, end 3, apply 4, step 5"},
	{"cycle", FrameCycle, U64, "the pod's scheduling attempt; never reused in an instance; 0 outside a cycle"},
	{"now_ns", FrameNow, S64, "wall clock, Unix nanoseconds, the same for the whole cycle; 0 for pure policies"},
	{"strings_ptr", FrameStringsPtr, Ptr, "array of string_ref, indexed by id"},
	{"strings_len", FrameStringsLen, U32, "number of ids in the array; entry 0 is the empty string"},
	{"pod_ptr", FramePodPtr, Ptr, "the pod's view record; 0 where there is no pod"},
	{"pod_len", FramePodLen, U32, "its bytes"},
	{"nodes_ptr", FrameNodesPtr, Ptr, "array of node_ref; in normalize_score they are all zero"},
	{"nodes_len", FrameNodesLen, U32, "number of nodes of this call"},
	{"state", FrameState, U32, "handle of the cycle state that pre_filter, or of a group's that generate_placements returned; 0 is none"},
	{"arg_ptr", FrameArgPtr, Ptr, "add_pod, remove_pod: view record of the other pod; normalize_score: i64 scores, one a node; else a value record"},
	{"arg_len", FrameArgLen, U32, "its bytes"},
	{"result_ptr", FrameResultPtr, Ptr, "where the guest writes its result, items behind it"},
	{"result_len", FrameResultLen, U32, "bytes there"},
	{"flags", FrameFlags, Flags, "0 in this version"},
	{"cluster", FrameCluster, U32, "number of nodes in the scheduler's snapshot; 0 outside a cycle and for pure policies"},
	{"group", FrameGroup, U32, "in the cycle of a pod group's pod: handle of the state that generate_placements returned for the group; else 0"},
}}

// Offsets in a node reference. A frame's nodes are an array of them.
const (
	NodeRefPtr     = 0
	NodeRefLen     = 4
	NodeRefSlot    = 8
	NodeRefFlags   = 12
	NodeRefVersion = 16
	NodeRefSize    = 24
)

// NodeRefScratch marks a reference to a scratch slot: a modified copy of a
// node, for this call only.
const NodeRefScratch = 1

// NodeRefStruct is the layout of a node reference.
var NodeRefStruct = &Struct{"node_ref", NodeRefSize, []Field{
	{"ptr", NodeRefPtr, Ptr, "the node's view record"},
	{"len", NodeRefLen, U32, "its bytes"},
	{"slot", NodeRefSlot, U32, "the view's place in this instance; the same node keeps it while it exists"},
	{"flags", NodeRefFlags, Flags, "1 scratch: a modified copy, for this call only"},
	{"version", NodeRefVersion, U64, "moves when the record's bytes change; never reused; 0 in a scratch slot"},
}}

// StringRefSize is the stride of string_ref arrays.
const StringRefSize = 8

// StringRefStruct is the layout of a string in guest memory.
var StringRefStruct = &Struct{"string_ref", StringRefSize, []Field{
	{"ptr", 0, Ptr, "first byte"},
	{"len", 4, U32, "bytes, UTF-8, no terminator"},
}}

// Offsets in a result. The host fills code and every item's code with Unset
// and the rest with zero before the call.
const (
	ResultCode       = 0
	ResultReasonsLen = 4
	ResultReasonsPtr = 8
	ResultState      = 12
	ResultListPtr    = 16
	ResultListLen    = 20
	ResultListSet    = 24
	ResultItemsLen   = 28
	ResultPayloadPtr = 32
	ResultPayloadLen = 36
	ResultNext       = 40
	ResultReserved   = 44
	ResultSize       = 48
)

// ResultStruct is the layout of a result's head.
var ResultStruct = &Struct{"result", ResultSize, []Field{
	{"code", ResultCode, U32, "status code of the call; with items, of the call as a whole"},
	{"reasons_len", ResultReasonsLen, U32, "number of reasons"},
	{"reasons_ptr", ResultReasonsPtr, Ptr, "array of string_ref"},
	{"state", ResultState, U32, "pre_filter: handle of the cycle state; the guest keeps it until cycle_end"},
	{"list_ptr", ResultListPtr, Ptr, "pre_filter: array of string_ref, names of the nodes to consider"},
	{"list_len", ResultListLen, U32, "number of names"},
	{"list_set", ResultListSet, U32, "1 if the list counts; a list of length 0 then means no node"},
	{"items_len", ResultItemsLen, U32, "number of items written; must be the frame's nodes_len where the call has items"},
	{"payload_ptr", ResultPayloadPtr, Ptr, "a value record: describe's document, else a map"},
	{"payload_len", ResultPayloadLen, U32, "bytes of that value record"},
	{"next", ResultNext, U32, "post_filter, pod_group_post_filter: 1 asks for another call, phase step, with the answers in arg"},
	{"reserved", ResultReserved, U32, "0"},
}}

// Offsets in a verdict, the item of pre_filter, filter and pre_score.
const (
	VerdictCode       = 0
	VerdictReasonsLen = 4
	VerdictReasonsPtr = 8
	VerdictReserved   = 12
	VerdictSize       = 16
)

// VerdictStruct is the layout of a verdict.
var VerdictStruct = &Struct{"verdict", VerdictSize, []Field{
	{"code", VerdictCode, U32, "status code; in pre_filter's chunks skip leaves the node out of the set"},
	{"reasons_len", VerdictReasonsLen, U32, "number of reasons"},
	{"reasons_ptr", VerdictReasonsPtr, Ptr, "array of string_ref"},
	{"reserved", VerdictReserved, U32, "0"},
}}

// Offsets in a score, the item of score and of normalize_score's apply phase.
const (
	ScoreValue      = 0
	ScoreCode       = 8
	ScoreReasonsLen = 12
	ScoreReasonsPtr = 16
	ScoreReserved   = 20
	ScoreSize       = 24
)

// ScoreStruct is the layout of a score.
var ScoreStruct = &Struct{"score_item", ScoreSize, []Field{
	{"score", ScoreValue, S64, "raw: any number; normalised: 0..100"},
	{"code", ScoreCode, U32, "success or error"},
	{"reasons_len", ScoreReasonsLen, U32, "number of reasons"},
	{"reasons_ptr", ScoreReasonsPtr, Ptr, "array of string_ref"},
	{"reserved", ScoreReserved, U32, "0"},
}}

// ItemSize is the stride of a kind of item.
func (i Item) ItemSize() uint32 {
	switch i {
	case VerdictItem:
		return VerdictSize
	case ScoreItem:
		return ScoreSize
	}
	return 0
}

// CallStructs are the structures that cross in calls, for SPEC.md and tests.
var CallStructs = []*Struct{FrameStruct, NodeRefStruct, StringRefStruct, ResultStruct, VerdictStruct, ScoreStruct}
