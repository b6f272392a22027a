// SPDX-License-Identifier: Apache-2.0

package berth

import "github.com/berth-scheduler/berth/abi"

// Cycle is one attempt to schedule a pod. It is valid during the call.
type Cycle struct {
	guest  *guest
	point  abi.Point
	id     uint64
	now    int64
	handle uint32
	nodes  uint32
	group  uint32              // handle of the state of the pod's group
	space  *space              // of what it reads
	reply  reply               // what it answers beside a status
	finish func(*Cycle, frame) // writes the reply; nil where there is none
}

// Now is the wall clock in Unix nanoseconds, the same for the whole cycle; 0
// for pure policies, whose answers mustn't depend on it. (It is no time.Time
// because package time adds 260 KB to a module.)
func (c *Cycle) Now() int64 { return c.now }

// Nodes is the number of nodes that the scheduler knows, whatever a pod may run
// on; 0 outside a cycle and for pure policies, whose answers mustn't depend on
// it.
func (c *Cycle) Nodes() int { return int(c.nodes) }

// State is what a policy keeps from one point of a cycle to the next.
type State interface {
	// Clone returns a copy that can be changed without changing the original.
	// The scheduler tries changes on clones: preemption, nominated pods.
	Clone() State
}

// SetState keeps v for the cycle's later points, in place of what was kept
// before; StateOf finds it. It may be called in PreFilter and PreScore and, where
// there is state already, in AddPod and RemovePod. In GeneratePlacements it is
// the group's state, which the points of the group find by StateOf and those of
// its pods by GroupStateOf; in ScorePlacement it is that of one placement.
// Anywhere else it panics.
func (c *Cycle) SetState(v State) {
	switch c.point {
	case abi.PreFilter, abi.PreScore, abi.GeneratePlacements, abi.ScorePlacement:
	case abi.AddPod, abi.RemovePod:
		if c.handle == 0 {
			panic("berth: SetState in " + pointName(c.point) + ": PreFilter set no state")
		}
	default:
		panic("berth: SetState in " + pointName(c.point) + ": cycle state may only be read there; set it in PreFilter or PreScore")
	}
	c.handle = c.guest.states.set(c.handle, c.id, c.point, v)
}

var (
	noState    = &Status{code: abi.Error, reason: "there is no cycle state: PreFilter set none, or its instance is gone"}
	otherState = &Status{code: abi.Error, reason: "cycle state is of another type"}
)

// StateOf returns the cycle's state, or a Status to return if there is none or
// it is of another type:
//
//	counts, s := berth.StateOf[*counts](c)
//	if s != nil {
//		return s
//	}
func StateOf[T State](c *Cycle) (T, *Status) {
	return stateAs[T](c.guest.states.get(c.handle, c.id, c.point))
}

// GroupStateOf is StateOf for the state that GeneratePlacements set for the
// group of the cycle's pod. It must not be changed.
func GroupStateOf[T State](c *Cycle) (T, *Status) {
	return stateAs[T](c.guest.states.get(c.group, c.id, abi.GeneratePlacements))
}

func stateAs[T State](v State) (T, *Status) {
	var none T
	if v == nil {
		return none, noState
	}
	t, ok := v.(T)
	if !ok {
		return none, otherState
	}
	return t, nil
}

// states are the cycle states of an instance. Few live at once: one a cycle and
// one a candidate of a preemption.
type states struct {
	entries []stateEntry // by ascending handle
	last    uint32
}

type stateEntry struct {
	handle uint32
	cycle  uint64
	scores bool // set in PreScore without one from PreFilter
	trial  bool // set in ScorePlacement: of one placement
	value  State
}

func (st *states) find(handle uint32) *stateEntry {
	lo, hi := 0, len(st.entries)
	for lo < hi {
		mid := (lo + hi) / 2
		switch e := &st.entries[mid]; {
		case e.handle == handle:
			return e
		case e.handle < handle:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return nil
}

// lookup finds the state of a call. What PreScore set where PreFilter set none
// belongs to the cycle: hosts hand out handles of PreFilter's only.
func (st *states) lookup(handle uint32, cycle uint64, point abi.Point) *stateEntry {
	if handle != 0 {
		return st.find(handle)
	}
	if point == abi.PreScore || point == abi.Score || point == abi.NormalizeScore {
		for i := len(st.entries) - 1; i >= 0; i-- {
			if e := &st.entries[i]; e.cycle == cycle && e.scores {
				return e
			}
		}
	}
	return nil
}

func (st *states) get(handle uint32, cycle uint64, point abi.Point) State {
	if e := st.lookup(handle, cycle, point); e != nil {
		return e.value
	}
	return nil
}

func (st *states) set(handle uint32, cycle uint64, point abi.Point, v State) uint32 {
	trial := point == abi.ScorePlacement
	if e := st.lookup(handle, cycle, point); e != nil && e.trial == trial {
		e.value = v
		return e.handle
	}
	return st.add(stateEntry{cycle: cycle, scores: point == abi.PreScore, trial: trial, value: v})
}

func (st *states) add(e stateEntry) uint32 {
	st.last++
	if st.last == 0 {
		panic("berth: no handles are left")
	}
	e.handle = st.last
	st.entries = append(st.entries, e)
	return e.handle
}

func (st *states) clone(handle uint32) uint32 {
	e := st.find(handle)
	if e == nil {
		return 0
	}
	return st.add(stateEntry{cycle: e.cycle, scores: e.scores, value: e.value.Clone()})
}

// end frees the states of a cycle.
func (st *states) end(cycle uint64) {
	kept := st.entries[:0]
	for _, e := range st.entries {
		if e.cycle != cycle {
			kept = append(kept, e)
		}
	}
	clear(st.entries[len(kept):])
	st.entries = kept
}
