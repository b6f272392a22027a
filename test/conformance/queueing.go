// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// setLabels changes a pod's labels on the API server.
func (w *World) setLabels(p *v1.Pod, labels map[string]string) {
	w.Helper()
	changed := w.live(p).DeepCopy()
	changed.Labels = labels
	changed.ResourceVersion += "2" // the scheduler looks at it, the fake API server doesn't set it
	if _, err := w.Client.CoreV1().Pods(p.Namespace).Update(w.ctx, changed, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// testQueueing gates pods, and tries them again when the policy says that an
// event helps.
func testQueueing(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{Run: true, Objects: objects(node("n1", "a", 64), node("n2", "a", 64))})
	policy := func(name, config, failure string) Policy {
		return Policy{Name: name, Module: goGuest(t, queueing), Config: config, Fields: "failurePolicy: " + failure + "\n" + inNamespace(name)}
	}
	asked := func(name, point string) float64 { return w.calls(w.Named(name), point) }
	w.relabel("n2", "open", "yes")

	t.Run("a gate", func(t *testing.T) {
		w.Load(policy("gate", "{gate: true}", "Fail"))
		a := pod("gate-a").Namespace("gate").Label("gated", "").Obj()
		b := pod("gate-b").Namespace("gate").Label("gated", "").Obj()
		w.Create(a, b, pod("gate-free").Namespace("gate").Obj())
		w.Bound(pod("gate-free").Namespace("gate").Obj())
		w.Eventually("the pods are gated", func() bool { return asked("gate", "pre_enqueue") >= 3 })
		w.setLabels(a, nil)
		w.Bound(a)
		if w.boundTo("gate", "gate-b") != "" {
			t.Error("want the other pod to wait, it has a node")
		}
		w.Load(policy("gate", "{gate: false}", "Fail")) // a swap frees it
		w.Bound(b)
	})
	t.Run("faults at the gate", func(t *testing.T) {
		for _, how := range []string{"panic", "error"} {
			ignore, fail := "ignore-"+how, "fail-"+how
			w.Load(policy(ignore, "{how: gate "+how+"}", "Ignore"), policy(fail, "{how: gate "+how+"}", "Fail"))
			i, f := pod(ignore).Namespace(ignore).Obj(), pod(fail).Namespace(fail).Obj()
			w.Create(f, i)
			w.Bound(i)
			w.Eventually("the gate is asked again", func() bool { return asked(fail, "pre_enqueue") >= 2 })
			if w.boundTo(fail, fail) != "" {
				t.Errorf("%s: want the pod gated, it has a node", how)
			}
			w.Load(policy(fail, "{}", "Fail"))
			w.Bound(f)
		}
	})
	t.Run("a hint", func(t *testing.T) {
		w.relabel("n2", "open", "no")
		w.Load(policy("hint", "{}", "Fail"))
		p := pod("hint").Namespace("hint").Obj()
		w.Create(p)
		w.Pending(p, w.Named("hint")+": the node isn't open")
		tried, hinted := asked("hint", "filter"), asked("hint", "queueing_hint")
		w.relabel("n1", "colour", "red")
		w.Eventually("the policy is asked about the event", func() bool { return asked("hint", "queueing_hint") > hinted })
		if got := asked("hint", "filter"); got != tried {
			t.Errorf("want no attempt for an event that doesn't help, got %v after %v", got, tried)
		}
		w.relabel("n1", "open", "yes")
		if got := w.Bound(p); got != "n1" {
			t.Errorf("want the pod on n1, got %s", got)
		}
	})
	t.Run("a fault of the hint", func(t *testing.T) {
		w.relabel("n1", "open", "no")
		w.Load(policy("trap", "{how: hint panic}", "Fail"))
		p := pod("trap").Namespace("trap").Obj()
		w.Create(p)
		w.Pending(p, w.Named("trap")+": the node isn't open")
		w.relabel("n1", "open", "yes")
		w.Bound(p) // a wake-up too many, rather than one too few
	})
}
