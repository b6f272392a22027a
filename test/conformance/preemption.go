// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// testFirstCall is C1: a Filter with a memory of its own rejects a node the
// first time only, so that the dry run of preemption finds a node that fits
// without victims. It must end as with a Go plugin: nobody is evicted, and the
// scheduler lives.
func testFirstCall(t *testing.T, e Engine) {
	tw := chameleonTwin(t, "first", func(policy string) func(*v1.Pod, fwk.NodeInfo) *fwk.Status {
		var mu sync.Mutex
		seen := map[string]bool{}
		return func(_ *v1.Pod, ni fwk.NodeInfo) *fwk.Status {
			mu.Lock()
			defer mu.Unlock()
			if !seen[ni.Node().Name] {
				seen[ni.Node().Name] = true
				return fwk.NewStatus(fwk.Unschedulable, policy+": asked for the first time")
			}
			return nil
		}
	})
	compare(t, e, Setting{}, tw, func(w *World) any {
		w.AddNodes(node("n1", "a", 4))
		w.AddPods(pod("low").Node("n1").Priority(1).Obj())
		r := preempt(w, pod("high").Priority(10).Obj())
		if r.Node != "" || len(r.Victims) > 0 {
			w.Errorf("want nobody evicted and no node nominated, got node %q, victims %v", r.Node, r.Victims)
		}
		return r
	})
}

// testSkippedState is C2: AddPod and RemovePod of a policy that skipped, or
// that set no state, while another policy rejects the pod.
func testSkippedState(t *testing.T, e Engine) {
	cpu := func(n int) map[v1.ResourceName]string { return map[v1.ResourceName]string{"cpu": fmt.Sprint(n)} }
	// The victim has the room that the pod needs.
	stage := func(w *World) {
		w.AddNodes(node("n1", "a", 1))
		w.AddPods(pod("low").Node("n1").Priority(1).Label("group", "g").Req(cpu(1)).Obj())
	}
	preemptor := pod("p").Priority(10).Label("group", "g").Req(cpu(1)).Obj()
	untouched := func(t *testing.T, w *World, policy string, points ...string) {
		for _, p := range points {
			if n := w.calls(policy, p); n != 0 {
				t.Errorf("want no call of %s after Skip, got %v", p, n)
			}
		}
	}
	t.Run("one rejects, one skips", func(t *testing.T) {
		for _, at := range []string{"begin", "end"} {
			t.Run(at, func(t *testing.T) {
				tw := twin{
					Policy{Name: "a", Module: goGuest(t, nodesets), Config: "{answer: unschedulable}"},
					func(policy string) frameworkruntime.PluginFactory {
						return factory(&nativeRefusal{policy + ": told to reject"})
					},
				}
				compare(t, e, Setting{Fit: true}, tw, func(w *World) any {
					stage(w)
					b := ""
					if w.Host != nil {
						b = w.Load(Policy{Name: "b", Module: goGuest(t, stateful), Config: "{answer: skip, at: " + at + "}", Fields: "order: 200"})
					}
					r := preempt(w, preemptor.DeepCopy())
					if w.Host != nil {
						untouched(t, w, b, "add_pod", "remove_pod", "filter")
					}
					return r
				})
			})
		}
	})
	t.Run("all skip", func(t *testing.T) {
		w := e.NewWorld(t, Setting{Fit: true})
		stage(w)
		b := w.Load(Policy{Name: "b", Module: goGuest(t, stateful), Config: "{most: 0, answer: skip, at: end}"})
		r := preempt(w, preemptor.DeepCopy())
		if r.Node != "n1" || fmt.Sprint(r.Victims) != "[low]" {
			t.Errorf("want n1 freed as without the policy, got %+v", r)
		}
		untouched(t, w, b, "add_pod", "remove_pod", "filter")
	})
	t.Run("no state", func(t *testing.T) {
		w := e.NewWorld(t, Setting{Fit: true})
		stage(w)
		b := w.Load(Policy{Name: "b", Module: goGuest(t, stateful), Config: "{stray: true}"})
		w.Publish(preemptor.DeepCopy())
		a := w.Filter(preemptor.DeepCopy(), 0)
		if got := a.Nodes["n1"]; holds(got, "Error", b, "there is no cycle state") != nil {
			t.Errorf("want a status, got %q", got)
		}
		a.Preempt()
		for _, p := range []string{"pre_filter", "filter", "add_pod", "remove_pod"} {
			if n := w.faults(b, p, "trap"); n != 0 {
				t.Errorf("want no trap at %s, got %v", p, n)
			}
		}
		if len(w.evicted()) > 0 {
			t.Errorf("want nobody evicted, got %v", w.evicted())
		}
	})
	t.Run("rejected with state", func(t *testing.T) {
		tw := twin{
			Policy{Name: "b", Module: goGuest(t, stateful), Config: "{answer: unschedulable, at: end}"},
			func(policy string) frameworkruntime.PluginFactory {
				return factory(&nativeStateful{policy: policy, most: 1, refuse: true})
			},
		}
		compare(t, e, Setting{Fit: true}, tw, func(w *World) any {
			stage(w)
			return preempt(w, preemptor.DeepCopy())
		})
	})
	t.Run("rejected without state", func(t *testing.T) {
		// A policy that rejects the pod in PreFilter keeps it out of the dry run
		// too: it has no state to say anything else.
		w := e.NewWorld(t, Setting{Fit: true})
		stage(w)
		b := w.Load(Policy{Name: "b", Module: goGuest(t, stateful), Config: "{answer: unschedulable}"})
		r := preempt(w, preemptor.DeepCopy())
		if r.Node != "" || len(r.Victims) > 0 {
			t.Errorf("want nobody evicted, got %+v", r)
		}
		untouched(t, w, b, "add_pod", "remove_pod", "filter")
	})
}
