// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
)

func TestRejections(t *testing.T) {
	var r rejections
	a, b, pod := &entry{name: "a"}, &entry{name: "b"}, testPod("p")
	if !r.add(pod, a) || r.add(pod, a) || !r.add(pod, b) {
		t.Error("want each policy new once")
	}
	if got := r.by(pod.UID); !slices.Equal(got, []*entry{a, b}) {
		t.Errorf("want both policies, got %v", got)
	}
	r.add(testPod("q"), b)
	if n := len(r.ofPolicy("a")) + len(r.ofPolicy("b"))*10; n != 21 {
		t.Errorf("want one pod of a and two of b, got %d", n)
	}
	r.clear(pod)
	r.clear(testPod("never seen"))
	if len(r.by(pod.UID)) != 0 || len(r.ofPolicy("b")) != 1 {
		t.Error("want a new attempt to begin with nothing")
	}
	if !r.add(pod, a) {
		t.Error("want the policy new in the new attempt")
	}
	r.forget(pod.UID)
	if r.by(pod.UID) != nil || !r.add(pod, a) {
		t.Error("want a bound pod forgotten, though not for good")
	}
	r.drop(pod.UID)
	if r.add(pod, a) || r.by(pod.UID) != nil {
		t.Error("want a deleted pod not recorded by the attempt that it was in")
	}
	for i := range 3 * maxGone {
		r.drop(testPod(fmt.Sprint("gone-", i)).UID)
	}
	if len(r.pods) != 1 {
		t.Errorf("want q's record alone, got %d", len(r.pods))
	}
}

func TestActiveSetHas(t *testing.T) {
	v := testVersion(t, "p", "")
	e := entryOf(v)
	for name, c := range map[string]struct {
		entries []*entry
		want    bool
	}{
		"the same":         {[]*entry{{name: "o"}, {name: "p", version: v}}, true},
		"removed":          {[]*entry{{name: "o"}}, false},
		"another version":  {[]*entry{{name: "p", version: testVersion(t, "p", "")}}, false},
		"turned off":       {[]*entry{{name: "p", version: v, suspend: true}}, false},
		"another's":        {[]*entry{{name: "o", version: v}}, false},
		"no version":       {[]*entry{{name: "p", fail: true, reason: "x"}}, false},
		"no policy at all": {nil, false},
	} {
		if got := newActiveSet(2, c.entries).has(e); got != c.want {
			t.Errorf("%s: want %t, got %t", name, c.want, got)
		}
	}
}

// Whoever swaps a policy activates the pods that it turned down, before or after
// this one is recorded: then the rejection itself activates it.
func TestNoWakeUpIsLost(t *testing.T) {
	for name, c := range map[string]struct {
		during func(h *Host, v *version) // between the cycle's start and the rejection
		want   []string
	}{
		"nothing":          {func(*Host, *version) {}, nil},
		"another policy":   {func(h *Host, v *version) { h.active.Store(newActiveSet(2, []*entry{entryOf(v), {name: "new"}})) }, nil},
		"a swap":           {func(h *Host, _ *version) { h.active.Store(newActiveSet(2, []*entry{{name: "p"}})) }, []string{"default/p"}},
		"the policy's end": {func(h *Host, _ *version) { h.active.Store(newActiveSet(2, nil)) }, []string{"default/p"}},
	} {
		t.Run(name, func(t *testing.T) {
			v := testVersion(t, "p", "", abi.Filter)
			h, b, handle := testHost(entryOf(v))
			state := framework.NewCycleState()
			cs := h.begin(state, "berth", testPod("p"), testNodes("n0"))
			c.during(h, v)
			for range 3 { // once is enough
				b.reject(cs.cycle, cs.policies[0], fwk.NewStatus(fwk.Unschedulable))
			}
			if diff := cmp.Diff(c.want, handle.activated); diff != "" {
				t.Errorf("activated: -want +got\n%s", diff)
			}
		})
	}
	t.Run("a quarantine's end", func(t *testing.T) {
		v := testVersion(t, "p", "", abi.Filter)
		h, b, handle := testHost(entryOf(v))
		for range quarantineAfter {
			v.health.fault(testNow)
		}
		reject := func() {
			state := framework.NewCycleState()
			if _, s := b.PreFilter(context.Background(), state, testPod("p"), testNodes("n0")); s.Message() != "p: quarantined after repeated faults" {
				t.Fatalf("want the pod rejected, got %v", s)
			}
		}
		if reject(); len(handle.activated) > 0 {
			t.Error("want the pod to wait")
		}
		asked := 0
		h.clock = func() time.Time { // it is over while PreFilter runs
			if asked++; asked > 2 {
				return testNow.Add(time.Hour)
			}
			return testNow
		}
		if reject(); len(handle.activated) != 1 {
			t.Errorf("want the pod activated, got %v", handle.activated)
		}
	})
}

// Many goroutines record, ask and forget.
func TestRejectionsConcurrently(t *testing.T) {
	var r rejections
	entries := []*entry{{name: "a"}, {name: "b"}, {name: "c"}}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 300 {
				pod := testPod(fmt.Sprint("p", i%10))
				r.add(pod, entries[(i+w)%3])
				r.by(pod.UID)
				r.ofPolicy("b")
				if i%50 == 0 {
					r.clear(pod)
					r.forget(pod.UID)
					r.drop(testPod(fmt.Sprint("gone", w, i)).UID)
				}
			}
		})
	}
	wg.Wait()
}
