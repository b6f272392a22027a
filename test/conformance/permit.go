// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	bm "github.com/berth-scheduler/berth/host/metrics"
)

// waits says whether a pod waits in Permit.
func (w *World) waits(p *v1.Pod) bool {
	return w.Scheduler.Profiles[profile].GetWaitingPod(p.UID) != nil
}

// Waiting creates pods and waits until they wait in Permit.
func (w *World) Waiting(pods ...*v1.Pod) {
	w.Helper()
	w.Create(pods...)
	for _, p := range pods {
		w.Eventually("pod "+p.Name+" waits", func() bool { return w.waits(p) })
	}
}

// testWaits is C8: nine of a gang of ten have room, and wait for the tenth as
// long as they may. Then all are rejected, what they held is free, and each was
// unreserved as often as it was reserved.
func testWaits(t *testing.T, e Engine) {
	for name, timeout := range map[string]int64{"timeout 0": 0, "timeout 1 h": int64(time.Hour), "the longest timeout": math.MaxInt64} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := e.NewWorld(t, Setting{Run: true, Fit: true, Args: "maxPermitWaitSeconds: 3", Objects: objects(node("n1", "a", 9))})
			policy := w.Load(binding(t, "ten", fmt.Sprintf("{permit: gang, size: 10, counts: true, timeout: %d}", timeout), ""))
			one := map[v1.ResourceName]string{"cpu": "1"}
			var pods []*v1.Pod
			for i := range 10 {
				pods = append(pods, pod(fmt.Sprint("ten-", i)).Namespace("ten").Label("gang", "g").Req(one).Obj())
			}
			w.Create(pods...)
			// Events are limited, these counts aren't.
			count := func(of string, p *v1.Pod) float64 {
				return counter(t, bm.Count.WithLabelValues(policy, of+"_"+strings.ReplaceAll(p.Name, "-", "_")))
			}
			reserved := func(p *v1.Pod) float64 { return count("reserve", p) }
			unreserved := func(p *v1.Pod) float64 { return count("unreserve", p) }
			waiting := func() (n int) {
				for _, p := range pods {
					if w.waits(p) {
						n++
					}
				}
				return n
			}
			w.Eventually("nine wait", func() bool { return waiting() == 9 })
			begun := time.Now()
			// It needs all that the gang holds, goes first when there is room, and
			// doesn't make any.
			whole := pod("whole").Namespace("other").Priority(100).PreemptionPolicy(v1.PreemptNever).Req(map[v1.ResourceName]string{"cpu": "9"}).Obj()
			w.Create(whole)
			w.Eventually("the first is rejected", func() bool { return w.Events.has("ten-", policy+": not allowed within 3s") })
			if d := time.Since(begun); d > time.Minute {
				t.Errorf("want the host's cap to hold, got a wait of %s", d)
			}
			w.Bound(whole)
			w.Eventually("nobody waits", func() bool { return waiting() == 0 })
			w.Eventually("each is unreserved as often as it was reserved", func() bool {
				return !slices.ContainsFunc(pods, func(p *v1.Pod) bool { return reserved(p) != unreserved(p) })
			})
			total := 0.0
			for _, p := range pods {
				total += reserved(p)
			}
			if total < 9 {
				t.Errorf("want at least nine Reserves, got %v", total)
			}
			for _, p := range pods {
				if w.bindings(p.Name) != 0 {
					t.Errorf("want none of the gang bound, got %s", p.Name)
				}
			}
		})
	}
}

// testPermit has pods wait, and what ends the wait.
func testPermit(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{Run: true, Objects: objects(node("n1", "a", 64))})
	in := func(ns, name string, labels ...string) *st.PodWrapper {
		p := pod(name).Namespace(ns)
		for _, l := range labels {
			p.Label(l, "")
		}
		return p
	}
	config := func(tag string) string { return "{permit: wait, preBind: patch, tag: '" + tag + "'}" }
	t.Run("a gang", func(t *testing.T) {
		w.Load(binding(t, "gang", "{permit: gang, size: 3}", ""))
		var pods []*v1.Pod
		for i := range 3 {
			pods = append(pods, pod(fmt.Sprint("gang-", i)).Namespace("gang").Label("gang", "g").Obj())
		}
		w.Waiting(pods[:2]...)
		other := pod("gang-other").Namespace("gang").Label("gang", "other").Obj()
		w.Waiting(other)
		w.Create(pods[2])
		for _, p := range pods {
			w.Bound(p)
		}
		if !w.waits(other) {
			t.Error("want another gang's pod left waiting")
		}
		w.Delete(other)
		w.Eventually("a pod that is deleted while it waits is unreserved", func() bool { return w.toldOf(w.Named("gang"), other, "Unreserve") == 1 })
	})
	t.Run("allowed in the call that holds it", func(t *testing.T) {
		w.Load(binding(t, "at-once", "{permit: both}", ""))
		p := in("at-once", "at-once").Obj()
		w.Create(p)
		w.Bound(p)
	})
	t.Run("rejected by another pod", func(t *testing.T) {
		w.Load(binding(t, "reject", config("x"), ""))
		p := in("reject", "reject").Obj()
		w.Waiting(p)
		w.Create(in("reject", "closer", "closes").Obj())
		w.Pending(p, w.Named("reject")+": told to reject x")
	})
	t.Run("two policies", func(t *testing.T) {
		both := func(name, config string) Policy {
			p := binding(t, name, config, "")
			p.Fields = "grants: [{intent: event}, {intent: patch}, {intent: bind}]\nmatch: {namespaces: [two, " + name + "]}"
			return p
		}
		w.Load(both("two-a", config("a")), both("two-b", config("b")))
		p := in("two", "two").Obj()
		w.Waiting(p)
		opener := in("two-a", "opener-a", "opens").Obj()
		w.Create(opener)
		w.Bound(opener)
		if !w.waits(p) {
			t.Error("want it to wait for the second policy")
		}
		w.Create(in("two-b", "opener-b", "opens").Obj())
		w.Bound(p)
		if got := w.live(p).Labels["pre-bind"]; got != "b" {
			t.Errorf("want the later policy's patch to count, got %q", got)
		}
		w.Load(both("two-a", "{permit: wait, timeout: 1000000000, tag: c}"), both("two-b", "{permit: wait, timeout: 3600000000000, tag: c}"))
		p = in("two", "two-short").Obj()
		w.Create(p)
		w.Pending(p, w.Named("two-a")+": not allowed within 1s")
	})
	t.Run("a swap", func(t *testing.T) {
		name := w.Load(binding(t, "swap", config("1"), ""))
		p, q := in("swap", "swap-p").Obj(), in("swap", "swap-q").Obj()
		w.Waiting(p)
		w.Load(binding(t, "swap", config("2"), ""))
		if n := liveInstances(w, name); n != 2 {
			t.Errorf("want the old version alive while its pod waits, got %v instances", n)
		}
		if !w.waits(p) {
			t.Error("want the hold to outlive the swap")
		}
		w.Waiting(q)
		opener := in("swap", "swap-opener", "opens").Obj()
		w.Create(opener)
		for p, tag := range map[*v1.Pod]string{p: "1", q: "2", opener: "2"} {
			w.Bound(p)
			if got := w.live(p).Labels["pre-bind"]; got != tag {
				t.Errorf("%s: want the points after Permit on the version that the cycle began with, %s, got %q", p.Name, tag, got)
			}
		}
		w.Eventually("the old version is closed", func() bool { return liveInstances(w, name) == 1 })

		p = in("swap", "swap-r").Obj()
		w.Waiting(p)
		w.Load(binding(t, "swap", config("3"), ""))
		w.Create(in("swap", "swap-closer", "closes").Obj())
		w.Pending(p, name+": told to reject 3")
	})
	for name, end := range map[string]func(ns string){
		"deleted":   func(ns string) { w.Remove(ns) },
		"suspended": func(ns string) { w.Load(binding(t, ns, config("1"), "suspend: true")) },
		"for other pods": func(ns string) {
			p := binding(t, ns, config("1"), "")
			p.Fields = strings.Replace(p.Fields, "namespaces: ["+ns+"]", "namespaces: [elsewhere]", 1)
			w.Load(p)
		},
	} {
		t.Run("the policy is "+name, func(t *testing.T) {
			ns := map[string]string{"deleted": "gone", "suspended": "off", "for other pods": "others"}[name]
			w.Load(binding(t, ns, config("1"), ""))
			p := in(ns, "held-"+ns).Obj()
			w.Waiting(p)
			end(ns)
			w.Bound(p)
			if got := w.live(p).Labels["pre-bind"]; got != "1" {
				t.Errorf("want the cycle to end on its version, got %q", got)
			}
			w.Eventually("the version is closed", func() bool { return liveInstances(w, w.Named(ns)) <= 1 })
		})
	}
	t.Run("a state that is lost meanwhile", func(t *testing.T) {
		for ns, keeps := range map[string]bool{"lost": true, "none": false} {
			name := w.Load(binding(t, ns, fmt.Sprintf("{permit: wait, keeps: %t, at: Reserve}", keeps), ""))
			p := in(ns, "state-"+ns).Obj()
			w.Waiting(p)
			bad := in(ns, "bad-"+ns, "bad").Obj()
			w.Create(bad)
			w.Pending(bad, "told to panic")
			w.Delete(bad)
			opener := in(ns, "opener-"+ns, "opens").Obj()
			w.Create(opener)
			w.Bound(opener)
			if !keeps {
				w.Bound(p)
				continue
			}
			w.Pending(p, name, "lost_state: the cycle state died with its instance")
			w.Eventually("it is unreserved all the same", func() bool { return w.toldOf(name, p, "Unreserve") == 1 })
		}
	})
}
