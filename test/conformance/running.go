// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	bm "github.com/berth-scheduler/berth/host/metrics"
)

// Create makes pods on the API server of a World that runs.
func (w *World) Create(pods ...*v1.Pod) {
	w.Helper()
	for _, p := range pods {
		if _, err := w.Client.CoreV1().Pods(p.Namespace).Create(w.ctx, p, metav1.CreateOptions{}); err != nil {
			w.Fatal(err)
		}
	}
}

// boundTo is the node of a pod on the API server, "" if it has none.
func (w *World) boundTo(namespace, name string) string {
	p, err := w.Client.CoreV1().Pods(namespace).Get(w.ctx, name, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return p.Spec.NodeName
}

// Bound waits until a pod has a node.
func (w *World) Bound(p *v1.Pod) string {
	w.Helper()
	node := ""
	w.Eventually("pod "+p.Name+" is bound", func() bool {
		node = w.boundTo(p.Namespace, p.Name)
		return node != ""
	})
	return node
}

// Pending waits for an event that says why a pod isn't scheduled.
func (w *World) Pending(p *v1.Pod, parts ...string) {
	w.Helper()
	w.Eventually("event of pod "+p.Name+" with "+strings.Join(parts, ", "), func() bool {
		return w.Events.has(p.Name+": FailedScheduling: ", parts...)
	})
}

// objects are nodes as the API server holds them.
func objects(nodes ...*v1.Node) (list []runtime.Object) {
	for _, n := range nodes {
		list = append(list, n)
	}
	return list
}

// relabel changes a node on the API server.
func (w *World) relabel(name, key, value string) {
	w.Helper()
	n, err := w.Client.CoreV1().Nodes().Get(w.ctx, name, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	n = n.DeepCopy()
	n.Labels[key] = value
	if _, err := w.Client.CoreV1().Nodes().Update(w.ctx, n, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// testRequeue is C7: a pod that a policy rejected is tried again when what helps
// it happens, not at the five-minute flush.
func testRequeue(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{Run: true, Objects: objects(node("n1", "a", 4), node("n2", "b", 4))})
	policy := func(name, config string) Policy {
		return Policy{Name: name, Module: goGuest(t, chameleon), Config: config, Fields: inNamespace(name)}
	}
	w.Load(policy("first", "{filter: needs, label: x}"), policy("second", "{filter: needs, label: x2}"),
		policy("third", "{filter: reject}"), policy("fourth", "{filter: reject}"), policy("fifth", "{filter: label, label: colour}"))
	t.Run("a pod that helps", func(t *testing.T) {
		a := pod("a1").Namespace("first").Obj()
		w.Create(a)
		w.Pending(a, w.Named("first")+": no pod with the label on the node")
		w.Create(pod("b1").Namespace("first").Label("x", "").Obj())
		w.Bound(a)
	})
	t.Run("its own label", func(t *testing.T) {
		a := pod("a2").Namespace("second").Obj()
		w.Create(a)
		w.Pending(a, w.Named("second"))
		a = a.DeepCopy()
		a.Labels = map[string]string{"x2": ""}
		a.ResourceVersion = "2" // the scheduler looks at it, the fake API server doesn't set it
		if _, err := w.Client.CoreV1().Pods(a.Namespace).Update(w.ctx, a, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.Bound(a)
	})
	t.Run("a swap", func(t *testing.T) {
		a := pod("a3").Namespace("third").Obj()
		w.Create(a)
		w.Pending(a, w.Named("third")+": told to reject")
		w.Load(policy("third", "{filter: accept}"))
		w.Bound(a)
	})
	t.Run("what narrowed the nodes", func(t *testing.T) {
		// One policy leaves n1 alone to the pod, another rejects it there. Only the
		// first is helped by a label of another node.
		w.Load(
			Policy{Name: "zone", Module: goGuest(t, stateful), Config: "{leaveIn: a}", Fields: inNamespace("sixth")},
			Policy{Name: "blind", Module: goGuest(t, chameleonBlind), Config: "{filter: reject, only: n1}", Fields: inNamespace("sixth")},
		)
		a := pod("a6").Namespace("sixth").Obj()
		w.Create(a)
		w.Pending(a, w.Named("blind")+": told to reject")
		w.relabel("n2", v1.LabelTopologyZone, "a")
		if n := w.Bound(a); n != "n2" {
			t.Errorf("want it on n2, got %s", n)
		}
	})
	t.Run("the policy's end", func(t *testing.T) {
		a := pod("a4").Namespace("fourth").Obj()
		w.Create(a)
		w.Pending(a, w.Named("fourth")+": told to reject")
		w.Remove("fourth")
		w.Bound(a)
	})
	t.Run("a node's label", func(t *testing.T) {
		a := pod("a5").Namespace("fifth").Label("colour", "red").Obj()
		w.Create(a)
		w.Pending(a, w.Named("fifth")+": node and pod have different labels")
		w.relabel("n1", "colour", "red")
		w.Bound(a)
	})
}

// testFaultEvents is the running half of C4 and C5: the pod's event has the
// guest's words, the pod is tried again with back-off, and others are scheduled.
func testFaultEvents(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{Run: true, Objects: objects(node("n1", "a", 4), node("n2", "b", 4))})
	w.Load(
		Policy{Name: "panics", Module: goGuest(t, chameleon), Config: "{filter: panic, when: bad}", Fields: inNamespace("panics")},
		Policy{Name: "divides", Module: goGuest(t, chameleon), Config: "{score: divide, when: bad}", Fields: inNamespace("divides")},
	)
	one := map[v1.ResourceName]string{"cpu": "1"}
	for ns, words := range map[string]string{"panics": "filter: trap: unreachable (panic: told to panic)", "divides": "integer divide by zero"} {
		bad := pod("bad-"+ns).Namespace(ns).Label("bad", "").Req(map[v1.ResourceName]string{"cpu": "0"}).Obj()
		good := pod("good-" + ns).Namespace(ns).Req(one).Obj()
		w.Create(bad)
		w.Pending(bad, w.Named(ns), words)
		w.Create(good)
		w.Bound(good)
		w.Eventually("pod "+bad.Name+" is tried again", func() bool {
			return strings.Count(w.Events.all(), bad.Name+": FailedScheduling") > 1
		})
		if n := w.boundTo(ns, bad.Name); n != "" {
			t.Errorf("want pod %s pending, got it on %s", bad.Name, n)
		}
	}
}

// testStart has pods that are there before the first policies, and policies that
// can't be loaded (C12 at start): pods wait until each policy is decided on, and
// then follow what there is.
func testStart(t *testing.T, e Engine) {
	n1, n2 := node("n1", "a", 4), node("n2", "b", 4)
	n1.Labels["pool"], n2.Labels["pool"] = "red", "blue"
	red := pod("red").Namespace("good").Label("pool", "red").Obj()
	blue := pod("blue").Namespace("good").Label("pool", "blue").Obj()
	strict, lenient, free := pod("strict").Namespace("strict").Obj(), pod("lenient").Namespace("lenient").Obj(), pod("free").Namespace("free").Obj()
	unloaded := pod("unloaded").Namespace("unloaded").Obj()
	label := func(name string, module []byte, fields string) Policy {
		return Policy{Name: name, Module: module, Config: "{filter: label, label: pool}", Fields: fields + "\n" + inNamespace(name)}
	}
	module := goGuest(t, chameleon)
	w := e.NewWorld(t, Setting{
		Run:     true,
		Objects: append(objects(n1, n2), red, blue, strict, lenient, unloaded, free),
		First: []Policy{
			label("good", module, ""),
			label("strict", module[:len(module)/2], ""),
			label("lenient", module[:len(module)/2], "failurePolicy: Ignore"),
			label("unloaded", module[:len(module)/2], "failurePolicies: {load: Ignore}"),
		},
	})
	if w.Bound(red) != "n1" || w.Bound(blue) != "n2" {
		t.Errorf("want pods of the good policy where it says, got red on %s, blue on %s", w.Bound(red), w.Bound(blue))
	}
	w.Bound(lenient)
	w.Bound(unloaded)
	w.Bound(free)
	w.Pending(strict, w.Named("strict")+": no version can run")
	if n := gauge(t, bm.Waiting.WithLabelValues()); n != 0 {
		t.Errorf("want no pod held any more, got %v", n)
	}
	for _, name := range []string{"strict", "lenient"} {
		if got := w.failure(name); !strings.HasPrefix(got, "Failed: ") {
			t.Errorf("want %s reported as Failed, got %s", name, got)
		}
	}
	fixed := label("strict", module, "")
	fixed.Config = "{filter: accept}"
	w.Load(fixed)
	w.Bound(strict)
}

// testEviction is a preemption to its end: the victim is evicted, and the pod
// takes its place without waiting for the five-minute flush.
func testEviction(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{Run: true, Objects: objects(node("a1", "a", 4), node("b1", "b", 4))})
	w.Load(Policy{Name: "quota", Module: goGuest(t, stateful), Config: "{most: 1}"})
	low, peer := pod("low").Label("group", "g").Priority(1).Obj(), pod("peer").Label("group", "g").Priority(10).Obj()
	w.Create(low, peer)
	was := w.Bound(low)
	w.Bound(peer)
	high := pod("high").Label("group", "g").Priority(10).Obj()
	w.Create(high)
	if n := w.Bound(high); n != was {
		t.Errorf("want it in the place of its victim on %s, got %s", was, n)
	}
	if got := w.evicted(); got.Len() != 1 || !got.Has("low") {
		t.Errorf("want low evicted, got %v", got)
	}
}

// testRunningSwap swaps the policy of a running scheduler while pods arrive:
// each is bound once, where the old or the new version wants it.
func testRunningSwap(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{Run: true, Objects: objects(node("n1", "a", 64), node("n2", "b", 64), node("n3", "c", 64))})
	policy := func(only string) Policy {
		return Policy{Name: "swap", Module: goGuest(t, chameleon), Config: "{filter: reject, only: " + only + "}"}
	}
	// n3 is never allowed.
	name := w.Load(Policy{Name: "never", Module: goGuest(t, chameleon), Config: "{filter: reject, only: n3}"}, policy("n1"))
	var pods []*v1.Pod
	for i := range 6 {
		name := w.Load(policy([]string{"n2", "n1"}[i%2]))
		for j := range 10 {
			p := pod(fmt.Sprintf("p-%d-%d", i, j)).Obj()
			pods = append(pods, p)
			w.Create(p)
		}
		last := pods[len(pods)-1]
		if n, want := w.Bound(last), []string{"n1", "n2"}[i%2]; n != want {
			t.Errorf("swap %d: want the pod that came after it on %s, got %s", i, want, n)
		}
		if n := liveInstances(w, name); n > 2 {
			t.Errorf("swap %d: want at most two versions alive, got %v", i, n)
		}
	}
	for _, p := range pods {
		if n := w.Bound(p); n == "n3" {
			t.Errorf("pod %s is on n3, which no version allows", p.Name)
		}
	}
	bound := map[string]int{}
	for _, a := range w.Client.Actions() {
		if c, ok := a.(clienttesting.CreateAction); ok && a.Matches("create", "pods") && a.GetSubresource() == "binding" {
			bound[c.GetObject().(*v1.Binding).Name]++
		}
	}
	for name, n := range bound {
		if n != 1 {
			t.Errorf("pod %s was bound %d times", name, n)
		}
	}
	if len(bound) != len(pods) {
		t.Errorf("want %d pods bound, got %d", len(pods), len(bound))
	}
	if n := liveInstances(w, name); n != 1 {
		t.Errorf("want one instance of the other policy, got %v", n)
	}
}
