// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"errors"
	"sync/atomic"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// policyNamespace is where ConfigMaps are policies.
const policyNamespace = "berth-policies"

// configMap is a policy as an operator applies it.
func configMap(name, uid, config string, module []byte) *v1.ConfigMap {
	return &v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: policyNamespace, Name: name, UID: types.UID(uid), Labels: map[string]string{"berth.dev/policy": ""}},
		Data:       map[string]string{"policy.yaml": "apiVersion: berth.dev/v1alpha1\nkind: Policy\nconfig: " + config + "\n"},
		BinaryData: map[string][]byte{"policy.wasm": module},
	}
}

// hide makes the policies unreadable until the returned function is called.
func hide(client *fake.Clientset) (show func()) {
	var shown atomic.Bool
	refused := errors.New("not yet")
	hidden := func(a clienttesting.Action) bool { return a.GetNamespace() == policyNamespace && !shown.Load() }
	client.PrependReactor("list", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return hidden(a), nil, refused
	})
	client.PrependWatchReactor("configmaps", func(a clienttesting.Action) (bool, watch.Interface, error) {
		return hidden(a), nil, refused
	})
	return func() { shown.Store(true) }
}

// testGate has ConfigMaps that can't be listed at start: pods are held until
// they are listed and loaded, or until the deadline.
func testGate(t *testing.T, e Engine) {
	const reason = "UnschedulableAndUnresolvable: waiting for the first list of policies"
	t.Run("list", func(t *testing.T) {
		client := NewClient(configMap("gate-list", "1", "{filter: reject}", goGuest(t, chameleon)))
		show := hide(client)
		w := e.NewWorld(t, Setting{Client: client, Args: "policyNamespace: " + policyNamespace})
		w.AddNodes(node("n1", "a", 4))
		p := pod("p").Obj()
		if got := describe(w.plugin().PreEnqueue(w.ctx, p)); got != reason {
			t.Errorf("want the pod held, got %q", got)
		}
		w.Scheduler.SchedulingQueue.Add(w.ctx, p)
		if n := len(w.Scheduler.SchedulingQueue.PodsInActiveQ()); n != 0 {
			t.Errorf("want no pod ready, got %d", n)
		}
		show()
		w.Eventually("the pod is ready", func() bool { return len(w.Scheduler.SchedulingQueue.PodsInActiveQ()) == 1 })
		if got := w.Filter(p, 0).Nodes["n1"]; got != "Unschedulable: gate-list: told to reject" {
			t.Errorf("want the policy in force when the gate opens, got %q", got)
		}
	})
	t.Run("deadline", func(t *testing.T) {
		client := NewClient()
		hide(client)
		w := e.NewWorld(t, Setting{Client: client, Args: "policyNamespace: " + policyNamespace + "\nstartDeadlineSeconds: 1"})
		if got := describe(w.plugin().PreEnqueue(w.ctx, pod("p").Obj())); got != reason {
			t.Errorf("want the pod held, got %q", got)
		}
		w.Eventually("the gate opens", w.gateOpen)
	})
}

// testRestart updates a policy to something that can't be used and starts the
// scheduler anew: the last good version decides. Once its source is deleted,
// while no scheduler runs, it doesn't.
func testRestart(t *testing.T, e Engine) {
	module := goGuest(t, chameleon)
	client := NewClient(configMap("restart", "1", "{filter: reject}", module))
	maps := client.CoreV1().ConfigMaps(policyNamespace)
	start := func(t *testing.T) (*World, string) {
		w := e.NewWorld(t, Setting{Client: client, Args: "policyNamespace: " + policyNamespace})
		w.AddNodes(node("n1", "a", 4))
		w.Eventually("the gate opens", w.gateOpen)
		a := w.Filter(pod("p").Obj(), 0)
		return w, a.PreFilter + a.Nodes["n1"]
	}
	const rejected = "Unschedulable: restart: told to reject"
	copies := func(w *World) int {
		list, err := client.CoreV1().ConfigMaps(stateNamespace).List(w.ctx, metav1.ListOptions{})
		if err != nil {
			return -1
		}
		n := 0
		for _, cm := range list.Items {
			if cm.Name != "berth-status" {
				n++
			}
		}
		return n
	}
	t.Run("good", func(t *testing.T) {
		w, got := start(t)
		if got != rejected {
			t.Errorf("want the policy in force, got %q", got)
		}
		w.Eventually("a copy is kept", func() bool { return copies(w) == 1 })
		if _, err := maps.Update(w.ctx, configMap("restart", "1", "{filter: accept}", module[:1000]), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.Eventually("it is reported", func() bool {
			return holds(w.Status("restart"), "stays in force") == nil && w.Events.has("restart: ", "stays in force")
		})
		if got := w.Filter(pod("p").Obj(), 0).Nodes["n1"]; got != rejected {
			t.Errorf("want the last good version in force, got %q", got)
		}
	})
	t.Run("restarted", func(t *testing.T) {
		w, got := start(t)
		if got != rejected {
			t.Errorf("want the last good version in force, got %q", got)
		}
		w.Eventually("it is reported", func() bool { return holds(w.Status("restart"), "stays in force") == nil })
		if err := maps.Delete(w.ctx, "restart", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.Eventually("it has no say", func() bool { return w.Filter(pod("p").Obj(), 0).Nodes["n1"] == "" })
		if err := client.Tracker().Add(configMap("restart", "2", "{filter: accept}", module[:1000])); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("deleted and made again", func(t *testing.T) {
		w, got := start(t)
		if holds(got, "restart: no version can run") != nil {
			t.Errorf("want the copy of the deleted policy not used, got %q", got)
		}
		w.Eventually("the copy is gone", func() bool { return copies(w) == 0 })
	})
}
