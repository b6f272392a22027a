// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
)

// fakeWaiting is a pod in the framework's list.
type fakeWaiting struct {
	pod  *v1.Pod
	mu   sync.Mutex
	told []string
}

func (w *fakeWaiting) GetPod() *v1.Pod             { return w.pod }
func (w *fakeWaiting) GetPendingPlugins() []string { return []string{"Other"} }
func (w *fakeWaiting) Allow(plugin string)         { w.note("allowed by " + plugin) }
func (w *fakeWaiting) Reject(plugin, msg string) bool {
	w.note("rejected by " + plugin + ": " + msg)
	return true
}
func (w *fakeWaiting) Preempt(string, string) bool { return false }

func (w *fakeWaiting) note(s string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, s)
}

// list puts a pod into the framework's list.
func (h *fakeHandle) list(pod *v1.Pod) *fakeWaiting {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting == nil {
		h.waiting = map[types.UID]*fakeWaiting{}
	}
	w := &fakeWaiting{pod: pod}
	h.waiting[pod.UID] = w
	return w
}

func (h *fakeHandle) GetWaitingPod(uid types.UID) fwk.WaitingPod {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.waiting[uid]; w != nil {
		return w
	}
	return nil
}

func (h *fakeHandle) IterateOverWaitingPods(callback func(fwk.WaitingPod)) {
	for _, w := range h.waiting {
		callback(w)
	}
}

// permitted begins a cycle of a pod and makes policies hold it, as Permit does.
func permitted(h *Host, b *Berth, pod *v1.Pod, during func(), timeouts map[string]time.Duration) (*decision, bool) {
	cs := h.begin(framework.NewCycleState(), "berth", pod, testNodes("n0"))
	cs.reserved.Store(true)
	fake := b.handle.(*fakeHandle)
	fake.states = append(fake.states, cs)
	w := h.holds.begin(cs.cycle, b.handle, "n0", h.clock())
	if during != nil {
		during()
	}
	for _, cp := range cs.policies {
		if d, ok := timeouts[cp.name]; ok {
			h.holds.add(w, cp.entry, d)
		}
	}
	return h.waits(w)
}

func (h *Host) allow(pod *v1.Pod, policy string) {
	h.decide(pod.UID, nil, decision{allow: true, policy: policy})
}

func (h *Host) rejectFor(pod *v1.Pod, policy string) {
	h.decide(pod.UID, nil, decision{policy: policy, reason: policy + ": no"})
}

// Two policies hold a pod; the framework hears of it when both have let it go, or
// one has rejected it.
func TestHolds(t *testing.T) {
	for name, c := range map[string]struct {
		play func(h *Host, pod *v1.Pod)
		want []string
		by   []string // who is noted as having rejected the pod
	}{
		"nobody decides":       {func(*Host, *v1.Pod) {}, nil, nil},
		"one allows":           {func(h *Host, p *v1.Pod) { h.allow(p, "a"); h.allow(p, "a") }, nil, nil},
		"a third has no say":   {func(h *Host, p *v1.Pod) { h.allow(p, "c"); h.rejectFor(p, "c") }, nil, nil},
		"both allow":           {func(h *Host, p *v1.Pod) { h.allow(p, "b"); h.allow(p, "a") }, []string{"allowed by Berth"}, nil},
		"one rejects":          {func(h *Host, p *v1.Pod) { h.rejectFor(p, "a") }, []string{"rejected by Berth: a: no"}, []string{"a"}},
		"who allowed can't":    {func(h *Host, p *v1.Pod) { h.allow(p, "a"); h.rejectFor(p, "a") }, nil, nil},
		"the other still can":  {func(h *Host, p *v1.Pod) { h.allow(p, "a"); h.rejectFor(p, "b") }, []string{"rejected by Berth: b: no"}, []string{"b"}},
		"a rejection is final": {func(h *Host, p *v1.Pod) { h.rejectFor(p, "a"); h.allow(p, "a"); h.allow(p, "b") }, []string{"rejected by Berth: a: no"}, []string{"a"}},
		"another pod":          {func(h *Host, _ *v1.Pod) { h.rejectFor(testPod("q"), "a") }, nil, nil},
		"the shorter time":     {func(*Host, *v1.Pod) { time.Sleep(11 * time.Second) }, []string{"rejected by Berth: a: not allowed within 10s"}, []string{"a"}},
		"the one that is left": {func(h *Host, p *v1.Pod) { h.allow(p, "a"); time.Sleep(11 * time.Second) }, nil, nil},
		"its own time":         {func(h *Host, p *v1.Pod) { h.allow(p, "a"); time.Sleep(time.Minute) }, []string{"rejected by Berth: b: not allowed within 30s"}, []string{"b"}},
		"no time once allowed": {func(h *Host, p *v1.Pod) { h.allow(p, "a"); h.allow(p, "b"); time.Sleep(time.Minute) }, []string{"allowed by Berth"}, nil},
		"nothing after the end": {func(h *Host, p *v1.Pod) {
			h.holds.pods[p.UID].cycle.end()
			h.rejectFor(p, "a")
			time.Sleep(time.Minute)
		}, nil, nil},
		"the scheduler's end":    {func(h *Host, p *v1.Pod) { h.Close(); h.allow(p, "a"); h.allow(p, "b") }, []string{"rejected by Berth: the scheduler ends"}, nil},
		"both policies are gone": {func(h *Host, _ *v1.Pod) { h.publishForTest(); h.reviewHolds() }, []string{"allowed by Berth"}, nil},
		"one is gone": {func(h *Host, _ *v1.Pod) {
			h.publishForTest(h.active.Load().entries[1])
			h.reviewHolds()
		}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := testVersion(t, "a", "", abi.Permit), testVersion(t, "b", "", abi.Permit)
				h, plugin, handle := testHost(entryOf(a), entryOf(b))
				pod := testPod("p")
				listed := handle.list(pod)
				if d, wait := permitted(h, plugin, pod, nil, map[string]time.Duration{"a": 10 * time.Second, "b": 30 * time.Second}); d != nil || !wait {
					t.Fatalf("want the pod to wait, got %v, %t", d, wait)
				}
				c.play(h, pod)
				synctest.Wait()
				if diff := cmp.Diff(c.want, listed.told); diff != "" {
					t.Errorf("what the framework is told: -want +got\n%s", diff)
				}
				var by []string
				for _, e := range h.rejections.by(pod.UID) {
					by = append(by, e.name)
				}
				if !slices.Equal(by, c.by) {
					t.Errorf("rejected by: want %v, got %v", c.by, by)
				}
				h.closeHolds()
			})
		})
	}
}

// publishForTest makes entries the active set.
func (h *Host) publishForTest(entries ...*entry) {
	h.active.Store(newActiveSet(h.active.Load().serial+1, entries))
}

// A decision that comes before the framework lists the pod is kept; one that
// comes while Permit runs, too.
func TestEarlyDecisions(t *testing.T) {
	hold := map[string]time.Duration{"a": time.Minute}
	setup := func(t *testing.T) (*Host, *Berth, *fakeHandle, *v1.Pod) {
		h, b, handle := testHost(entryOf(testVersion(t, "a", "", abi.Permit)))
		return h, b, handle, testPod("p")
	}
	t.Run("before it is listed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h, b, handle, pod := setup(t)
			permitted(h, b, pod, nil, hold)
			h.allow(pod, "a")
			time.Sleep(time.Second)
			if got := h.waitingPods("a"); len(got) != 0 {
				t.Errorf("want no pod left waiting, got %v", got)
			}
			listed := handle.list(pod)
			time.Sleep(2 * lastRetry)
			if !slices.Equal(listed.told, []string{"allowed by Berth"}) {
				t.Errorf("want it allowed once it is listed, got %v", listed.told)
			}
		})
	})
	t.Run("never listed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h, b, handle, pod := setup(t)
			permitted(h, b, pod, nil, hold)
			h.allow(pod, "a")
			h.holds.pods[pod.UID].cycle.end()
			listed := handle.list(pod) // of another attempt
			time.Sleep(time.Minute)
			if len(listed.told) != 0 {
				t.Errorf("want the decision forgotten, got %v", listed.told)
			}
		})
	})
	t.Run("allowed in Permit", func(t *testing.T) {
		h, b, _, pod := setup(t)
		if d, wait := permitted(h, b, pod, func() { h.allow(pod, "a") }, hold); d != nil || wait {
			t.Errorf("want no wait, got %v, %t", d, wait)
		}
		if len(h.holds.pods) != 0 {
			t.Error("want nothing kept")
		}
	})
	t.Run("rejected in Permit", func(t *testing.T) {
		h, b, _, pod := setup(t)
		if d, _ := permitted(h, b, pod, func() { h.rejectFor(pod, "a") }, hold); d == nil || d.reason != "a: no" {
			t.Errorf("want the rejection, got %v", d)
		}
		if d, wait := permitted(h, b, pod, func() { h.rejectFor(pod, "a") }, nil); d != nil || wait {
			t.Errorf("want a policy that doesn't hold the pod without a say, got %v, %t", d, wait)
		}
	})
	t.Run("deleted in Permit", func(t *testing.T) {
		h, b, _, pod := setup(t)
		if d, wait := permitted(h, b, pod, func() { h.publishForTest(); h.reviewHolds() }, hold); d != nil || wait {
			t.Errorf("want no wait, got %v, %t", d, wait)
		}
	})
}

// What becomes of a hold when its policy changes.
func TestReview(t *testing.T) {
	sick := func(t *testing.T, fields string) *entry {
		v := testVersion(t, "a", fields, abi.Permit)
		for range quarantineAfter {
			v.health.fault(testNow)
		}
		return entryOf(v)
	}
	suspended := entryOf(testVersion(t, "a", "", abi.Permit))
	suspended.suspend = true
	for name, c := range map[string]struct {
		next *entry
		want []string
	}{
		"a new version":           {entryOf(testVersion(t, "a", "", abi.Permit)), nil},
		"one without permit":      {entryOf(testVersion(t, "a", "", abi.Filter)), []string{"allowed by Berth"}},
		"one for other pods":      {entryOf(testVersion(t, "a", "match: {namespaces: [other]}", abi.Permit)), []string{"allowed by Berth"}},
		"turned off":              {suspended, []string{"allowed by Berth"}},
		"quarantined":             {sick(t, ""), []string{"rejected by Berth: a: quarantined after repeated faults"}},
		"quarantined, Ignore":     {sick(t, "failurePolicy: Ignore"), []string{"allowed by Berth"}},
		"can't be loaded":         {&entry{name: "a", fail: true, reason: "no version can run: x"}, []string{"rejected by Berth: a: no version can run: x"}},
		"can't be loaded, Ignore": {&entry{name: "a"}, []string{"allowed by Berth"}},
		"gone":                    {entryOf(testVersion(t, "b", "", abi.Permit)), []string{"allowed by Berth"}},
	} {
		t.Run(name, func(t *testing.T) {
			h, b, handle := testHost(entryOf(testVersion(t, "a", "", abi.Permit)))
			h.clock = func() time.Time { return testNow }
			pod := testPod("p")
			listed := handle.list(pod)
			permitted(h, b, pod, nil, map[string]time.Duration{"a": time.Minute})
			h.publishForTest(c.next)
			h.reviewHolds()
			if diff := cmp.Diff(c.want, listed.told); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			h.closeHolds()
		})
	}
}

// Who decides for a policy after a swap: the new version everywhere, the old one
// in the serial cycle that it began.
func TestDecidingVersion(t *testing.T) {
	for _, c := range []struct {
		point   abi.Point
		current bool
		want    int
	}{
		{abi.Permit, true, 1}, {abi.PostBind, true, 1}, {abi.QueueingHint, true, 1},
		{abi.Permit, false, 1}, {abi.PreBind, false, 0}, {abi.Unreserve, false, 0}, {abi.PostBind, false, 0},
	} {
		old, next := testVersion(t, "a", "", abi.Permit), testVersion(t, "a", "", abi.Permit)
		h, b, handle := testHost(entryOf(old))
		pod := testPod("p")
		listed := handle.list(pod)
		permitted(h, b, pod, nil, map[string]time.Duration{"a": time.Minute})
		h.publishForTest(entryOf(next))
		h.reviewHolds()
		v := old
		if c.current {
			v = next
		}
		record, err := abi.EncodeValue(map[string]any{"pod": string(pod.UID)})
		if err != nil {
			t.Fatal(err)
		}
		intent, err := abi.OpenValue(record)
		if err != nil {
			t.Fatal(err)
		}
		carriers[abi.IntentAllow](&asking{host: h, version: v, point: c.point}, intent)
		if len(listed.told) != c.want {
			t.Errorf("%s, current %t: want %d decisions, got %v", c.point, c.current, c.want, listed.told)
		}
		h.closeHolds()
	}
}

// A policy sees the pods that it holds first.
func TestWaitingPods(t *testing.T) {
	h, b, handle := testHost(entryOf(testVersion(t, "a", "", abi.Permit)), entryOf(testVersion(t, "b", "", abi.Permit)))
	h.plugins = []*Berth{b}
	now := testNow
	h.clock = func() time.Time { now = now.Add(time.Second); return now }
	hold := func(name, policy string) {
		permitted(h, b, testPod(name), nil, map[string]time.Duration{policy: time.Minute})
	}
	hold("z", "a")
	hold("m", "b")
	hold("k", "a")
	handle.list(testPod("other"))
	handle.list(testPod("z"))
	reading := reading{host: h, version: h.active.Load().entries[0].version}
	var got []string
	for _, x := range readWaiting(&reading).tree.([]any) {
		m := x.(map[string]any)
		got = append(got, fmt.Sprint(m["name"], " ", m["node"], " ", m["held"], " ", m["since_ns"].(int64) > 0))
	}
	if diff := cmp.Diff([]string{"z n0 true true", "k n0 true true", "other  false false", "m n0 false true"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	h.closeHolds()
}
