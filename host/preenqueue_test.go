// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"testing"
	"time"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
)

// A policy in quarantine gates pods or is ignored, and whoever ends it, or swaps
// the policy, before the pod is recorded loses no pod.
func TestGateOfQuarantine(t *testing.T) {
	for name, c := range map[string]struct {
		fields string
		point  abi.Point
		during func(h *Host, v *version)
		gated  bool
		woken  bool
	}{
		"Fail":              {"failurePolicy: Fail", abi.PreEnqueue, nil, true, false},
		"Ignore":            {"failurePolicy: Ignore", abi.PreEnqueue, nil, false, false},
		"another point":     {"failurePolicy: Fail", abi.Filter, nil, false, false},
		"not matched":       {"match: {namespaces: [elsewhere]}", abi.PreEnqueue, nil, false, false},
		"its end meanwhile": {"failurePolicy: Fail", abi.PreEnqueue, func(h *Host, _ *version) { h.clock = func() time.Time { return testNow.Add(time.Hour) } }, true, true},
		"a swap meanwhile":  {"failurePolicy: Fail", abi.PreEnqueue, func(h *Host, _ *version) { h.active.Store(newActiveSet(2, nil)) }, true, true},
		"another's swap":    {"failurePolicy: Fail", abi.PreEnqueue, func(h *Host, v *version) { h.active.Store(newActiveSet(2, []*entry{{name: "new"}, entryOf(v)})) }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := testVersion(t, "p", c.fields, c.point)
			h, b, _ := testHost(entryOf(v))
			h.openGate("test")
			for range quarantineAfter {
				v.health.faultAt(abi.PreEnqueue, testNow)
			}
			pod := testPod("p")
			g, ok := b.gateOf(h.active.Load(), pod)
			if !ok || (g != nil) != c.gated {
				t.Fatalf("want gated %t, got %v", c.gated, g)
			}
			if !c.gated {
				return
			}
			if g.status.Code() != fwk.UnschedulableAndUnresolvable || g.status.Message() != "p: quarantined after repeated faults" {
				t.Errorf("want the reason, got %v", g.status)
			}
			set := h.active.Load()
			if c.during != nil {
				c.during(h, v)
			}
			h.holdBack(set, g, pod)
			if _, woken := h.waker.pods[pod.UID]; woken != c.woken {
				t.Errorf("want woken %t, got %t", c.woken, woken)
			}
			if by := h.rejections.by(pod.UID); len(by) != 1 || by[0].version != v {
				t.Errorf("want it recorded, got %v", by)
			}
		})
	}
}

// A pod that passes is forgotten, and what would have woken it.
func TestGatePassed(t *testing.T) {
	v := testVersion(t, "p", "failurePolicy: Fail", abi.PreEnqueue)
	h, b, _ := testHost(entryOf(v))
	h.openGate("test")
	pod, other := testPod("p"), testPod("q")
	h.rejections.add(other, h.active.Load().entries[0])
	h.rejections.gate(pod, h.active.Load().entries[0])
	h.wakeAfter(h.retries.next(pod.UID), pod)
	h.active.Store(newActiveSet(2, nil))
	for _, p := range []string{"p", "q"} {
		if s := b.PreEnqueue(context.Background(), testPod(p)); s != nil {
			t.Errorf("want the pod to pass, got %v", s)
		}
	}
	if len(h.rejections.by(pod.UID)) != 0 || len(h.waker.pods) != 0 || len(h.retries.rows) != 0 {
		t.Error("want the pod that passes forgotten")
	}
	if len(h.rejections.by(other.UID)) != 1 {
		t.Error("want the pod that was rejected in a cycle still recorded")
	}
}

func TestRetries(t *testing.T) {
	var r retries
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		if got := r.next("p"); got != want*time.Second {
			t.Errorf("want %ds, got %s", want, got)
		}
	}
	if !r.forget("p") || r.forget("p") || r.next("p") != time.Second {
		t.Error("want it to begin anew")
	}
}
