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
	cluster     uint32
	state       uint32
	pod         uint32
	who         *PodBuilder // the pod, nil where there is none
	rejected    bool        // at post_filter, where statuses of nodes can be read
	nodes       []uint32    // addresses of records
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
	reply   abi.Value // the payload, where it is an answer
	next    bool      // the payload is a question
}

var le = binary.LittleEndian

var replies = abi.NewReplies()

var levels = []string{"error", "warning", "info", "debug"}

// prepared is a call in guest memory.
type prepared struct {
	request
	frame, refs, result uint32
	size                uint32 // of an item, 0 where there are none
	resultLen           uint32
}

// prepare writes frame, references and result into guest memory.
func prepare(q request) *prepared {
	info := abi.Points[q.point]
	p := &prepared{request: q}
	if q.phase == abi.Whole && len(q.nodes) > 0 || q.phase == abi.Apply || q.phase == abi.Chunk && q.point != abi.NormalizeScore {
		p.size = info.Item.ItemSize()
	}
	n := uint32(len(q.nodes))
	p.resultLen = abi.ResultSize + n*p.size
	p.frame, p.refs, p.result = native.Alloc(abi.FrameSize), native.Alloc(n*abi.NodeRefSize), native.Alloc(p.resultLen)
	for i, at := range q.nodes {
		b := native.Bytes(p.refs+uint32(i)*abi.NodeRefSize, abi.NodeRefSize)
		le.PutUint32(b[abi.NodeRefPtr:], at)
		le.PutUint32(b[abi.NodeRefLen:], recordLen(at))
		le.PutUint32(b[abi.NodeRefSlot:], uint32(i))
	}
	strs, count := native.Strings()
	f := native.Bytes(p.frame, abi.FrameSize)
	le.PutUint32(f[abi.FrameSizeField:], abi.FrameSize)
	le.PutUint16(f[abi.FramePoint:], uint16(q.point))
	le.PutUint16(f[abi.FramePhase:], uint16(q.phase))
	le.PutUint64(f[abi.FrameCycle:], q.cycle)
	le.PutUint64(f[abi.FrameNow:], uint64(q.now))
	le.PutUint32(f[abi.FrameStringsPtr:], strs)
	le.PutUint32(f[abi.FrameStringsLen:], count)
	le.PutUint32(f[abi.FramePodPtr:], q.pod)
	if q.pod != 0 {
		le.PutUint32(f[abi.FramePodLen:], recordLen(q.pod))
	}
	le.PutUint32(f[abi.FrameNodesPtr:], p.refs)
	le.PutUint32(f[abi.FrameNodesLen:], n)
	le.PutUint32(f[abi.FrameState:], q.state)
	le.PutUint32(f[abi.FrameArgPtr:], q.arg)
	le.PutUint32(f[abi.FrameArgLen:], q.argLen)
	le.PutUint32(f[abi.FrameResultPtr:], p.result)
	le.PutUint32(f[abi.FrameResultLen:], p.resultLen)
	le.PutUint32(f[abi.FrameCluster:], q.cluster)
	p.clear(info.Item)
	return p
}

func recordLen(at uint32) uint32 { return le.Uint32(native.Bytes(at+abi.RecordSizeField, 4)) }

// clear prefills the result as the host does.
func (p *prepared) clear(item abi.Item) {
	r := native.Bytes(p.result, p.resultLen)
	clear(r)
	le.PutUint32(r[abi.ResultCode:], uint32(abi.Unset))
	for at := uint32(abi.ResultSize); at < p.resultLen; at += p.size {
		le.PutUint32(r[at+codeIn(item):], uint32(abi.Unset))
	}
}

func (p *prepared) free() {
	native.Free(p.frame)
	native.Free(p.refs)
	native.Free(p.result)
}

// call runs an export as the host does. It fails the test if what comes back
// breaks the contract.
func (h *Host) call(q request) response {
	h.t.Helper()
	p := prepare(q)
	defer p.free()
	native.Mu.Lock()
	defer native.Mu.Unlock()
	native.Log = func(level uint32, line string) {
		h.logs = append(h.logs, levels[level]+": "+line)
	}
	native.Read = func(what uint32, key string) ([]byte, int64) { return h.answer(q, abi.Read(what), key) }
	if h.guest.Call(q.point, p.frame) != abi.Answered {
		h.t.Fatalf("berthtest: the policy has no %s", q.point)
	}
	r := h.read(q, abi.Points[q.point], native.Bytes(p.result, p.resultLen), p.size)
	h.carryOut(q, r)
	return r
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
	out.next = le.Uint32(r[abi.ResultNext:]) == 1
	if len(out.payload) > 0 && q.point != abi.Describe {
		var err error
		if out.reply, err = abi.OpenValue(out.payload); err != nil {
			h.t.Fatalf("berthtest: %s: %v", q.point, err)
		}
	}
	if err := replies.Check(q.point, q.phase, out.verdict.Code, out.next, out.reply); err != nil && q.point != abi.Describe {
		h.t.Fatalf("berthtest: %s: %v", q.point, err)
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
