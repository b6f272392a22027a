// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bm "github.com/berth-scheduler/berth/host/metrics"
)

func guestMemory(w *World, policy string) float64 {
	return gauge(w, bm.GuestMemory.WithLabelValues(policy))
}

func liveInstances(w *World, policy string) float64 {
	return gauge(w, bm.LiveInstances.WithLabelValues(policy))
}

// testViews checks that a policy's copies of nodes are updated only by what
// changed and only for nodes that are looked at.
func testViews(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{})
	const nodes = 40
	for i := range nodes {
		w.AddNodes(node(fmt.Sprintf("n%02d", i), "a", 4))
	}
	name := w.Load(
		Policy{Name: "all", Module: goGuest(t, chameleon), Config: "{filter: label, label: none}", Fields: inNamespace("all")},
		Policy{Name: "few", Module: goGuest(t, chameleon), Config: "{filter: label, label: none}", Fields: "order: 200\n" + inNamespace("few")},
		Policy{Name: "narrow", Module: goGuest(t, nodesets), Config: "{nodes: [n03, n04, n30]}", Fields: inNamespace("few")},
	)
	count := func(policy string) (encoded, bytes float64) {
		return counter(t, bm.ViewsEncoded.WithLabelValues(policy)), counter(t, bm.ViewBytes.WithLabelValues(policy))
	}
	cycles := 0
	step := func(what string, wantEncoded, wantCopied int, change func()) {
		t.Helper()
		change()
		encoded, bytes := count(name)
		cycles++
		a := w.Evaluate(pod(fmt.Sprint("p", cycles)).Namespace("all").Obj())
		for n, s := range a.Nodes {
			if s != "" {
				t.Fatalf("%s: node %s: %s", what, n, s)
			}
		}
		encodedNow, bytesNow := count(name)
		if got := int(encodedNow - encoded); got != wantEncoded {
			t.Errorf("%s: want %d views changed, got %d", what, wantEncoded, got)
		}
		size := bytes / nodes // of one view, after the first step
		if got := bytesNow - bytes; wantCopied == 0 && got != 0 || wantCopied > 0 && bytes > 0 && (got < size*float64(wantCopied)*0.5 || got > size*float64(wantCopied)*4) {
			t.Errorf("%s: want %d views copied, got %.0f bytes where one has about %.0f", what, wantCopied, got, size)
		}
	}
	step("first cycle", nodes, nodes, func() {})
	step("nothing changed", 0, 0, func() {})
	n05 := node("n05", "a", 4)
	labelled := n05.DeepCopy()
	labelled.Labels["colour"] = "red"
	step("a label", 1, 1, func() { w.UpdateNode(n05, labelled) })
	beating := labelled.DeepCopy()
	beating.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, LastHeartbeatTime: metav1.Now()}}
	step("a heartbeat, of a section that isn't read", 0, 0, func() { w.UpdateNode(labelled, beating) })
	extra := pod("extra").Node("n07").Req(map[v1.ResourceName]string{"cpu": "1"}).Obj()
	step("a pod more", 1, 1, func() { w.AddPods(extra) })
	step("a pod less", 1, 1, func() { w.RemovePod(extra) })
	step("a node less", 0, 0, func() { w.RemoveNode(node("n08", "a", 4)) })
	step("a node more", 1, 1, func() { w.AddNodes(node("n99", "a", 4)) })

	t.Run("nodes that are looked at", func(t *testing.T) {
		a := w.Evaluate(pod("q").Namespace("few").Obj())
		if len(a.Nodes) != 3 {
			t.Fatalf("want three nodes looked at, got %v", a.Nodes)
		}
		if encoded, _ := count(w.Named("few")); encoded != 3 {
			t.Errorf("want the views of these three made, got %.0f", encoded)
		}
		if encoded, _ := count(w.Named("narrow")); encoded != 0 {
			t.Errorf("want no view made for a policy that looks at none, got %.0f", encoded)
		}
	})
	t.Run("verdicts of a cycle", func(t *testing.T) {
		// Each node is evaluated once, whatever the number of questions.
		before := counter(t, bm.Verdicts.WithLabelValues(name, "filter", "success"))
		w.Evaluate(pod("r").Namespace("all").Obj())
		if got := counter(t, bm.Verdicts.WithLabelValues(name, "filter", "success")) - before; got != nodes {
			t.Errorf("want %d verdicts, got %.0f", nodes, got)
		}
		calls := w.calls(name, "filter")
		w.Evaluate(pod("s").Namespace("all").Obj())
		if got := w.calls(name, "filter") - calls; got > 12 {
			t.Errorf("want growing chunks, got %.0f calls for %d nodes", got, nodes)
		}
	})
}
