// SPDX-License-Identifier: Apache-2.0

package berthtest

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/guest-sdk/go/internal/native"
)

// request is a call of a point.
type request struct {
	point       abi.Point
	phase       abi.Phase
	cycle       uint64
	now         int64
	state       uint32
	pod         uint32
	nodes       []uint32 // addresses of records
	arg, argLen uint32
}

// response is what the guest wrote.
type response struct {
	verdict Verdict
	state   uint32
	set     bool
	names   []string
	items   []Verdict
	scores  []int64
	payload []byte
}

var le = binary.LittleEndian

var levels = []string{"error", "warning", "info", "debug"}

// call runs an export as the host does: frame, references and result in guest
// memory, the result prefilled. It fails the test if what comes back breaks the
// contract.
func (h *Host) call(q request) response {
	h.t.Helper()
	info := abi.Points[q.point]
	size := uint32(0)
	if q.phase == abi.Whole || q.phase == abi.Chunk || q.phase == abi.Apply {
		size = info.Item.ItemSize()
	}
	if q.point == abi.NormalizeScore && q.phase == abi.Chunk {
		size = 0
	}
	n := uint32(len(q.nodes))
	frame := native.Alloc(abi.FrameSize)
	refs := native.Alloc(n * abi.NodeRefSize)
	result := native.Alloc(abi.ResultSize + n*size)
	defer native.Free(frame)
	defer native.Free(refs)
	defer native.Free(result)

	for i, at := range q.nodes {
		b := native.Bytes(refs+uint32(i)*abi.NodeRefSize, abi.NodeRefSize)
		le.PutUint32(b[abi.NodeRefPtr:], at)
		le.PutUint32(b[abi.NodeRefLen:], le.Uint32(native.Bytes(at+abi.RecordSizeField, 4)))
		le.PutUint32(b[abi.NodeRefSlot:], uint32(i))
	}
	r := native.Bytes(result, abi.ResultSize+n*size)
	le.PutUint32(r[abi.ResultCode:], uint32(abi.Unset))
	for i := range n {
		if size != 0 {
			le.PutUint32(r[abi.ResultSize+i*size+codeIn(info.Item):], uint32(abi.Unset))
		}
	}
	strs, count := native.Strings()
	f := native.Bytes(frame, abi.FrameSize)
	le.PutUint32(f[abi.FrameSizeField:], abi.FrameSize)
	le.PutUint16(f[abi.FramePoint:], uint16(q.point))
	le.PutUint16(f[abi.FramePhase:], uint16(q.phase))
	le.PutUint64(f[abi.FrameCycle:], q.cycle)
	le.PutUint64(f[abi.FrameNow:], uint64(q.now))
	le.PutUint32(f[abi.FrameStringsPtr:], strs)
	le.PutUint32(f[abi.FrameStringsLen:], count)
	le.PutUint32(f[abi.FramePodPtr:], q.pod)
	if q.pod != 0 {
		le.PutUint32(f[abi.FramePodLen:], le.Uint32(native.Bytes(q.pod+abi.RecordSizeField, 4)))
	}
	le.PutUint32(f[abi.FrameNodesPtr:], refs)
	le.PutUint32(f[abi.FrameNodesLen:], n)
	le.PutUint32(f[abi.FrameState:], q.state)
	le.PutUint32(f[abi.FrameArgPtr:], q.arg)
	le.PutUint32(f[abi.FrameArgLen:], q.argLen)
	le.PutUint32(f[abi.FrameResultPtr:], result)
	le.PutUint32(f[abi.FrameResultLen:], uint32(len(r)))

	native.Mu.Lock()
	defer native.Mu.Unlock()
	native.Log = func(level uint32, line string) {
		h.logs = append(h.logs, levels[level]+": "+line)
	}
	if h.guest.Call(q.point, frame) != abi.Answered {
		h.t.Fatalf("berthtest: the policy has no %s", q.point)
	}
	return h.read(q, info, r, size)
}

func codeIn(i abi.Item) uint32 {
	if i == abi.ScoreItem {
		return abi.ScoreCode
	}
	return abi.VerdictCode
}

// read copies the result out and checks it.
func (h *Host) read(q request, info abi.PointInfo, r []byte, size uint32) response {
	h.t.Helper()
	out := response{
		verdict: h.verdict(info, r[abi.ResultCode:], r[abi.ResultReasonsPtr:], r[abi.ResultReasonsLen:]),
		state:   le.Uint32(r[abi.ResultState:]),
		set:     le.Uint32(r[abi.ResultListSet:]) == 1,
		names:   stringsAt(le.Uint32(r[abi.ResultListPtr:]), le.Uint32(r[abi.ResultListLen:])),
		payload: slices.Clone(native.Bytes(le.Uint32(r[abi.ResultPayloadPtr:]), le.Uint32(r[abi.ResultPayloadLen:]))),
	}
	if size == 0 {
		return out
	}
	if got := le.Uint32(r[abi.ResultItemsLen:]); got != uint32(len(q.nodes)) {
		h.t.Fatalf("berthtest: %s: want %d items, got %d", q.point, len(q.nodes), got)
	}
	for i := range q.nodes {
		e := r[abi.ResultSize+uint32(i)*size:]
		if info.Item == abi.ScoreItem {
			out.scores = append(out.scores, int64(le.Uint64(e[abi.ScoreValue:])))
			out.items = append(out.items, h.verdict(info, e[abi.ScoreCode:], e[abi.ScoreReasonsPtr:], e[abi.ScoreReasonsLen:]))
		} else {
			out.items = append(out.items, h.verdict(info, e[abi.VerdictCode:], e[abi.VerdictReasonsPtr:], e[abi.VerdictReasonsLen:]))
		}
	}
	return out
}

func (h *Host) verdict(info abi.PointInfo, code, ptr, n []byte) Verdict {
	h.t.Helper()
	c := Code(le.Uint32(code))
	if !slices.Contains(info.Codes, c) {
		h.t.Fatalf("berthtest: %s: want one of %v, got %v", info.Name, info.Codes, c)
	}
	return Verdict{c, strings.Join(stringsAt(le.Uint32(ptr), le.Uint32(n)), "; ")}
}

// stringsAt copies an array of string references out.
func stringsAt(at, n uint32) []string {
	var l []string
	for i := range n {
		ref := native.Bytes(at+i*abi.StringRefSize, abi.StringRefSize)
		l = append(l, string(native.Bytes(le.Uint32(ref), le.Uint32(ref[4:]))))
	}
	return l
}
