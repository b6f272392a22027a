// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/engine"
	"github.com/berth-scheduler/berth/host/engine/wasi"
	"github.com/berth-scheduler/berth/host/weave"
)

// Strings is the policy's intern table (host/intern.Table): ids only grow.
type Strings interface {
	IDBytes(b []byte) (id uint32, ok bool)
	Len() int
	Text(id uint32) string
}

// Budgets are fuel, in units of about one WebAssembly instruction.
type Budgets struct {
	Life    uint64 // each of _initialize, describe, configure
	GC      uint64 // one gc call
	Call    uint64 // one call of a point ...
	PerNode uint64 // ... and for each node of its frame
}

// Options is what an instance needs besides its module.
type Options struct {
	Strings Strings
	Budgets Budgets
	// ReasonPrefix is put before each reason of a verdict, as "team-pools: ".
	ReasonPrefix string
	// Log takes lines from the import log (level 0..3) and from stdout and
	// stderr (level abi.LogInfo). It may be nil.
	Log func(level uint32, line string)
	// Read answers the import read: a value record, or nil and a negative number
	// of abi; and the fuel that its work takes beside the bytes. It is asked
	// during Call only. It may be nil.
	Read func(what abi.Read, key string) (record []byte, answer, work int64)
	// LogBytes is how much of one call's output reaches Log; the rest is
	// dropped, which a last line says.
	LogBytes int
}

// Instance is one running copy of a module. It is not for concurrent use.
type Instance struct {
	opts Options
	inst engine.Instance
	mem  engine.Memory
	wasi *wasi.State

	meter         weave.Meter
	points        [64]engine.Func
	alloc, gc     engine.Func
	clone, endCyc engine.Func

	heap   heap
	dead   bool
	failed *Fault // why it is dead

	frame, refs, result, arg, pod, scratch region

	podRef  region // what the frame's pod fields say
	index   region // string_ref array in the guest
	shadow  []byte // its content, kept here
	text    region // where the next texts go
	textLen uint32

	slots   []slot
	nodeBuf []byte
	// Of Call: what goes through an interface would be allocated each time.
	frameBuf [abi.FrameSize]byte
	stack    [1]uint64
	reasons  reasonCache

	calling  bool // Call is under way
	lastRead reading

	now       int64  // what the clock stands at
	logged    int    // bytes of this call's output
	panicLine string // of this call
	spent     uint64 // fuel of all calls
	lastFuel  uint64 // fuel of the last call
}

// slot is the host's shadow of a resident view.
type slot struct {
	region
	len     uint32
	version uint64
}

// New instantiates m, runs _initialize and checks abi_version. The error is a
// *Fault, or says what m lacks.
func New(ctx context.Context, m engine.Module, opts Options) (_ *Instance, err error) {
	in := &Instance{opts: opts}
	in.reasons.prefix = opts.ReasonPrefix
	in.wasi = wasi.NewState(wasi.Options{Line: func(_ wasi.Stream, line string) {
		if in.panicLine == "" && panics(line) {
			in.panicLine = line
		}
		in.log(abi.LogInfo, line)
	}})
	in.inst, err = m.Instantiate(ctx, engine.InstanceOptions{Data: in})
	if err != nil {
		return nil, in.fault(abi.Describe, err)
	}
	defer func() {
		if err != nil {
			_ = in.Close()
		}
	}()
	in.mem = in.inst.Memory()
	for _, g := range []struct {
		name string
		cell *weave.Cell
	}{{weave.FuelExport, &in.meter.Fuel}, {weave.BudgetExport, &in.meter.Budget}, {weave.StackExport, &in.meter.Stack}} {
		cell, ok := in.inst.Global(g.name)
		if !ok {
			return nil, fmt.Errorf("global %q: the module is not woven", g.name)
		}
		*g.cell = cell
	}
	var ok bool
	for i := range abi.Points {
		in.points[i], _ = in.inst.Func(abi.Points[i].Name)
	}
	in.gc, _ = in.inst.Func("gc")
	in.clone, _ = in.inst.Func("state_clone")
	in.endCyc, _ = in.inst.Func("cycle_end")
	if in.alloc, ok = in.inst.Func("alloc"); !ok {
		return nil, errors.New(`export "alloc": want a function, got none`)
	}
	in.heap.alloc = in.guestAlloc
	if start, ok := in.inst.Func("_initialize"); ok {
		if err := in.run(start, nil, opts.Budgets.Life, abi.Describe); err != nil {
			return nil, err
		}
	}
	version, ok := in.inst.Func("abi_version")
	if !ok {
		return nil, errors.New(`export "abi_version": want a function, got none`)
	}
	var stack [1]uint64
	if err := in.run(version, stack[:], opts.Budgets.Life, abi.Describe); err != nil {
		return nil, err
	}
	if err := abi.CheckVersion(uint32(stack[0])); err != nil {
		return nil, err
	}
	return in, in.prepare()
}

// prepare allocates what every call uses.
func (in *Instance) prepare() error {
	for _, r := range []struct {
		to   *region
		size uint32
	}{{&in.frame, abi.FrameSize}, {&in.result, abi.ResultSize + 64*abi.ScoreSize}, {&in.refs, 64 * abi.NodeRefSize}, {&in.pod, 4096}, {&in.text, 16 << 10}} {
		if err := in.heap.grow(r.to, r.size); err != nil {
			return in.kill(abi.Describe, Memory, err)
		}
	}
	return nil
}

// Close frees the instance. It may be called twice.
func (in *Instance) Close() error {
	in.dead = true
	if in.inst == nil {
		return nil
	}
	inst := in.inst
	in.inst = nil
	return inst.Close()
}

// WASI is the instance's side of the WASI shim, for its host functions.
func (in *Instance) WASI() *wasi.State { return in.wasi }

// Dead says whether a fault ended the instance.
func (in *Instance) Dead() bool { return in.dead }

// Has says whether the guest exports a point.
func (in *Instance) Has(p abi.Point) bool { return in.points[p] != nil }

// MemoryBytes is the size of the guest's linear memory.
func (in *Instance) MemoryBytes() uint64 {
	if in.inst == nil {
		return 0
	}
	return uint64(in.mem.Size())
}

// SpentFuel is the fuel of all calls so far, LastFuel that of the last one.
func (in *Instance) SpentFuel() uint64 { return in.spent }

// LastFuel is the fuel that the last call used.
func (in *Instance) LastFuel() uint64 { return in.lastFuel }

// log hands a line on, within the call's limit.
func (in *Instance) log(level uint32, line string) {
	if in.opts.Log == nil || in.logged > in.opts.LogBytes {
		return
	}
	if in.logged += len(line); in.logged > in.opts.LogBytes {
		line = fmt.Sprintf("[output dropped: want at most %d bytes a call]", in.opts.LogBytes)
	}
	in.opts.Log(level, line)
}

// run calls f under a budget. On any error the instance is dead.
func (in *Instance) run(f engine.Func, stack []uint64, budget uint64, p abi.Point) error {
	if in.dead {
		return in.deadError(p)
	}
	in.logged, in.panicLine = 0, ""
	in.meter.Grant(int64(min(budget, weave.MaxBudget)))
	err := f.Call(stack)
	in.lastFuel = uint64(max(in.meter.Spent(), 0))
	in.spent += in.lastFuel
	if err == nil {
		return nil
	}
	in.dead = true
	in.failed = in.fault(p, err)
	switch {
	case in.meter.OutOfFuel():
		in.failed.Cause, in.failed.Err = Fuel, fmt.Errorf("want at most %d units, used them up", budget)
	case in.meter.StackExhausted():
		in.failed.Err = fmt.Errorf("want at most %d bytes of call stack, used them up", weave.StackBytes)
	}
	return in.failed
}

func (in *Instance) deadError(p abi.Point) error {
	if in.failed != nil {
		return &Fault{Cause: in.failed.Cause, Point: p, Err: in.failed.Err}
	}
	return &Fault{Cause: Trap, Point: p, Err: errors.New("the instance is closed")}
}

// fault classifies an engine's error.
func (in *Instance) fault(p abi.Point, err error) *Fault {
	f := &Fault{Cause: Trap, Point: p, Err: err}
	var t *engine.Trap
	if errors.As(err, &t) {
		f.Err = trapped{t}
	}
	if in.wasi != nil {
		f.Output, f.Panic = in.wasi.Tail(), in.panicLine
	}
	return f
}

// trapped is a trap without the word, which the fault's cause says.
type trapped struct{ trap *engine.Trap }

func (t trapped) Error() string { return strings.TrimPrefix(t.trap.Error(), "trap: ") }

func (t trapped) Unwrap() error { return t.trap }

// kill ends the instance for a reason found by the host.
func (in *Instance) kill(p abi.Point, c Cause, err error) *Fault {
	in.dead = true
	in.failed = &Fault{Cause: c, Point: p, Err: err, Output: in.wasi.Tail()}
	return in.failed
}

// guestAlloc asks the guest for memory and checks what it answers.
func (in *Instance) guestAlloc(size uint32) (uint32, error) {
	stack := [1]uint64{uint64(size)}
	if err := in.run(in.alloc, stack[:], in.opts.Budgets.Life, abi.Describe); err != nil {
		return 0, err
	}
	ptr := uint32(stack[0])
	switch end := uint64(ptr) + uint64(size); {
	case ptr == 0 || ptr%8 != 0:
		return 0, fmt.Errorf("alloc(%d): want an 8-aligned address, got %d", size, ptr)
	case end > uint64(in.mem.Size()):
		return 0, fmt.Errorf("alloc(%d): want an address inside %d bytes, got %d", size, in.mem.Size(), ptr)
	case in.heap.overlaps(ptr, size):
		return 0, fmt.Errorf("alloc(%d): address %d overlaps memory that alloc gave before", size, ptr)
	}
	return ptr, nil
}

// write copies b to guest memory at a place that the host owns.
func (in *Instance) write(p abi.Point, ptr uint32, b []byte) error {
	if !in.mem.Write(ptr, b) {
		return in.kill(p, Memory, fmt.Errorf("write %d bytes at %d: outside memory", len(b), ptr))
	}
	return nil
}

// place makes r hold b and copies it there.
func (in *Instance) place(p abi.Point, r *region, b []byte) error {
	if err := in.heap.grow(r, uint32(len(b))); err != nil {
		return in.memoryFault(p, err)
	}
	return in.write(p, r.ptr, b)
}

// memoryFault is the fault for memory that the guest didn't give, unless the
// guest's alloc itself ended it.
func (in *Instance) memoryFault(p abi.Point, err error) error {
	if f, ok := AsFault(err); ok {
		return &Fault{Cause: f.Cause, Point: p, Err: fmt.Errorf("alloc: %w", f.Err), Output: f.Output}
	}
	return in.kill(p, Memory, err)
}

// syncStrings appends to the guest's table what the host's has gained.
func (in *Instance) syncStrings(p abi.Point) error {
	n := uint32(in.opts.Strings.Len())
	have := uint32(len(in.shadow)) / abi.StringRefSize
	if have == n {
		return nil
	}
	for id := have; id < n; id++ {
		s := in.opts.Strings.Text(id)
		if in.text.cap-in.textLen < uint32(len(s)) {
			// The old block stays: its texts are in use for the instance's life.
			r, err := in.heap.get(max(16<<10, uint32(len(s))))
			if err != nil {
				return in.memoryFault(p, err)
			}
			in.text, in.textLen = r, 0
		}
		ptr := in.text.ptr + in.textLen
		if len(s) > 0 {
			if err := in.write(p, ptr, []byte(s)); err != nil {
				return err
			}
		}
		in.textLen += uint32(len(s))
		in.shadow = binary.LittleEndian.AppendUint32(in.shadow, ptr)
		in.shadow = binary.LittleEndian.AppendUint32(in.shadow, uint32(len(s)))
	}
	from := have * abi.StringRefSize
	if uint32(len(in.shadow)) > in.index.cap {
		if err := in.heap.grow(&in.index, uint32(len(in.shadow))*2); err != nil {
			return in.memoryFault(p, err)
		}
		from = 0
	}
	return in.write(p, in.index.ptr+from, in.shadow[from:])
}

// SetPod writes the pod record of the cycle's pod; later calls use it. A nil
// record means no pod.
func (in *Instance) SetPod(record []byte) error {
	if len(record) == 0 {
		in.podRef = region{}
		return nil
	}
	if err := in.place(abi.Configure, &in.pod, record); err != nil {
		return err
	}
	in.podRef = region{in.pod.ptr, uint32(len(record))}
	return nil
}

// NodeRef refers to a node's view in the instance.
type NodeRef struct {
	ptr, len, slot, flags uint32
	version               uint64
}

// Resident says whether slot holds the view of this version.
func (in *Instance) Resident(slot uint32, version uint64) bool {
	return int(slot) < len(in.slots) && in.slots[slot].version == version && version != 0
}

// Ref refers to what slot holds.
func (in *Instance) Ref(slot uint32) NodeRef {
	s := &in.slots[slot]
	return NodeRef{s.ptr, s.len, slot, 0, s.version}
}

// SetNode makes slot hold a record under a version, which is not 0 and stands
// for these bytes alone.
func (in *Instance) SetNode(slotIndex uint32, version uint64, record []byte) (NodeRef, error) {
	for int(slotIndex) >= len(in.slots) {
		in.slots = append(in.slots, slot{})
	}
	s := &in.slots[slotIndex]
	s.version = 0
	if err := in.place(abi.Filter, &s.region, record); err != nil {
		return NodeRef{}, err
	}
	s.len, s.version = uint32(len(record)), version
	return in.Ref(slotIndex), nil
}

// DropNode frees a slot.
func (in *Instance) DropNode(slotIndex uint32) {
	if int(slotIndex) < len(in.slots) {
		in.heap.put(in.slots[slotIndex].region)
		in.slots[slotIndex] = slot{}
	}
}

// ScratchNode writes a modified copy of a node, good for the next call only.
// slotIndex is the slot of the node that it is a copy of.
func (in *Instance) ScratchNode(slotIndex uint32, record []byte) (NodeRef, error) {
	if err := in.place(abi.Filter, &in.scratch, record); err != nil {
		return NodeRef{}, err
	}
	return NodeRef{in.scratch.ptr, uint32(len(record)), slotIndex, abi.NodeRefScratch, 0}, nil
}

// CloneState copies the cycle state behind handle. It returns 0 where the
// guest has none.
func (in *Instance) CloneState(handle uint32) (uint32, error) {
	if in.clone == nil || handle == 0 {
		return 0, nil
	}
	stack := [1]uint64{uint64(handle)}
	err := in.run(in.clone, stack[:], in.opts.Budgets.Call, abi.AddPod)
	return uint32(stack[0]), err
}

// EndCycle frees the cycle's states in the guest.
func (in *Instance) EndCycle(cycle uint64) error {
	if in.endCyc == nil {
		return nil
	}
	stack := [1]uint64{cycle}
	in.wasi.SetClock(in.now)
	return in.run(in.endCyc, stack[:], in.opts.Budgets.Call, abi.Unreserve)
}

// GC lets the guest collect its garbage.
func (in *Instance) GC() error {
	if in.gc == nil {
		return nil
	}
	in.wasi.SetClock(in.now) // begins a call: its output and its naps count anew
	return in.run(in.gc, nil, in.opts.Budgets.GC, abi.Describe)
}
