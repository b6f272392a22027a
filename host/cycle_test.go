// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"runtime"
	"sync"
	"testing"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
)

// groupState is the state of a pod in the simulation of a pod group.
func groupState(group *framework.CycleState) fwk.CycleState {
	state := framework.NewCycleState()
	state.SetPodGroupSchedulingCycle(group)
	return state
}

// A version's references are those of the active set and of the cycles that
// haven't ended, whichever way they end.
func TestCycleReferences(t *testing.T) {
	ctx := context.Background()
	group, other := framework.NewCycleState(), framework.NewCycleState()
	list := testNodes("n0", "n1")
	for name, c := range map[string]struct {
		play func(b *Berth)
		want int64 // at the end, the active set's included
	}{
		"one cycle": {func(b *Berth) {
			b.host.begin(framework.NewCycleState(), "berth", testPod("a"), list)
		}, 2},
		"the next ends it": {func(b *Berth) {
			b.host.begin(framework.NewCycleState(), "berth", testPod("a"), list)
			b.host.begin(framework.NewCycleState(), "berth", testPod("b"), list)
		}, 2},
		"one past Reserve goes on": {func(b *Berth) {
			state := framework.NewCycleState()
			b.host.begin(state, "berth", testPod("a"), list)
			b.Reserve(ctx, state, testPod("a"), "n0")
			b.host.begin(framework.NewCycleState(), "berth", testPod("b"), list)
		}, 3},
		"until it is bound": {func(b *Berth) {
			state := framework.NewCycleState()
			b.host.begin(state, "berth", testPod("a"), list)
			b.Reserve(ctx, state, testPod("a"), "n0")
			b.host.begin(framework.NewCycleState(), "berth", testPod("b"), list)
			b.PostBind(ctx, state, testPod("a"), "n0")
			b.PostBind(ctx, state, testPod("a"), "n0")
		}, 2},
		"or unreserved": {func(b *Berth) {
			state := framework.NewCycleState()
			b.host.begin(state, "berth", testPod("a"), list)
			b.Reserve(ctx, state, testPod("a"), "n0")
			b.Unreserve(ctx, state, testPod("a"), "n0")
			b.Unreserve(ctx, state, testPod("a"), "n0")
		}, 1},
		"a pod that no policy matches": {func(b *Berth) {
			state := framework.NewCycleState()
			b.host.begin(state, "berth", testPod("a"), list)
			if b.host.begin(state, "another", testPod("b"), list) != nil || stateOf(state) != nil {
				t.Error("want no state")
			}
		}, 1},
		"a group's simulation": {func(b *Berth) {
			for _, pod := range []string{"a", "b", "c"} {
				state := groupState(group)
				b.host.begin(state, "berth", testPod(pod), list)
				b.Reserve(ctx, state, testPod(pod), "n0")
				b.Unreserve(ctx, state, testPod(pod), "n0")
			}
		}, 5},
		"a group's pods without a node": {func(b *Berth) {
			for _, pod := range []string{"a", "b", "c"} {
				b.host.begin(groupState(group), "berth", testPod(pod), list)
			}
		}, 3},
		"ended by another group": {func(b *Berth) {
			for _, pod := range []string{"a", "b", "c"} {
				state := groupState(group)
				b.host.begin(state, "berth", testPod(pod), list)
				b.Reserve(ctx, state, testPod(pod), "n0")
				b.Unreserve(ctx, state, testPod(pod), "n0")
			}
			b.host.begin(groupState(other), "berth", testPod("d"), list)
		}, 3},
		"a group's commit": {func(b *Berth) {
			states := map[string]*framework.CycleState{}
			for _, pod := range []string{"a", "b", "c"} {
				state := framework.NewCycleState()
				state.SetPodGroupSchedulingCycle(group)
				states[pod] = state
				b.host.begin(state, "berth", testPod(pod), list)
				b.Reserve(ctx, state, testPod(pod), "n0")
			}
			for pod, state := range states {
				b.Unreserve(ctx, state, testPod(pod), "n0")
			}
			for _, pod := range []string{"a", "b"} { // c isn't committed
				states[pod].SetPodGroupSchedulingCycle(nil)
				b.Reserve(ctx, states[pod], testPod(pod), "n0")
			}
			b.host.begin(framework.NewCycleState(), "another", testPod("d"), list)
			b.PostBind(ctx, states["a"], testPod("a"), "n0")
			if n := b.host.active.Load().entries[0].version.refs.Load(); n != 2 {
				t.Errorf("want b's cycle left, got %d references", n)
			}
			b.Unreserve(ctx, states["b"], testPod("b"), "n0")
		}, 1},
		"the host's end": {func(b *Berth) {
			b.host.begin(groupState(group), "berth", testPod("a"), list)
			b.host.begin(groupState(group), "berth", testPod("b"), list)
			b.host.Close()
		}, 1},
		"the host's end while one binds": {func(b *Berth) {
			state := framework.NewCycleState()
			b.host.begin(state, "berth", testPod("a"), list)
			b.Reserve(ctx, state, testPod("a"), "n0")
			b.host.begin(framework.NewCycleState(), "berth", testPod("b"), list)
			b.host.Close()
			b.host.begin(framework.NewCycleState(), "berth", testPod("c"), list)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			v := testVersion(t, "p", "match: {profiles: [berth]}", abi.Filter)
			_, b, _ := testHost(entryOf(v))
			c.play(b)
			if n := v.refs.Load(); n != c.want {
				t.Errorf("want %d references, got %d", c.want, n)
			}
		})
	}
}

// A host that is closed lets no pod of its policies go on.
func TestClosed(t *testing.T) {
	ctx, pod, list := context.Background(), testPod("p"), testNodes("n0")
	v := testVersion(t, "p", "", abi.Filter, abi.Reserve, abi.Permit, abi.PreBind, abi.Bind, abi.Unreserve, abi.PostBind)
	h, b, _ := testHost(entryOf(v))
	state := framework.NewCycleState()
	h.begin(state, "berth", pod, list)
	h.Close()
	_, preFilter := b.PreFilter(ctx, framework.NewCycleState(), testPod("q"), list)
	permit, _ := b.Permit(ctx, state, pod, "n0")
	_, preFlight := b.PreBindPreFlight(ctx, state, pod, "n0")
	for point, s := range map[string]*fwk.Status{
		"PreFilter": preFilter, "Reserve": b.Reserve(ctx, state, pod, "n0"), "Permit": permit,
		"PreBindPreFlight": preFlight, "PreBind": b.PreBind(ctx, state, pod, "n0"), "Bind": b.Bind(ctx, state, pod, "n0"),
	} {
		if s.Code() != fwk.Error || s.Message() != errClosed.Error() {
			t.Errorf("%s: want %q, got %s: %s", point, errClosed, s.Code(), s.Message())
		}
	}
	b.Unreserve(ctx, state, pod, "n0")
	b.PostBind(ctx, state, pod, "n0")
	if n := v.refs.Load(); n != 1 {
		t.Errorf("want one reference, got %d", n)
	}
}

// All pods of a group are decided by the set that its cycle began with.
func TestGroupKeepsItsSet(t *testing.T) {
	old, next := testVersion(t, "p", "", abi.Filter), testVersion(t, "p", "", abi.Filter)
	h, _, _ := testHost(entryOf(old))
	group := framework.NewCycleState()
	list := testNodes("n0")
	h.begin(groupState(group), "berth", testPod("a"), list)
	h.active.Store(newActiveSet(2, []*entry{entryOf(next)}))
	old.release()
	if cs := h.begin(groupState(group), "berth", testPod("b"), list); cs.policies[0].version != old {
		t.Error("want the second pod on the first one's version")
	}
	if cs := h.begin(framework.NewCycleState(), "berth", testPod("c"), list); cs.policies[0].version != next || !old.closed {
		t.Error("want the next cycle on the new version, and the old one closed")
	}
}

// A version that was closed between a look at the active set and the hold on it
// is not used.
func TestPinClosedVersion(t *testing.T) {
	first, closed := testVersion(t, "a", "", abi.Filter), testVersion(t, "b", "", abi.Filter)
	set := newActiveSet(1, []*entry{entryOf(first), entryOf(closed)})
	closed.release()
	if closed.retain() {
		t.Fatal("want no hold on a closed version")
	}
	if _, ok := pin(set, "berth", testPod("p"), testNow); ok || first.refs.Load() != 1 {
		t.Errorf("want the set refused and nothing held, got %t, %d references", ok, first.refs.Load())
	}
}

// Swaps and cycles side by side: no cycle gets a closed version, and each version
// is closed in the end.
func TestSwapRace(t *testing.T) {
	h, _, _ := testHost()
	var versions []*version
	swap := func() {
		v := testVersion(t, "p", "", abi.Filter)
		versions = append(versions, v)
		old := h.active.Swap(newActiveSet(0, []*entry{entryOf(v)}))
		for _, e := range old.entries {
			e.version.release()
		}
	}
	swap()
	stop, list := make(chan struct{}), testNodes("n0")
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			cs := h.begin(framework.NewCycleState(), "berth", testPod("p"), list)
			v := cs.policies[0].version
			v.mu.Lock()
			if v.closed {
				t.Error("want a live version")
			}
			v.mu.Unlock()
		}
	})
	for range 2000 {
		swap()
	}
	close(stop)
	wg.Wait()
	h.Close()
	for i, v := range versions[:len(versions)-1] {
		if !v.closed {
			t.Fatalf("want version %d closed", i)
		}
	}
}

// A cycle that nobody ends is ended when its state is garbage, but not before
// the last clone is.
func TestCycleCleanup(t *testing.T) {
	v := testVersion(t, "p", "", abi.Filter)
	ended := make(chan struct{})
	v.onClose = func() { close(ended) }
	h, _, _ := testHost(entryOf(v))
	clone := func() *cycleState {
		cs := h.begin(framework.NewCycleState(), "berth", testPod("p"), testNodes("n0"))
		return cs.Clone().(*cycleState).Clone().(*cycleState)
	}()
	h.open = nil // as for a cycle that was reserved and then lost
	v.release()
	for range 3 {
		runtime.GC()
	}
	if v.refs.Load() != 1 {
		t.Error("want the version held while a clone lives")
	}
	runtime.KeepAlive(clone)
	clone = nil
	for waiting := true; waiting; {
		runtime.GC()
		select {
		case <-ended:
			waiting = false
		default:
		}
	}
}

func TestAvailable(t *testing.T) {
	healthy, sick, ignored := testVersion(t, "p", ""), testVersion(t, "p", ""), testVersion(t, "p", "failurePolicy: Ignore")
	for range quarantineAfter {
		sick.health.fault(testNow)
		ignored.health.fault(testNow)
	}
	for name, c := range map[string]struct {
		entry *entry
		want  *version
		why   string
	}{
		"a version":              {entryOf(healthy), healthy, ""},
		"none, Fail":             {&entry{name: "p", fail: true, reason: "no version can run: x"}, nil, "p: no version can run: x"},
		"none, Ignore":           {&entry{name: "p"}, nil, ""},
		"quarantined":            {entryOf(sick), nil, "p: quarantined after repeated faults"},
		"quarantined and Ignore": {entryOf(ignored), nil, ""},
	} {
		v, s := c.entry.available(testNow)
		if v != c.want || s.Message() != c.why {
			t.Errorf("%s: got %v, %v", name, v, s)
		}
		if c.why != "" && s.Code() != fwk.Unschedulable {
			t.Errorf("%s: want a code that events can undo, got %s", name, s.Code())
		}
	}
}
