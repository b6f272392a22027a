// SPDX-License-Identifier: Apache-2.0

package weave

import (
	"bytes"
	"fmt"
	"slices"
)

// plan is what rewriting one function needs to know.
type plan struct {
	groups    uint32 // groups of local declarations
	groupsOff int    // where the first group begins
	code      int    // where the first instruction begins
	locals    uint32 // parameters and locals
	types     []byte // of these
	charges   []charge
	bulk      bool // has an instruction that pays by length
	calls     bool
	loops     int
}

// charge is the price of the instructions from one offset of a body up to the next charge.
type charge struct {
	offset int
	units  int64
	check  bool     // look whether the fuel is used up
	carry  []uint32 // at a loop's head, locals to hand around the call to yield
}

type frame struct {
	op    byte  // opBlock (also for the function), opLoop, opIf or opElse
	enter int64 // units not yet looked at where the arms of an if begin
	label int64 // the most such units with which a branch reaches the frame's end

	// Of a loop:
	charge int      // index of its head's charge
	sets   []uint32 // locals set in it, at most maxCarry+1
	calls  bool
}

// set notes that a local is set in a loop.
func (f *frame) set(local uint32) {
	if len(f.sets) <= maxCarry && !slices.Contains(f.sets, local) {
		f.sets = append(f.sets, local)
	}
}

// planner walks over one function body. It cuts the body into segments, which
// begin at the function's entry and after loop, if, else and end, and gives
// each a charge. Between two loop heads code runs forward only, so it is enough
// to look at the fuel at entry and loop heads, except on long ways: pending
// holds the most units that may have been charged without a look since, and
// before it exceeds maxPending a segment gets a look of its own.
type planner struct {
	m       *module
	r       *reader
	plan    *plan
	frames  []frame
	loops   []int // the frames that are loops
	targets []int // frames that the current segment branches to
	pending int64
	seg     charge

	blocks, nesting, loopNesting, branchTargets int
}

func (m *module) plan(i uint32) (*plan, error) {
	p := &planner{m: m, r: &reader{data: m.bodies[i]}, plan: &plan{}}
	p.declarations(m.types[m.funcs[i]])
	p.instructions()
	if p.r.err == nil {
		p.r.limit(p.shape())
	}
	if err := p.r.err; err != nil {
		return nil, fmt.Errorf("%s: %w", m.funcName(i), err)
	}
	return p.plan, nil
}

func (p *planner) declarations(t funcType) {
	r := p.r
	p.plan.groups = r.u32()
	p.plan.groupsOff = r.off
	p.plan.types = slices.Clone(t.params)
	locals := uint64(len(t.params))
	for i := uint32(0); i < p.plan.groups && r.err == nil; i++ {
		n, typ := r.u32(), r.byte()
		r.valueType(typ)
		locals += uint64(n)
		r.limit(within("body", "locals", p.m.limits.Locals, locals))
		if r.err == nil {
			p.plan.types = append(p.plan.types, bytes.Repeat([]byte{typ}, int(n))...)
		}
	}
	p.plan.locals = uint32(locals)
	p.plan.code = r.off
}

func (p *planner) instructions() {
	r := p.r
	p.frames = append(p.frames, frame{op: opBlock})
	p.seg = charge{offset: r.off, check: true}
	var in instruction
	for len(p.frames) > 0 && r.err == nil {
		r.next(&in)
		if r.err != nil {
			r.err = fmt.Errorf("byte %d: %w", in.start, r.err)
			return
		}
		p.indices(&in)
		if p.seg.units > maxPending {
			p.cut(in.start, false)
		}
		p.seg.units += in.cost()
		p.instruction(&in)
		if r.err != nil {
			r.err = fmt.Errorf("byte %d: %w", in.start, r.err)
			return
		}
	}
	if r.err == nil && r.more() {
		r.fail("%d bytes after the end", r.left())
	}
}

// instruction keeps track of control flow.
func (p *planner) instruction(in *instruction) {
	switch in.op {
	case opBlock, opLoop, opIf:
		if in.op != opBlock {
			p.cut(in.end, in.op == opLoop)
		}
		if in.op == opLoop {
			p.loops = append(p.loops, len(p.frames))
			p.plan.loops++
			p.loopNesting = max(p.loopNesting, len(p.loops))
		}
		p.frames = append(p.frames, frame{op: in.op, enter: p.pending, charge: len(p.plan.charges)})
		p.blocks++
		p.nesting = max(p.nesting, len(p.frames)-1)
	case opElse:
		f := &p.frames[len(p.frames)-1]
		if f.op != opIf {
			p.r.fail("else without if")
			return
		}
		p.cut(in.end, false)
		f.op, f.label = opElse, max(f.label, p.pending)
		p.pending = f.enter
	case opEnd:
		p.cut(in.end, false)
		f := p.frames[len(p.frames)-1]
		p.frames = p.frames[:len(p.frames)-1]
		p.pending = max(p.pending, f.label)
		if f.op == opIf {
			p.pending = max(p.pending, f.enter)
		}
		if f.op == opLoop {
			p.endLoop(f)
		}
	case opBr, opBrIf:
		p.branch(in.index)
	case opBrTable:
		p.branchTargets += len(in.targets)
		p.m.shape.BranchTable = max(p.m.shape.BranchTable, len(in.targets))
		p.r.limit(within("body", "branch table", p.m.limits.BranchTable, uint64(len(in.targets))))
		for _, t := range in.targets {
			p.branch(t)
		}
	case opCall, opCallInd:
		p.plan.calls = true
		if n := len(p.loops); n > 0 {
			p.frames[p.loops[n-1]].calls = true
		}
	case opLocalSet, opLocalTee:
		if n := len(p.loops); n > 0 {
			p.frames[p.loops[n-1]].set(in.index)
		}
	default:
		if _, ok := in.bulk(); ok {
			p.plan.bulk = true
		}
	}
}

// endLoop hands what is known of a loop to its head's charge and to the loop around it.
func (p *planner) endLoop(f frame) {
	if len(f.sets) <= maxCarry {
		slices.Sort(f.sets)
		p.plan.charges[f.charge].carry = f.sets
	}
	p.loops = p.loops[:len(p.loops)-1]
	if n := len(p.loops); n > 0 {
		outer := &p.frames[p.loops[n-1]]
		outer.calls = outer.calls || f.calls
		for _, l := range f.sets {
			outer.set(l)
		}
	}
}

func (p *planner) branch(label uint32) {
	if p.r.err != nil {
		return
	}
	if uint64(label) >= uint64(len(p.frames)) {
		p.r.fail("label: want less than %d, got %d", len(p.frames), label)
		return
	}
	p.targets = append(p.targets, len(p.frames)-1-int(label))
}

// cut ends the current segment before offset and begins the next one; check
// says whether that is a loop's.
func (p *planner) cut(offset int, check bool) {
	s := p.seg
	p.seg = charge{offset: offset, check: check}
	if s.check {
		s.units = max(s.units, 1)
	} else if p.pending+s.units > maxPending {
		s.check = true
	}
	// The look comes after the whole segment is charged.
	if p.pending += s.units; s.check {
		p.pending = 0
	}
	for _, t := range p.targets {
		if f := &p.frames[t]; f.op != opLoop {
			f.label = max(f.label, p.pending)
		}
	}
	p.targets = p.targets[:0]
	if s.units > 0 {
		p.plan.charges = append(p.plan.charges, s)
	}
}

// shape notes the function's shape and checks it.
func (p *planner) shape() error {
	s, l := &p.m.shape, &p.m.limits
	locals := int(p.plan.locals)
	s.Locals = max(s.Locals, locals)
	s.TotalBlockLocals += p.blocks * locals
	s.TotalBranchTargets += p.branchTargets
	s.TotalLoops += p.plan.loops
	for _, c := range []struct {
		where, limit string
		want         int
		got          int
		most         *int
	}{
		{"body", "nesting", l.Nesting, p.nesting, &s.Nesting},
		{"body", "blocks", l.Blocks, p.blocks, &s.Blocks},
		{"body", "blocks times locals", l.BlockLocals, p.blocks * locals, &s.BlockLocals},
		{"body", "branch targets", l.BranchTargets, p.branchTargets, &s.BranchTargets},
		{"body", "loops", l.Loops, p.plan.loops, &s.Loops},
		{"body", "loops within loops", l.LoopNesting, p.loopNesting, &s.LoopNesting},
		{"all bodies", "blocks times locals", l.TotalBlockLocals, s.TotalBlockLocals, &s.TotalBlockLocals},
		{"all bodies", "branch targets", l.TotalBranchTargets, s.TotalBranchTargets, &s.TotalBranchTargets},
		{"all bodies", "loops", l.TotalLoops, s.TotalLoops, &s.TotalLoops},
	} {
		if err := within(c.where, c.limit, c.want, uint64(c.got)); err != nil {
			return err
		}
		*c.most = max(*c.most, c.got)
	}
	return nil
}
