// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"encoding/binary"
	"fmt"

	"github.com/berth-scheduler/berth/abi"
)

// Call is what a frame says. The pod is that of SetPod unless NoPod is set.
type Call struct {
	Point  abi.Point
	Phase  abi.Phase
	Cycle  uint64
	Now    int64 // Unix nanoseconds
	Total  int   // nodes in the snapshot
	NoPod  bool
	Nodes  []NodeRef
	State  uint32
	Group  uint32 // state of the pod's group
	Arg    []byte
	budget uint64 // 0: by the point
}

// Verdict is a status code with its reasons, which are shared and must not be
// changed.
type Verdict struct {
	Code    abi.Code
	Reasons []string
}

// Result is what a call answered, checked and copied out of guest memory. A
// caller may use one Result for many calls.
type Result struct {
	Verdict            // of the call as a whole
	State    uint32    // pre_filter, and generate_placements for a group
	List     []string  // pre_filter: node names
	ListSet  bool      // List counts, even when empty
	Verdicts []Verdict // one a node, where the point has items
	Scores   []int64   // one a node, at score and normalize_score
	Next     bool      // post_filter, pod_group_post_filter: Reply is a question
	Payload  []byte    // a value record
	Reply    abi.Value // Payload, checked; null where there is none, and at describe
	Intents  []Intent  // of Reply
	items    abi.Item  // what the point has
	buf      []byte    // copy of the result area
	_        [0]func() // not comparable
}

// Call runs one call. The error is a *Fault, after which the instance is dead
// (but for a result that breaks the rules, which kills it all the same).
func (in *Instance) Call(c *Call, out *Result) error {
	f := in.points[c.Point]
	if in.dead {
		return in.deadError(c.Point)
	}
	if f == nil {
		return in.kill(c.Point, BadResult, fmt.Errorf("export %q: want a function, got none", c.Point))
	}
	if err := in.syncStrings(c.Point); err != nil {
		return err
	}
	info := &abi.Points[c.Point]
	itemSize := info.Item.ItemSize()
	if c.Phase == abi.Begin || c.Phase == abi.End || (c.Point == abi.NormalizeScore && c.Phase == abi.Chunk) {
		itemSize = 0
	}
	if len(c.Nodes) == 0 && c.Phase == abi.Whole && c.Point != abi.Filter && c.Point != abi.Score {
		itemSize = 0
	}
	size := uint32(abi.ResultSize) + itemSize*uint32(len(c.Nodes))
	if err := in.heap.grow(&in.result, size); err != nil {
		return in.memoryFault(c.Point, err)
	}
	if len(c.Arg) > 0 {
		if err := in.place(c.Point, &in.arg, c.Arg); err != nil {
			return err
		}
	}
	if err := in.writeRefs(c); err != nil {
		return err
	}
	if err := in.writeFrame(c, size); err != nil {
		return err
	}
	if err := in.clearResult(c.Point, out, itemSize, len(c.Nodes)); err != nil {
		return err
	}
	budget := c.budget
	if budget == 0 {
		budget = in.opts.Budgets.Call + in.opts.Budgets.PerNode*uint64(len(c.Nodes))
	}
	in.stack[0] = uint64(in.frame.ptr)
	in.calling = c.Point != abi.Describe && c.Point != abi.Configure
	err := in.run(f, in.stack[:], budget, c.Point)
	in.calling, in.lastRead = false, reading{}
	if err != nil {
		return err
	}
	if answer := uint32(in.stack[0]); answer != abi.Answered {
		return in.kill(c.Point, BadResult, fmt.Errorf("phase %s: want the call answered (0), got %d", c.Phase, answer))
	}
	return in.readResult(c, out, info, itemSize)
}

func (in *Instance) writeRefs(c *Call) error {
	if len(c.Nodes) == 0 {
		return nil
	}
	b := in.nodeBuf[:0]
	le := binary.LittleEndian
	for _, n := range c.Nodes {
		b = le.AppendUint32(b, n.ptr)
		b = le.AppendUint32(b, n.len)
		b = le.AppendUint32(b, n.slot)
		b = le.AppendUint32(b, n.flags)
		b = le.AppendUint64(b, n.version)
	}
	in.nodeBuf = b
	return in.place(c.Point, &in.refs, b)
}

func (in *Instance) writeFrame(c *Call, resultLen uint32) error {
	b := in.frameBuf[:]
	clear(b)
	le := binary.LittleEndian
	le.PutUint32(b[abi.FrameSizeField:], abi.FrameSize)
	le.PutUint16(b[abi.FramePoint:], uint16(c.Point))
	le.PutUint16(b[abi.FramePhase:], uint16(c.Phase))
	le.PutUint64(b[abi.FrameCycle:], c.Cycle)
	le.PutUint64(b[abi.FrameNow:], uint64(c.Now))
	le.PutUint32(b[abi.FrameStringsPtr:], in.index.ptr)
	le.PutUint32(b[abi.FrameStringsLen:], uint32(len(in.shadow))/abi.StringRefSize)
	if !c.NoPod {
		le.PutUint32(b[abi.FramePodPtr:], in.podRef.ptr)
		le.PutUint32(b[abi.FramePodLen:], in.podRef.cap)
	}
	if len(c.Nodes) > 0 {
		le.PutUint32(b[abi.FrameNodesPtr:], in.refs.ptr)
		le.PutUint32(b[abi.FrameNodesLen:], uint32(len(c.Nodes)))
	}
	le.PutUint32(b[abi.FrameState:], c.State)
	if len(c.Arg) > 0 {
		le.PutUint32(b[abi.FrameArgPtr:], in.arg.ptr)
		le.PutUint32(b[abi.FrameArgLen:], uint32(len(c.Arg)))
	}
	le.PutUint32(b[abi.FrameGroup:], c.Group)
	le.PutUint32(b[abi.FrameResultPtr:], in.result.ptr)
	le.PutUint32(b[abi.FrameResultLen:], resultLen)
	le.PutUint32(b[abi.FrameCluster:], uint32(c.Total))
	in.now = c.Now
	in.wasi.SetClock(c.Now)
	return in.write(c.Point, in.frame.ptr, b)
}

// clearResult fills the result area so that what the guest leaves out is seen.
func (in *Instance) clearResult(p abi.Point, out *Result, itemSize uint32, nodes int) error {
	n := abi.ResultSize + int(itemSize)*nodes
	if cap(out.buf) < n {
		out.buf = make([]byte, n, n*2)
	}
	b := out.buf[:n]
	clear(b)
	unset := func(at int) { binary.LittleEndian.PutUint32(b[at:], uint32(abi.Unset)) }
	unset(abi.ResultCode)
	code := abi.VerdictCode
	if itemSize == abi.ScoreSize {
		code = abi.ScoreCode
	}
	for i := range nodes {
		if itemSize > 0 {
			unset(abi.ResultSize + i*int(itemSize) + code)
		}
	}
	return in.write(p, in.result.ptr, b)
}

// readResult copies the result area out and checks every field.
func (in *Instance) readResult(c *Call, out *Result, info *abi.PointInfo, itemSize uint32) error {
	n := uint32(abi.ResultSize) + itemSize*uint32(len(c.Nodes))
	view, ok := in.mem.Read(in.result.ptr, n)
	if !ok {
		return in.bad(c, "result", fmt.Errorf("outside memory"))
	}
	b := out.buf[:n]
	copy(b, view)
	u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }

	out.State, out.ListSet, out.Payload = u32(abi.ResultState), u32(abi.ResultListSet) == 1, nil
	out.Next, out.Reply, out.Intents = false, abi.Value{}, nil
	out.List, out.Verdicts, out.Scores = out.List[:0], out.Verdicts[:0], out.Scores[:0]
	var err error
	if out.Verdict, err = in.verdict(info, u32(abi.ResultCode), u32(abi.ResultReasonsLen), u32(abi.ResultReasonsPtr)); err != nil {
		return in.bad(c, "result", err)
	}
	switch next := u32(abi.ResultNext); {
	case next == 1 && (c.Point == abi.PostFilter || c.Point == abi.PodGroupPostFilter) && out.Code == abi.Success:
		out.Next = true
	case next != 0:
		return in.bad(c, "next", fmt.Errorf("want 0 at %s with %s, got %d", c.Point, out.Code, next))
	}
	if err := in.readPayload(c, out, u32(abi.ResultPayloadPtr), u32(abi.ResultPayloadLen)); err != nil {
		return err
	}
	if set := u32(abi.ResultListSet); set > 1 {
		return in.bad(c, "list_set", fmt.Errorf("want 0 or 1, got %d", set))
	}
	if out.ListSet {
		// A list may take the host longer than the guest: not in each chunk.
		if c.Point != abi.PreFilter || c.Phase == abi.Chunk {
			return in.bad(c, "list", fmt.Errorf("want none at %s, phase %s", c.Point, c.Phase))
		}
		if err := in.readList(out, u32(abi.ResultListPtr), u32(abi.ResultListLen)); err != nil {
			return in.bad(c, "list", err)
		}
	}
	if itemSize == 0 || out.Code != abi.Success {
		return nil
	}
	if got := u32(abi.ResultItemsLen); got != uint32(len(c.Nodes)) {
		return in.bad(c, "items_len", fmt.Errorf("want %d, got %d", len(c.Nodes), got))
	}
	for i := range c.Nodes {
		at := abi.ResultSize + i*int(itemSize)
		if itemSize == abi.ScoreSize {
			v, err := in.verdict(info, u32(at+abi.ScoreCode), u32(at+abi.ScoreReasonsLen), u32(at+abi.ScoreReasonsPtr))
			if err != nil {
				return in.bad(c, fmt.Sprintf("item %d", i), err)
			}
			out.Verdicts = append(out.Verdicts, v)
			out.Scores = append(out.Scores, int64(binary.LittleEndian.Uint64(b[at+abi.ScoreValue:])))
			continue
		}
		v, err := in.verdict(info, u32(at+abi.VerdictCode), u32(at+abi.VerdictReasonsLen), u32(at+abi.VerdictReasonsPtr))
		if err != nil {
			return in.bad(c, fmt.Sprintf("item %d", i), err)
		}
		out.Verdicts = append(out.Verdicts, v)
	}
	return nil
}

// bad kills the instance: a guest that breaks the rules isn't asked again.
func (in *Instance) bad(c *Call, field string, err error) error {
	return in.kill(c.Point, BadResult, fmt.Errorf("%s: %w", field, err))
}

func (in *Instance) readPayload(c *Call, out *Result, ptr, n uint32) error {
	if n > abi.MaxPayloadBytes {
		return in.bad(c, "payload", fmt.Errorf("want at most %d bytes, got %d", abi.MaxPayloadBytes, n))
	}
	if n > 0 {
		view, ok := in.mem.Read(ptr, n)
		if !ok {
			return in.bad(c, "payload", fmt.Errorf("want %d bytes inside memory, got address %d", n, ptr))
		}
		out.Payload = append([]byte(nil), view...)
	}
	if c.Point == abi.Describe {
		return nil
	}
	if err := out.reply(c); err != nil {
		return in.bad(c, "payload", err)
	}
	return nil
}

func (in *Instance) readList(out *Result, ptr, n uint32) error {
	if n > abi.MaxListLen {
		return fmt.Errorf("want at most %d names, got %d", abi.MaxListLen, n)
	}
	refs, ok := in.mem.Read(ptr, n*abi.StringRefSize)
	if !ok {
		return fmt.Errorf("want %d names inside memory, got address %d", n, ptr)
	}
	for i := range int(n) {
		p, l := binary.LittleEndian.Uint32(refs[i*8:]), binary.LittleEndian.Uint32(refs[i*8+4:])
		if l == 0 || l > abi.MaxNameBytes {
			return fmt.Errorf("name %d: want 1 to %d bytes, got %d", i, abi.MaxNameBytes, l)
		}
		name, ok := in.mem.Read(p, l)
		if !ok {
			return fmt.Errorf("name %d: want %d bytes inside memory, got address %d", i, l, p)
		}
		out.List = append(out.List, string(name))
	}
	return nil
}

// Describe asks the guest for its document: the raw bytes and what they say.
func (in *Instance) Describe() ([]byte, *abi.Description, error) {
	var out Result
	c := &Call{Point: abi.Describe, NoPod: true, budget: in.opts.Budgets.Life}
	if err := in.Call(c, &out); err != nil {
		return nil, nil, err
	}
	d, err := abi.ParseDescription(out.Payload)
	if err != nil {
		return nil, nil, err
	}
	return out.Payload, d, nil
}

// ConfigError is a guest's answer to a config that it does not take.
type ConfigError struct{ Reason string }

func (e *ConfigError) Error() string { return "config: " + e.Reason }

// Configure gives the guest its config, a value record. A guest that takes
// none need not export configure. The error is a *Fault or a *ConfigError.
func (in *Instance) Configure(config []byte) error {
	if !in.Has(abi.Configure) {
		return nil
	}
	var out Result
	saved := in.reasons.prefix
	in.reasons.prefix = ""
	err := in.Call(&Call{Point: abi.Configure, NoPod: true, Arg: config, budget: in.opts.Budgets.Life}, &out)
	in.reasons = reasonCache{prefix: saved}
	if err != nil {
		return err
	}
	if out.Code != abi.Success {
		return &ConfigError{out.Reasons[0]}
	}
	return nil
}

// ScoreInRange says whether a normalised score is allowed.
func ScoreInRange(s int64) error {
	if s < abi.MinScore || s > abi.MaxScore {
		return fmt.Errorf("score: want %d to %d, got %d", abi.MinScore, abi.MaxScore, s)
	}
	return nil
}
