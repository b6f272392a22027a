// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/data"
	"github.com/berth-scheduler/berth/host/guest"
	"github.com/berth-scheduler/berth/host/intern"
	"github.com/berth-scheduler/berth/host/metrics"
	"github.com/berth-scheduler/berth/host/module"
	"github.com/berth-scheduler/berth/host/policy"
	"github.com/berth-scheduler/berth/host/view"
)

// gcEvery is after how many cycles a guest is asked to collect its garbage;
// gcGrowth is the growth of its memory that asks earlier.
const (
	gcEvery  = 256
	gcGrowth = 8 << 20
)

// minEpoch is how many cycles a table of strings serves at least before a
// crowded one is left: a cluster that fills it by itself would start anew in
// each.
const minEpoch = 16

// version is one policy as it was swapped in: module, policy.yaml, and the
// instance for the points of serial cycles. Cycles hold it until they end.
type version struct {
	name    string
	key     string // of the source
	policy  *policy.Policy
	module  *module.Module
	desc    *abi.Description
	config  []byte
	points  [64]bool
	chunked [64]bool // points that want every node, in chunks
	reads   map[string]bool
	log     func(level uint32, line string)
	health  health
	stamp   uint64 // never reused in a process

	refs    atomic.Int64 // the active set's one, and one a cycle
	onClose func()
	aside   aside // the instance for the points beside the cycles

	own       map[string]*ownResource // declared resources that the scheduler has itself
	lease     *data.Lease             // the other declared resources; nil without any
	dataSets  map[string]*data.Feed   // by name
	dataEpoch atomic.Uint64           // changes of all that

	mu         sync.Mutex // guards what follows: one call at a time
	inst       *guest.Instance
	gen        uint64 // of inst; cycle states of another generation are lost
	epoch      bool   // the intern table is full: start anew at the next cycle
	age        int    // cycles of inst
	strings    *intern.Table
	encoder    *view.Encoder
	views      []nodeView
	answers    []answer
	serial     uint64 // last view version given out
	buf        []byte
	podBuf     []byte
	podCycle   uint64 // cycle whose pod is in inst
	result     guest.Result
	reading    reading // of the call that is under way
	refBuf     []guest.NodeRef
	pending    []pendingNode
	cycles     int
	kept       int    // cycles past Reserve whose states inst holds, unless it was lost
	group      *group // that the version last began a cycle of; nil if that was of a pod by itself
	hits       uint64 // look-ups of verdicts, not yet in the metric
	scoreHits  uint64
	places     []int         // of the chunk that is being scored
	scoreError guest.Verdict // of the last node whose score is an error
	memory     uint64        // of inst after the last gc
	gone       []uint32      // slots of nodes that are gone, to be dropped
	closed     bool
}

// nodeView is the last record of a node, by slot.
type nodeView struct {
	name       string
	generation int64
	version    uint64
	record     []byte
}

// answer is a node's verdict in the current cycle, by slot.
type answer struct {
	cycle      uint64
	generation int64
	node       fwk.NodeInfo
	verdict    guest.Verdict
}

// pendingNode is a node of the chunk that is being evaluated.
type pendingNode struct {
	slot uint32
	node fwk.NodeInfo
}

// newInstance makes the instance of a version, configured, with an empty
// intern table. The caller holds mu or is the only one who knows v.
func (v *version) newInstance(ctx context.Context) error {
	if v.closed {
		return errors.New("the version is closed")
	}
	if v.inst != nil {
		_ = v.inst.Close()
		v.inst = nil
	}
	v.strings = intern.New(intern.MaxBytes, intern.MaxCount)
	v.encoder = view.NewEncoder(v.strings, v.desc.Reads)
	v.views, v.podCycle, v.epoch, v.age = nil, 0, false, 0
	v.gen++
	inst, err := v.module.NewInstance(ctx, guest.Options{
		Strings:      v.strings,
		Budgets:      budgets(v.policy),
		ReasonPrefix: v.name + ": ",
		Log:          v.log,
		LogBytes:     int(v.policy.Limits.Log),
		Read:         v.reading.read,
	})
	if err != nil {
		return err
	}
	if err := inst.Configure(v.config); err != nil {
		_ = inst.Close()
		return err
	}
	v.inst = inst
	v.memory = inst.MemoryBytes()
	return nil
}

// budgets turns a policy's limits into fuel.
func budgets(p *policy.Policy) guest.Budgets {
	return guest.Budgets{
		Life:    module.LifeFuel,
		GC:      module.LifeFuel,
		Call:    uint64(p.Limits.Fuel.Base),
		PerNode: uint64(p.Limits.Fuel.PerNode),
	}
}

// live makes sure that there is an instance to call. The caller holds mu.
func (v *version) live() error {
	if v.inst != nil && !v.inst.Dead() {
		return nil
	}
	metrics.Instances.WithLabelValues(v.name).Inc()
	return v.newInstance(context.Background())
}

// startCycle does what belongs between cycles. The cycles of a pod group are one
// in this: their states live till its end, and so does the instance. While cycles
// past Reserve need their states, it is left only when the table is full. The caller
// holds mu.
func (v *version) startCycle(g *group) error {
	if g != nil && v.group == g {
		return v.live()
	}
	v.group = g
	if v.age++; v.epoch || v.age > minEpoch && v.strings.Crowded() && v.kept == 0 {
		if err := v.newInstance(context.Background()); err != nil {
			return err
		}
	}
	if err := v.live(); err != nil {
		return err
	}
	for _, slot := range v.gone {
		v.inst.DropNode(slot)
		if int(slot) < len(v.views) {
			v.views[slot] = nodeView{}
		}
	}
	v.gone = v.gone[:0]
	v.flushHits()
	v.cycles++
	if v.cycles >= gcEvery || v.inst.MemoryBytes() > v.memory+gcGrowth {
		v.cycles = 0
		if err := v.inst.GC(); err != nil { // no pod is to blame, and a new instance has no garbage
			v.log(abi.LogError, "gc: "+err.Error())
			return v.live()
		}
		v.memory = v.inst.MemoryBytes()
		metrics.GuestMemory.WithLabelValues(v.name).Set(float64(v.memory))
	}
	return nil
}

// noteGone remembers slots whose nodes are gone; the next cycle of the version
// drops them.
func (v *version) noteGone(slots []uint32) {
	if len(slots) == 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.gone = append(v.gone, slots...)
}

// setPod makes the cycle's pod the one that calls are about; a group's own points
// have none.
func (v *version) setPod(c *cycle) error {
	if v.podCycle == c.id {
		return nil
	}
	if c.pod == nil {
		v.podCycle = c.id
		return v.inst.SetPod(nil)
	}
	record, err := v.encoder.Pod(v.podBuf[:0], c.pod)
	if err != nil {
		return v.encodeError(err)
	}
	v.podBuf = record
	if err := v.inst.SetPod(record); err != nil {
		return err
	}
	v.podCycle = c.id
	return nil
}

// encodeError remembers a full intern table.
func (v *version) encodeError(err error) error {
	if errors.Is(err, view.ErrStringsFull) {
		v.epoch = true
	}
	return &guest.Fault{Cause: guest.Memory, Point: abi.Filter, Err: err}
}

// resident makes the view of a snapshot node current in the instance.
// In a pod-group simulation the generation says nothing, so the node is encoded
// anew, and once more after it.
func (v *version) resident(slot uint32, ni fwk.NodeInfo, simulated bool) (guest.NodeRef, error) {
	for int(slot) >= len(v.views) {
		v.views = append(v.views, nodeView{})
	}
	nv := &v.views[slot]
	name := ni.Node().Name
	if nv.version == 0 || nv.generation != ni.GetGeneration() || nv.name != name || simulated {
		record, err := v.encoder.Node(v.buf[:0], ni)
		if err != nil {
			return guest.NodeRef{}, v.encodeError(err)
		}
		v.buf = record
		if nv.version == 0 || !bytes.Equal(nv.record, record) {
			v.serial++
			nv.version = v.serial
			nv.record = append(nv.record[:0], record...)
			metrics.ViewsEncoded.WithLabelValues(v.name).Inc()
		}
		nv.name, nv.generation = name, ni.GetGeneration()
		if simulated {
			nv.generation = -1
		}
	}
	if v.inst.Resident(slot, nv.version) {
		return v.inst.Ref(slot), nil
	}
	metrics.ViewBytes.WithLabelValues(v.name).Add(float64(len(nv.record)))
	return v.inst.SetNode(slot, nv.version, nv.record)
}

// scratch writes a node info as it is, for one call.
func (v *version) scratch(slot uint32, ni fwk.NodeInfo) (guest.NodeRef, error) {
	record, err := v.encoder.Node(v.buf[:0], ni)
	if err != nil {
		return guest.NodeRef{}, v.encodeError(err)
	}
	v.buf = record
	return v.inst.ScratchNode(slot, record)
}

// otherPod encodes a pod that isn't the cycle's, for add_pod and remove_pod.
func (v *version) otherPod(pod *v1.Pod) ([]byte, error) {
	record, err := v.encoder.Pod(nil, pod)
	if err != nil {
		return nil, v.encodeError(err)
	}
	return record, nil
}

// retain holds the version for a cycle. It is false if the version is closed:
// a swap may give back the last reference between a look at the active set and
// this call.
func (v *version) retain() bool {
	for {
		n := v.refs.Load()
		if n == 0 {
			return false
		}
		if v.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// release gives it back; the last one closes it.
func (v *version) release() {
	if v.refs.Add(-1) > 0 {
		return
	}
	v.end()
}

// end closes the version: nobody holds it any more.
func (v *version) end() {
	v.close()
	v.aside.close()
	v.letGo()
	v.onClose()
}

// letGo gives back what the version reads.
func (v *version) letGo() {
	if v.lease != nil {
		v.lease.Release()
	}
	for _, d := range v.dataSets {
		d.Release()
	}
}

// readEpoch moves with every change of what the version reads beside pods and nodes:
// objects, data sets, state.
func (v *version) readEpoch(h *Host) uint64 { return v.dataEpoch.Load() + h.state.version(v.name) }

// close ends the instance and drops what may be large: records of rejected pods
// keep the version itself reachable.
func (v *version) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	if v.inst != nil {
		_ = v.inst.Close()
		v.inst = nil
	}
	v.views, v.answers, v.strings, v.encoder, v.buf, v.podBuf = nil, nil, nil, nil, nil, nil
}

// probe calls the batch points with an empty pod and no nodes: a version that
// can't answer that isn't swapped in.
func (v *version) probe(h *Host) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reading = reading{host: h, version: v, pod: &v1.Pod{}}
	record, err := v.encoder.Pod(nil, &v1.Pod{})
	if err != nil {
		return err
	}
	if err := v.inst.SetPod(record); err != nil {
		return err
	}
	v.podCycle = 0
	for _, p := range []abi.Point{abi.Filter, abi.Score} {
		if !v.points[p] {
			continue
		}
		if err := v.inst.Call(&guest.Call{Point: p}, &v.result); err != nil {
			return fmt.Errorf("probe: %w", err)
		}
	}
	return nil
}
