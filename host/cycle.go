// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/guest"
	"github.com/berth-scheduler/berth/host/metrics"
	"github.com/berth-scheduler/berth/host/policy"
)

// stateKey is where a cycle's state is in the framework's CycleState.
const stateKey fwk.StateKey = "berth"

// maxFaults is after how many faults a policy has failed for the rest of a
// cycle.
const maxFaults = 3

// maxReasons is how many different reasons of a policy's verdicts a pod hears of
// in a cycle: the scheduler writes all of them into the pod's condition.
const maxReasons = 16

// maxChunk is the most nodes of one guest call: a garbage collection of the
// scheduler may have to wait for the call.
const maxChunk = 64

// cycle is one pod's scheduling attempt: the versions that it began with, and
// what they answered.
type cycle struct {
	id       uint64
	host     *Host
	set      *activeSet
	profile  string
	pod      *v1.Pod // nil in the cycle of a group's own points
	now      int64
	nodes    int              // in the snapshot
	group    *group           // of a pod-group simulation, where generations don't tell what changed
	info     fwk.PodGroupInfo // of a group's own points, as are pods
	pods     []*v1.Pod
	policies []*cyclePolicy
	order    []int32                // places in the node index of what PreFilter narrowed the nodes to; nil is all
	statuses fwk.NodeToStatusReader // in PostFilter: why nodes were rejected

	reserved atomic.Bool // past Reserve: ends with PostBind or Unreserve
	assumed  atomic.Bool // was past Reserve: a group's simulation may come back to it
	ended    sync.Once
	done     atomic.Bool // ended: its versions may be closed
}

// cyclePolicy is one matching policy in a cycle. What follows version is
// guarded by version.mu.
type cyclePolicy struct {
	*version // nil if no version can run: blocked says why
	entry    *entry
	blocked  *fwk.Status

	started  bool
	skip     bool           // PreFilter said Skip: no Filter, AddPod, RemovePod
	rejected *guest.Verdict // PreFilter said Unschedulable without a state
	gen      uint64         // generation of the instance that holds the states
	states   bool           // the guest holds states of this cycle
	faults   int
	group    *groupPolicy // the same version in the cycle of the pod's group; nil if there is none
	charged  bool         // a fault counts for the policy's health
	failed   *guest.Fault
	chunk    int      // nodes of the next guest call of filter
	next     int      // place in cycle.order of the next node to go along
	alone    bool     // after a fault in a chunk each node is asked alone
	reasons  []string // different ones that it gave
	undo     bool     // Unreserve is owed for a Reserve
	idle     bool     // PreBind has no work
	keeps    bool     // counted in version.kept
}

// cycleState is a cycle in a CycleState. Clones share the cycle; what AddPod
// and RemovePod change is copied when they do.
type cycleState struct {
	*cycle
	origin *cycleState // nil in begin's; keeps that one from being cleaned up before its clones

	mu      sync.Mutex
	changed bool     // by AddPod or RemovePod
	states  []uint32 // handles, by index in cycle.policies
	owned   []bool   // states[i] was made for this clone
	scores  *scoreSet
	ranks   map[*fwk.Placement][]rank // of a group's own points: a rank a policy
}

// Clone is called concurrently; the guest isn't asked before AddPod or
// RemovePod changes the copy.
func (s *cycleState) Clone() fwk.StateData {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &cycleState{
		cycle:   s.cycle,
		origin:  cmp.Or(s.origin, s),
		changed: s.changed,
		states:  slices.Clone(s.states),
		owned:   make([]bool, len(s.owned)),
		scores:  s.scores,
	}
}

// begin starts a cycle for a pod and ends those before. It returns nil if no
// policy matches. All pods of a pod group's cycle get the same active set.
func (h *Host) begin(state fwk.CycleState, profile string, pod *v1.Pod, nodes []fwk.NodeInfo) *cycleState {
	h.cycleMu.Lock()
	defer h.cycleMu.Unlock()
	if h.closed.Load() {
		state.Write(stateKey, idle{})
		return nil
	}
	group := h.turn(state.GetPodGroupSchedulingCycle(), profile, pod, nodes)
	set := h.active.Load()
	if group != nil {
		set = group.set
	}
	policies, ok := pin(set, profile, pod, h.clock())
	for !ok {
		set = h.active.Load()
		policies, ok = pin(set, profile, pod, h.clock())
	}
	if len(policies) == 0 {
		state.Write(stateKey, idle{})
		return nil
	}
	h.cycles++
	c := &cycle{id: h.cycles, host: h, set: set, profile: profile, pod: pod, now: h.clock().UnixNano(), nodes: len(nodes), group: group, policies: policies}
	h.noteNodes(set, nodes)
	cs := &cycleState{cycle: c, states: make([]uint32, len(c.policies)), owned: make([]bool, len(c.policies))}
	if group != nil {
		joinPolicies(policies, state.GetPodGroupSchedulingCycle())
	}
	state.Write(stateKey, cs)
	runtime.AddCleanup(cs, func(c *cycle) { c.end() }, c)
	h.open = append(h.open, c)
	h.running.add(c)
	return cs
}

// pin holds the versions of the policies that match a pod. It is false if one of
// them is closed already: the set is no longer the active one.
func pin(set *activeSet, profile string, pod *v1.Pod, now time.Time) ([]*cyclePolicy, bool) {
	var policies []*cyclePolicy
	for _, e := range set.entries {
		if !e.matches(profile, pod) {
			continue
		}
		cp := &cyclePolicy{entry: e, chunk: 1}
		cp.version, cp.blocked = e.available(now)
		switch {
		case cp.version == nil && cp.blocked == nil: // it can't run, and its failure policy is Ignore
		case cp.version == nil || cp.version.retain():
			policies = append(policies, cp)
		default:
			for _, cp := range policies {
				if cp.version != nil {
					cp.release()
				}
			}
			return nil, false
		}
	}
	return policies, true
}

// stateOf finds the cycle's state. nil means that Berth has nothing to say in
// this cycle.
func stateOf(state fwk.CycleState) *cycleState {
	d, err := state.Read(stateKey)
	if err != nil {
		return nil
	}
	cs, _ := d.(*cycleState)
	return cs
}

// idle marks a cycle that has begun and in which no policy has a say.
type idle struct{}

func (i idle) Clone() fwk.StateData { return i }

// begun says whether a cycle began, with or without policies.
func begun(state fwk.CycleState) bool {
	_, err := state.Read(stateKey)
	return err == nil
}

// end frees what the cycle holds, once.
func (c *cycle) end() {
	c.ended.Do(func() {
		c.done.Store(true)
		c.host.running.remove(c)
		c.host.holds.drop(c)
		for _, cp := range c.policies {
			if cp.version == nil {
				continue
			}
			cp.endCycle(c)
			cp.release()
		}
	})
}

// errClosed is the answer of points that are reached when the host is closed:
// nobody may go on without the policies' say.
var errClosed = errors.New("the scheduler ends")

// runningCycles are those of pods that haven't ended. It is safe for concurrent
// use.
type runningCycles struct {
	mu  sync.Mutex
	set map[*cycle]struct{}
}

func (r *runningCycles) add(c *cycle) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.set == nil {
		r.set = map[*cycle]struct{}{}
	}
	r.set[c] = struct{}{}
}

func (r *runningCycles) remove(c *cycle) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.set, c)
}

func (r *runningCycles) all() []*cycle {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.set))
}

func (cp *cyclePolicy) endCycle(c *cycle) {
	v := cp.version
	v.mu.Lock()
	defer v.mu.Unlock()
	if cp.states && v.inst != nil && !v.inst.Dead() && v.gen == cp.gen {
		if err := v.inst.EndCycle(c.id); err != nil {
			cp.charge(c, abi.Unreserve, err)
		}
	}
	if cp.keeps {
		v.kept--
	}
	if cp.started && cp.faults == 0 {
		v.health.ok()
	}
}

// enter prepares the version for a call in this cycle. The caller holds mu.
// After it returned nil there is a live instance that knows the pod.
func (cp *cyclePolicy) enter(c *cycle, p abi.Point) *guest.Fault {
	if cp.failed != nil {
		return cp.failed
	}
	v := cp.version
	if !cp.started {
		cp.started = true
		if err := v.startCycle(c.group); err != nil {
			return cp.fail(c, p, err)
		}
		cp.gen = v.gen
	}
	if v.inst == nil || v.inst.Dead() {
		if err := v.live(); err != nil {
			return cp.fail(c, p, err)
		}
	}
	if v.gen != cp.gen {
		if cp.states {
			return cp.lose(c, p)
		}
		cp.gen = v.gen
	}
	if err := v.setPod(c); err != nil {
		return cp.fail(c, p, err)
	}
	return nil
}

// call runs one guest call with its accounts. The caller holds mu and entered.
func (cp *cyclePolicy) call(c *cycle, call *guest.Call) error {
	v := cp.version
	call.Cycle, call.Group = c.id, cp.group.state()
	if !v.desc.Pure {
		call.Now, call.Total = c.now, c.nodes
	}
	v.reading = reading{host: c.host, version: v, point: call.Point, pod: c.pod, cycle: c}
	if slices.Contains(bindingPoints, call.Point) {
		v.reading.cycle = nil
	}
	start := time.Now()
	err := v.inst.Call(call, &v.result)
	v.account(call.Point, start, v.inst.LastFuel())
	if err != nil {
		return err
	}
	if len(v.result.Intents) > 0 {
		asks := asking{host: c.host, version: v, profile: c.profile, point: call.Point, pod: c.pod}
		if err := asks.carryOut(&v.result); err != nil {
			return err
		}
	}
	point := call.Point.String()
	var codes [abi.Pending + 1]int
	for i := range v.result.Verdicts {
		codes[v.result.Verdicts[i].Code]++
	}
	for code, n := range codes {
		if n > 0 {
			metrics.Verdicts.WithLabelValues(v.name, point, abi.Code(code).String()).Add(float64(n))
		}
	}
	return nil
}

// account counts a call.
func (v *version) account(p abi.Point, start time.Time, fuel uint64) {
	point := p.String()
	metrics.Calls.WithLabelValues(v.name, point).Inc()
	metrics.CallSeconds.WithLabelValues(v.name, point).Observe(time.Since(start).Seconds())
	metrics.Fuel.WithLabelValues(v.name, point).Add(float64(fuel))
}

// note counts a fault at a point. It returns the fault.
func (cp *cyclePolicy) note(c *cycle, p abi.Point, err error) *guest.Fault {
	f, ok := guest.AsFault(err)
	if !ok {
		f = &guest.Fault{Cause: guest.Trap, Err: err}
	}
	f.Point = p // what failed may be the alloc before the call
	cp.faults++
	metrics.Faults.WithLabelValues(cp.name, f.Point.String(), string(f.Cause)).Inc()
	return f
}

// charge is note for a fault that is the answer to what the framework asked. The
// first in a cycle is reported and counts for the policy's health; after
// maxFaults the policy has failed for the rest of the cycle.
func (cp *cyclePolicy) charge(c *cycle, p abi.Point, err error) *guest.Fault {
	f := cp.note(c, p, err)
	if !cp.charged {
		cp.charged = true
		c.host.faulted(cp.version, f, c.pod)
	}
	if cp.faults >= maxFaults {
		cp.failed = f
	}
	return f
}

// fail is charge where the policy can't go on in this cycle.
func (cp *cyclePolicy) fail(c *cycle, p abi.Point, err error) *guest.Fault {
	cp.failed = cp.charge(c, p, err)
	return cp.failed
}

// lose is fail for a state that died with its instance. If that was in another
// cycle, it was charged there: many cycles may be under way past Reserve, and one
// fault mustn't count as often.
func (cp *cyclePolicy) lose(c *cycle, p abi.Point) *guest.Fault {
	f := &guest.Fault{Cause: guest.LostState, Point: p, Err: fmt.Errorf("the cycle state died with its instance")}
	if cp.faults > 0 {
		return cp.fail(c, p, f)
	}
	cp.failed = cp.note(c, p, f)
	return cp.failed
}

// onFault is what a fault means for the pod at a point: nil if the policy is
// to be ignored, else an error status.
func (cp *cyclePolicy) onFault(p abi.Point, f *guest.Fault) *fwk.Status {
	if cp.policy.OnFailure(p) == policy.Ignore {
		return nil
	}
	return fwk.NewStatus(fwk.Error, faultReason(cp.name, p, f))
}

// faultReason is one line: policy, point, cause, and what a panic said.
func faultReason(name string, p abi.Point, f *guest.Fault) string {
	msg := fmt.Sprintf("%s: %s: %s: %v", name, p, f.Cause, f.Err)
	if f.Panic != "" {
		msg += " (" + f.Panic + ")"
	}
	return msg
}
