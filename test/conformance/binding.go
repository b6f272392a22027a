// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	clienttesting "k8s.io/client-go/testing"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"

	bm "github.com/berth-scheduler/berth/host/metrics"
)

// binding is the guest binder as a policy for the pods of a namespace.
func binding(t testing.TB, name, config, fields string) Policy {
	return Policy{
		Name: name, Module: goGuest(t, binder), Config: config,
		Fields: "grants: [{intent: event}, {intent: patch}, {intent: bind}]\n" + fields + "\n" + inNamespace(name),
	}
}

// bindings counts how often a pod was bound, or tried to.
func (w *World) bindings(name string) (n int) {
	for _, a := range w.Client.Actions() {
		if c, ok := a.(clienttesting.CreateAction); ok && a.Matches("create", "pods") && a.GetSubresource() == "binding" && c.GetObject().(*v1.Binding).Name == name {
			n++
		}
	}
	return n
}

// live is a pod on the API server.
func (w *World) live(p *v1.Pod) *v1.Pod {
	w.Helper()
	got, err := w.Client.CoreV1().Pods(p.Namespace).Get(w.ctx, p.Name, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return got
}

// Delete deletes a pod on the API server.
func (w *World) Delete(p *v1.Pod) {
	w.Helper()
	if err := w.Client.CoreV1().Pods(p.Namespace).Delete(w.ctx, p.Name, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
}

// points are those at which a policy told of a pod, in their order.
func (w *World) points(policy string, p *v1.Pod) (points []string) {
	for line := range strings.Lines(w.Events.all()) {
		parts := strings.SplitN(strings.TrimSpace(line), ": ", 4)
		if len(parts) == 4 && parts[0] == p.Name && parts[2] == policy {
			points = append(points, parts[1])
		}
	}
	return points
}

// toldOf says how often a policy told of a pod at a point.
func (w *World) toldOf(policy string, p *v1.Pod, point string) (n int) {
	for _, x := range w.points(policy, p) {
		if x == point {
			n++
		}
	}
	return n
}

// testBinder is C9: what a policy's bind comes to. However it goes, a pod is
// bound once.
func testBinder(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{Run: true, Objects: objects(node("n1", "a", 64))})
	rows := []struct {
		name, config string
		cause        string // of the fault, "" for none
		by           string // the annotation of a pod that the policy binds
	}{
		{"traps", "{bind: skip, at: Bind}", "trap", ""},
		{"runs out of fuel", "{bind: skip, at: Bind, how: loop}", "fuel", ""},
		{"skips", "{bind: skip}", "", ""},
		{"traps after it asked to bind", "{bind: bind, at: Bind}", "trap", ""},
		{"runs out of fuel after it asked to bind", "{bind: bind, at: Bind, how: loop}", "fuel", ""},
		{"fails after it asked to bind", "{bind: bind, at: Bind, how: error}", "error", ""},
		{"binds", "{bind: bind, tag: me}", "", "me"},
		{"says yes and asks for nothing", "{bind: nothing}", "bad_result", ""},
		{"asks twice", "{bind: twice}", "bad_result", ""},
		{"asks and skips", "{bind: both}", "bad_result", ""},
	}
	var policies []Policy
	for i, r := range rows {
		policies = append(policies, binding(t, fmt.Sprint("bind-", i), r.config, "failurePolicy: Ignore"), binding(t, fmt.Sprint("bindfail-", i), r.config, "failurePolicy: Fail"))
	}
	w.Load(policies...)
	for i, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			p := pod(fmt.Sprint("bind-", i)).Namespace(fmt.Sprint("bind-", i)).Label("bad", "").Obj()
			w.Create(p)
			w.Bound(p)
			policy := w.Named(fmt.Sprint("bind-", i))
			w.Eventually("post_bind is told", func() bool { return w.toldOf(policy, p, "PostBind") == 1 })
			if n, by := w.bindings(p.Name), w.live(p).Annotations["bound-by"]; n != 1 || by != r.by {
				t.Errorf("want it bound once, annotated %q, got %d times, %q", r.by, n, by)
			}
			if n := w.toldOf(policy, p, "Unreserve"); n != 0 {
				t.Errorf("want no Unreserve of a bound pod, got %d", n)
			}
			if r.cause != "" && r.cause != "error" && w.faults(policy, "bind", r.cause) != 1 {
				t.Errorf("want the fault counted, got %v", w.faults(policy, "bind", r.cause))
			}
			if r.cause == "" {
				return
			}
			p = pod(fmt.Sprint("bindfail-", i)).Namespace(fmt.Sprint("bindfail-", i)).Label("bad", "").Obj()
			w.Create(p)
			words := map[string]string{"error": "told to fail"}[r.cause]
			w.Pending(p, w.Named(fmt.Sprint("bindfail-", i)), words)
			w.Delete(p)
			if w.bindings(p.Name) != 0 {
				t.Error("want a pod whose policy must not be ignored not bound")
			}
		})
	}
	t.Run("the API server refuses", func(t *testing.T) {
		w.Load(binding(t, "refused", "{bind: bind}", "failurePolicy: Ignore"))
		var refused atomic.Bool
		w.Client.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
			if b, ok := a.(clienttesting.CreateAction).GetObject().(*v1.Binding); ok && b.Name == "refused" && refused.CompareAndSwap(false, true) {
				return true, nil, errors.New("not now")
			}
			return false, nil, nil
		})
		p := pod("refused").Namespace("refused").Obj()
		w.Create(p)
		w.Pending(p, "not now")
		w.Bound(p)
		if n, by := w.bindings(p.Name), w.live(p).Annotations["bound-by"]; n != 2 || by != "1" {
			t.Errorf("want another attempt of the policy alone, got %d bindings, by %q", n, by)
		}
		if n := w.toldOf(w.Named("refused"), p, "Unreserve"); n != 1 {
			t.Errorf("want one Unreserve, got %d", n)
		}
	})
}

// testBinding has the points from Reserve on in their order, and what goes wrong
// at each.
func testBinding(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{Run: true, Objects: objects(node("n1", "a", 64))})
	order := func(t *testing.T, name string, p *v1.Pod, want ...string) {
		t.Helper()
		w.Eventually(fmt.Sprint("calls in order ", want), func() bool {
			return fmt.Sprint(w.points(w.Named(name), p)) == fmt.Sprint(want)
		})
	}
	t.Run("all", func(t *testing.T) {
		w.Load(binding(t, "all", "{preBind: patch, bind: bind, keeps: true, tag: x}", ""))
		p := pod("all").Namespace("all").Label("remove", "me").Label("keep", "me").Obj()
		w.Create(p)
		w.Bound(p)
		order(t, "all", p, "Reserve", "Permit", "PreBind", "Bind", "PostBind")
		got := w.live(p)
		if fmt.Sprint(got.Labels, got.Annotations) != "map[keep:me pre-bind:x] map[bound-by:x node:n1]" {
			t.Errorf("want what the policy patched, got labels %v, annotations %v", got.Labels, got.Annotations)
		}
		if n := counter(t, bm.Count.WithLabelValues(w.Named("all"), "calls")); n != 5 {
			t.Errorf("want the policy's own metric at 5, got %v", n)
		}
	})
	t.Run("no work before binding", func(t *testing.T) {
		w.Load(binding(t, "idle", "{preBind: patch, flight: skip}", ""))
		p := pod("idle").Namespace("idle").Obj()
		w.Create(p)
		w.Bound(p)
		order(t, "idle", p, "Reserve", "Permit", "Bind", "PostBind")
		if got := w.live(p).Labels; len(got) != 0 {
			t.Errorf("want it not patched, got %v", got)
		}
	})
	t.Run("the patch fails", func(t *testing.T) {
		w.Load(binding(t, "unpatched", "{preBind: patch}", "failurePolicy: Ignore"))
		var refused atomic.Bool
		w.Client.PrependReactor("patch", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
			if a.GetSubresource() == "" && a.GetNamespace() == "unpatched" && refused.CompareAndSwap(false, true) {
				return true, nil, errors.New("not now")
			}
			return false, nil, nil
		})
		p := pod("unpatched").Namespace("unpatched").Obj()
		w.Create(p)
		w.Pending(p, "patch pod: not now")
		w.Bound(p)
		order(t, "unpatched", p, "Reserve", "Permit", "PreBind", "Unreserve", "Reserve", "Permit", "PreBind", "Bind", "PostBind")
	})
	for point, row := range map[string]struct{ config, says string }{
		"reserve":                {"{reserve: reject}", "told to reject"},
		"reserve pending":        {"{reserve: pending}", "told to be pending"},
		"reserve unresolvable":   {"{reserve: unresolvable}", "told to reject for good"},
		"permit":                 {"{permit: reject}", "told to reject"},
		"permit pending":         {"{permit: pending}", "told to be pending"},
		"pre_bind":               {"{preBind: reject}", "told to reject"},
		"a timeout before today": {"{permit: wait, timeout: -1}", "permit: bad_result: timeout_ns: want 0 or more, got -1"},
	} {
		t.Run("refused at "+point, func(t *testing.T) {
			ns := "no-" + strings.NewReplacer(" ", "-", "_", "-").Replace(point)
			w.Load(binding(t, ns, row.config, ""))
			p := pod(ns).Namespace(ns).Obj()
			w.Create(p)
			w.Pending(p, w.Named(ns)+": "+row.says)
			w.Load(binding(t, ns, "{}", "")) // whom it rejected is tried again
			w.Bound(p)
			if r, u := w.toldOf(w.Named(ns), p, "Reserve"), w.toldOf(w.Named(ns), p, "Unreserve"); u < 1 || !strings.HasPrefix(row.config, "{permit: wait") && r != u+1 {
				t.Errorf("want an Unreserve for each Reserve but the last, got %d of %d", u, r)
			}
		})
	}
	points := []struct{ at, point, config string }{
		{"Reserve", "reserve", ""},
		{"Permit", "permit", ""},
		{"PreBindPreFlight", "pre_bind_pre_flight", ""},
		{"PreBind", "pre_bind", "preBind: patch, "},
		{"Bind", "bind", ""},
		{"Unreserve", "unreserve", "permit: reject, "},
		{"PostBind", "post_bind", ""},
	}
	for _, how := range []string{"panic", "error"} {
		for _, r := range points {
			told := r.at == "Unreserve" || r.at == "PostBind"
			if told && how == "error" {
				continue // they have no answer
			}
			t.Run(r.at+" "+how, func(t *testing.T) {
				ns := strings.ToLower(r.at) + "-" + how
				config := fmt.Sprintf("{%sat: %s, how: %s}", r.config, r.at, how)
				w.Load(binding(t, ns, config, "failurePolicy: Fail"), binding(t, "ignored-"+ns, config, "failurePolicy: Ignore"))
				p, q := pod(ns).Namespace(ns).Label("bad", "").Obj(), pod("ignored-"+ns).Namespace("ignored-"+ns).Label("bad", "").Obj()
				w.Create(p, q)
				switch {
				case r.at == "Unreserve":
					w.Pending(p, "told to reject")
					w.Pending(q, "told to reject")
				case r.at == "PostBind":
					w.Bound(p)
					w.Bound(q)
				case how == "panic":
					w.Pending(p, w.Named(ns), r.point+": trap", "told to panic")
					w.Bound(q)
				default:
					w.Pending(p, w.Named(ns)+": told to fail")
					w.Bound(q)
				}
				if told {
					w.Eventually("the fault is counted", func() bool {
						return w.faults(w.Named(ns), r.point, "trap") > 0 && w.faults(w.Named("ignored-"+ns), r.point, "trap") > 0
					})
				}
				if len(w.live(q).Labels) > 1 {
					t.Errorf("want nothing done that a failed call asked for, got labels %v", w.live(q).Labels)
				}
				w.Delete(p)
				if r.at == "Unreserve" {
					w.Delete(q)
					return
				}
				good := pod("good-" + ns).Namespace("ignored-" + ns).Obj()
				w.Create(good)
				w.Bound(good)
			})
		}
	}
}

// testReservedGang has pods of a group reserved, unreserved and reserved again:
// in the simulation and when it is committed.
func testReservedGang(t *testing.T, e Engine) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.GenericWorkload, true)
	w := e.NewWorld(t, Setting{Run: true, Gang: true, Objects: append(objects(node("n1", "a", 4)), gang("trio", 3))})
	name := w.Load(binding(t, "default", "{keeps: true}", ""))
	pods := members("trio", 3)
	w.Create(pods...)
	for _, p := range pods {
		w.Bound(p)
		w.Eventually("calls in order", func() bool {
			return fmt.Sprint(w.points(name, p)) == "[Reserve Unreserve Reserve Permit PreBind Bind PostBind]"
		})
	}
}
