// SPDX-License-Identifier: Apache-2.0

package berthtest

import (
	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/guest-sdk/go/internal/native"
)

// Cycle is one attempt to schedule a pod. Its methods run one point each and
// fail the test if the policy doesn't implement it.
type Cycle struct {
	h     *Host
	id    uint64
	now   int64
	nodes uint32
	pod   *PodBuilder
	state uint32
}

// Cycle begins a cycle.
func (h *Host) Cycle(pod *PodBuilder) *Cycle {
	h.cycles++
	return &Cycle{h: h, id: h.cycles, now: h.now, nodes: h.nodes, pod: pod}
}

// End ends the cycle: the policy forgets its state and that of all clones.
func (c *Cycle) End() {
	native.Mu.Lock()
	defer native.Mu.Unlock()
	c.h.guest.CycleEnd(c.id)
}

// Clone returns a copy of the cycle with a copy of its state, as preemption and
// nominated pods get one. It ends with the cycle.
func (c *Cycle) Clone() *Cycle {
	clone := *c
	if c.state != 0 {
		native.Mu.Lock()
		defer native.Mu.Unlock()
		clone.state = c.h.guest.StateClone(c.state)
	}
	return &clone
}

// request puts records into guest memory; free removes them. The argument is a
// pod, raw scores, a tree for a value record, or nil.
func (c *Cycle) request(point abi.Point, phase abi.Phase, nodes []*NodeBuilder, arg any) (q request, free func()) {
	q = request{point: point, phase: phase, cycle: c.id, now: c.now, cluster: c.nodes, state: c.state, who: c.pod, rejected: point == abi.PostFilter}
	var all []uint32
	put := func(r *record) uint32 {
		at := r.alloc()
		all = append(all, at)
		return at
	}
	if c.pod != nil {
		q.pod = put(c.pod.record(c.h.podMask))
	}
	for _, n := range nodes {
		q.nodes = append(q.nodes, put(n.record(c.h.nodeMask)))
	}
	bytes := func(b []byte) {
		q.argLen = uint32(len(b))
		q.arg = native.Alloc(q.argLen)
		all = append(all, q.arg)
		copy(native.Bytes(q.arg, q.argLen), b)
	}
	switch arg := arg.(type) {
	case nil:
	case *PodBuilder:
		q.arg = put(arg.record(c.h.podMask))
		q.argLen = recordLen(q.arg)
	case []int64:
		var b []byte
		for _, s := range arg {
			b = le.AppendUint64(b, uint64(s))
		}
		bytes(b)
	default:
		bytes(c.h.encode(arg))
	}
	return q, func() {
		for _, at := range all {
			native.Free(at)
		}
	}
}

// encode writes a tree as a value record.
func (h *Host) encode(tree any) []byte {
	h.t.Helper()
	record, err := abi.EncodeValue(tree)
	if err != nil {
		h.t.Fatalf("berthtest: %v", err)
	}
	return record
}

// call runs a point for the cycle's pod over some nodes.
func (c *Cycle) call(point abi.Point, phase abi.Phase, nodes []*NodeBuilder, arg any) response {
	c.h.t.Helper()
	q, free := c.request(point, phase, nodes, arg)
	defer free()
	r := c.h.call(q)
	switch point {
	case abi.PreFilter, abi.PreScore, abi.GeneratePlacements, abi.ScorePlacement:
		if r.state != 0 {
			c.state = r.state
		}
	}
	return r
}

// chunks calls f with growing parts of n things, as the host does.
func chunks(n int, f func(from, to int)) {
	for from, size := 0, 1; from < n; size = min(size*4, 64) {
		to := min(from+size, n)
		f(from, to)
		from = to
	}
}

func (c *Cycle) chunked(point abi.Point) bool {
	for _, name := range c.h.description.Chunked {
		if name == point.String() {
			return true
		}
	}
	return false
}

// PreFilter runs PreFilter, over the nodes if the policy wants them.
func (c *Cycle) PreFilter(nodes ...*NodeBuilder) PreFilterResult {
	c.h.t.Helper()
	if !c.chunked(abi.PreFilter) {
		r := c.call(abi.PreFilter, abi.Whole, nil, nil)
		return PreFilterResult{r.verdict, !r.set, r.names}
	}
	out := PreFilterResult{Verdict: c.call(abi.PreFilter, abi.Begin, nil, nil).verdict, All: true}
	chunks(len(nodes), func(from, to int) {
		if out.Code != Success {
			return
		}
		r := c.call(abi.PreFilter, abi.Chunk, nodes[from:to], nil)
		out.Verdict = r.verdict
		for i, v := range r.items {
			switch v.Code {
			case Success:
				out.Nodes = append(out.Nodes, nodes[from+i].name)
			case Skip:
				out.All = false
			default:
				out.Verdict = v
				return
			}
		}
	})
	if out.Code == Success {
		out.Verdict = c.call(abi.PreFilter, abi.End, nil, nil).verdict
	}
	if out.All {
		out.Nodes = nil
	}
	return out
}

// AddPod runs AddPod: other would be on node.
func (c *Cycle) AddPod(other *PodBuilder, node *NodeBuilder) Verdict {
	c.h.t.Helper()
	return c.call(abi.AddPod, abi.Whole, []*NodeBuilder{node}, other).verdict
}

// RemovePod runs RemovePod: other would be gone from node.
func (c *Cycle) RemovePod(other *PodBuilder, node *NodeBuilder) Verdict {
	c.h.t.Helper()
	return c.call(abi.RemovePod, abi.Whole, []*NodeBuilder{node}, other).verdict
}

// Filter runs Filter over nodes; the verdicts are in their order.
func (c *Cycle) Filter(nodes ...*NodeBuilder) []Verdict {
	c.h.t.Helper()
	var verdicts []Verdict
	chunks(len(nodes), func(from, to int) {
		verdicts = append(verdicts, c.call(abi.Filter, abi.Whole, nodes[from:to], nil).items...)
	})
	return verdicts
}

// PreScore runs PreScore over the nodes that passed Filter.
func (c *Cycle) PreScore(nodes ...*NodeBuilder) Verdict {
	c.h.t.Helper()
	if !c.chunked(abi.PreScore) {
		return c.call(abi.PreScore, abi.Whole, nil, nil).verdict
	}
	v := c.call(abi.PreScore, abi.Begin, nil, nil).verdict
	chunks(len(nodes), func(from, to int) {
		if v.Code != Success {
			return
		}
		r := c.call(abi.PreScore, abi.Chunk, nodes[from:to], nil)
		v = r.verdict
		for _, item := range r.items {
			if item.Code != Success {
				v = item
				return
			}
		}
	})
	if v.Code == Success {
		v = c.call(abi.PreScore, abi.End, nil, nil).verdict
	}
	return v
}

// Score runs Score over nodes; the raw scores are in their order.
func (c *Cycle) Score(nodes ...*NodeBuilder) []int64 {
	c.h.t.Helper()
	var scores []int64
	chunks(len(nodes), func(from, to int) {
		r := c.call(abi.Score, abi.Whole, nodes[from:to], nil)
		for i, v := range r.items {
			if v.Code != Success {
				c.h.t.Fatalf("berthtest: score of %s: %v", nodes[from+i].name, v)
			}
		}
		scores = append(scores, r.scores...)
	})
	return scores
}
