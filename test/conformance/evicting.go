// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

var podResource = v1.SchemeGroupVersion.WithResource("pods")

// lingering makes pods with a label terminate until they are let go.
func (w *World) lingering(label string) (letGo func(p *v1.Pod)) {
	w.Client.PrependReactor("delete", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		d := a.(clienttesting.DeleteAction)
		obj, err := w.Client.Tracker().Get(podResource, d.GetNamespace(), d.GetName())
		if err != nil {
			return true, nil, err
		}
		p := obj.(*v1.Pod).DeepCopy()
		if _, ok := p.Labels[label]; !ok {
			return false, nil, nil
		}
		now := metav1.Now()
		p.DeletionTimestamp = &now
		p.ResourceVersion = "2"
		return true, nil, w.Client.Tracker().Update(podResource, p, p.Namespace)
	})
	return func(p *v1.Pod) {
		w.Helper()
		if err := w.Client.Tracker().Delete(podResource, p.Namespace, p.Name); err != nil {
			w.Fatal(err)
		}
	}
}

// deletions is the number of times that pods were deleted.
func (w *World) deletions() (n int) {
	for _, a := range w.Client.Actions() {
		if a.Matches("delete", "pods") {
			n++
		}
	}
	return n
}

// testRunningPostFilter has policies make room in a running scheduler.
func testRunningPostFilter(t *testing.T, e Engine) {
	t.Run("victims on two nodes", func(t *testing.T) { victimsOnTwoNodes(t, e) })
	t.Run("an eviction fails", func(t *testing.T) {
		w := e.NewWorld(t, Setting{Run: true, Fit: true, Objects: objects(node("n1", "a", 1))})
		w.Load(room(t, "room", "{how: all, node: n1}", "match: {podSelector: {matchLabels: {high: ''}}}"))
		low := pod("low").Priority(1).Req(cpus(1)).Obj()
		w.Create(low)
		w.Bound(low)
		fails := 1
		w.Client.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			fails--
			return fails >= 0, nil, errors.New("the API server is ill")
		})
		high := pod("high").Priority(10).Label("high", "").Req(cpus(1)).Obj()
		w.Create(high)
		w.Bound(high)
		if n := w.deletions(); n != 2 {
			t.Errorf("want the eviction tried once more, got %d tries", n)
		}
		if !w.Events.has("high: PreemptionFailed: ", "evict pod default/low: the API server is ill") {
			t.Errorf("want an event, got\n%s", w.Events.all())
		}
	})
	t.Run("a victim that waits in Permit", func(t *testing.T) {
		w := e.NewWorld(t, Setting{Run: true, Fit: true, Objects: objects(node("n1", "a", 1))})
		w.Load(room(t, "room", "{how: all, node: n1}", ""))
		low := pod("low").Priority(1).Label("hold", "").Req(cpus(1)).Obj()
		w.Create(low)
		w.Eventually("low waits", func() bool { return w.framework(low).GetWaitingPod(low.UID) != nil })
		high := pod("high").Priority(10).Req(cpus(1)).Obj()
		w.Create(high)
		w.Bound(high)
		if n := w.deletions(); n != 0 || w.boundTo(low.Namespace, low.Name) != "" {
			t.Errorf("want low kept and without a node, got %d deletions, node %q", n, w.boundTo(low.Namespace, low.Name))
		}
		if _, err := w.Client.CoreV1().Pods("default").Get(w.ctx, "low", metav1.GetOptions{}); err != nil {
			t.Errorf("want low to wait for its turn: %v", err)
		}
		if !w.Events.has("low: Preempted: ", "it was waiting to be bound") {
			t.Errorf("want an event, got\n%s", w.Events.all())
		}
	})
}

// victimsOnTwoNodes is a preemption whose victims end one after the other. Until
// the last has, the preemptor is held, whatever else happens, and evicts nobody
// else. Its nomination keeps one node for it: what is freed on the other goes to
// whoever comes.
func victimsOnTwoNodes(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{Run: true, Fit: true, Objects: objects(node("a1", "a", 4), node("a2", "a", 4))})
	quota := func(config string) Policy { return Policy{Name: "quota", Module: goGuest(t, stateful), Config: config} }
	w.Load(quota("{most: 2}"), room(t, "room", "{how: together, node: a1}", ""))
	letGo := w.lingering("slow")
	member := func(name string) *v1.Pod {
		return pod(name).Priority(1).Label("group", "g").Label(name, "").Req(cpus(4)).Obj()
	}
	one, two := member("one"), member("two")
	w.Create(one, two)
	on := map[string]*v1.Pod{w.Bound(one): one, w.Bound(two): two}
	slow, fast := on["a1"], on["a2"]
	if slow == nil || fast == nil {
		t.Fatalf("want one on each node, got %v", on)
	}
	marked, err := w.Client.CoreV1().Pods("default").Get(w.ctx, slow.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	marked = marked.DeepCopy()
	marked.Labels["slow"] = ""
	if _, err := w.Client.CoreV1().Pods("default").Update(w.ctx, marked, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.Load(quota("{most: 1}")) // both must go, for the zone
	high := pod("high").Priority(10).Label("group", "g").Req(cpus(4)).Obj()
	w.Create(high)
	w.Eventually("high is held for the slow one", func() bool {
		return w.plugin().PreEnqueue(w.ctx, high).Message() == w.Named("room")+": waiting for 1 victims to end"
	})
	small := pod("small").Priority(0).Req(cpus(1)).Obj()
	w.Create(small)
	if n := w.Bound(small); n != "a2" {
		t.Errorf("want the small pod where room is free and not reserved, got it on %s", n)
	}
	w.relabel("a1", "unrelated", "change")
	w.relabel("a2", "unrelated", "change")
	bystander := pod("bystander").Priority(0).Req(cpus(1)).Obj()
	w.Create(bystander)
	w.Bound(bystander)
	if n := w.boundTo("default", "high"); n != "" || w.deletions() != 2 {
		t.Errorf("want high without a node and two evictions, got it on %q and %d", n, w.deletions())
	}
	if got := strings.Count(w.Events.all(), ": Preempted: "); got != 2 {
		t.Errorf("want two events, got %d in\n%s", got, w.Events.all())
	}
	letGo(slow)
	if n := w.Bound(high); n != "a1" {
		t.Errorf("want it on its nominated node, got %s", n)
	}
	if n := w.deletions(); n != 2 {
		t.Errorf("want no second preemption, got %d evictions", n)
	}
}
