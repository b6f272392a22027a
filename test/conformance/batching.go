// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/berth-scheduler/berth/host"
)

// testBatching checks signatures, and raw scores of earlier cycles.
func testBatching(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{})
	w.AddNodes(node("n1", "a", 4), node("n2", "b", 4), node("n3", "c", 8))
	w.Load(
		Policy{Name: "pure", Module: goGuest(t, chameleonPure), Config: "{score: free}", Fields: inNamespace("pure")},
		Policy{Name: "impure", Module: goGuest(t, chameleon), Fields: inNamespace("impure")},
		Policy{Name: "stateful", Module: goGuest(t, stateful), Fields: inNamespace("stateful")},
		Policy{Name: "suspended", Module: goGuest(t, stateful), Fields: "suspend: true\n" + inNamespace("suspended")},
	)
	sign := func(p *st.PodWrapper) fwk.PodSignature { return w.framework(p.Obj()).SignPod(w.ctx, p.Obj()) }
	base := func(name string) *st.PodWrapper {
		return pod(name).Namespace("pure").Label("app", "web").Req(map[v1.ResourceName]string{"cpu": "1"})
	}
	t.Run("signatures", func(t *testing.T) {
		want := sign(base("a"))
		if want == nil {
			t.Fatal("want a pod of a pure policy signed")
		}
		for name, c := range map[string]struct {
			pod   *st.PodWrapper
			equal bool
		}{
			"another name and UID": {base("b").UID("other").CreationTimestamp(metav1.Now()), true},
			"assigned":             {base("a").Node("n1"), true},
			"status":               {base("a").StartTime(metav1.Now()), true},
			"a label":              {base("a").Label("tier", "x"), false},
			"a label's value":      {base("a").Label("app", "db"), false},
			"an annotation":        {base("a").Annotation("note", "x"), false},
			"a request":            {base("a").Req(map[v1.ResourceName]string{"cpu": "2"}), false},
			"priority":             {base("a").Priority(7), false},
			"namespace":            {base("a").Namespace("elsewhere"), false},
		} {
			if got := sign(c.pod); bytes.Equal(got, want) != c.equal {
				t.Errorf("%s: want equal %t, got %s and %s", name, c.equal, want, got)
			}
		}
		for ns, signed := range map[string]bool{"impure": false, "stateful": false, "suspended": true, "unmatched": true} {
			if got := sign(pod("a").Namespace(ns)); (got != nil) != signed {
				t.Errorf("%s: want signed %t, got %q", ns, signed, got)
			}
		}
	})
	t.Run("scores of an earlier cycle", func(t *testing.T) {
		want := w.Evaluate(base("p0").Obj())
		// As in a batch: cached raw scores of n1 and n2, a fresh one of n3.
		first, second := w.Filter(base("p1").Obj(), 0), w.Filter(base("p2").Obj(), 0)
		var scores []fwk.NodePluginScores
		for _, a := range []*Attempt{first, second} {
			if s := a.fw.RunPreScorePlugins(w.ctx, a.State, a.Pod, a.feasible); !s.IsSuccess() {
				t.Fatal(describe(s))
			}
			for _, ni := range a.feasible {
				if (ni.Node().Name == "n3") == (a == first) {
					continue
				}
				raw, s := a.fw.RunRawScorePlugins(w.ctx, a.State, a.Pod, ni)
				if !s.IsSuccess() {
					t.Fatal(describe(s))
				}
				scores = append(scores, fwk.NodePluginScores{Name: ni.Node().Name, RawScores: raw})
			}
		}
		for range 2 { // it is pure
			if s := second.fw.NormalizeScores(w.ctx, second.State, second.Pod, scores); !s.IsSuccess() {
				t.Fatal(describe(s))
			}
			got := map[string]int64{}
			for _, s := range scores {
				got[s.Name] = s.Scores[0].Score
			}
			if diff := cmp.Diff(want.Scores, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		}
		scores[0].RawScores = []fwk.PluginScore{{Name: host.Name, Score: 1 << 40}}
		if s := second.fw.NormalizeScores(w.ctx, second.State, second.Pod, scores); s.Code() != fwk.Error {
			t.Errorf("want a raw score that nobody knows to be an error, got %q", describe(s))
		}
	})
	t.Run("scores of another version", func(t *testing.T) {
		old := w.Filter(base("p3").Obj(), 0)
		old.fw.RunPreScorePlugins(w.ctx, old.State, old.Pod, old.feasible)
		raw, s := old.fw.RunRawScorePlugins(w.ctx, old.State, old.Pod, old.feasible[0])
		if !s.IsSuccess() {
			t.Fatal(describe(s))
		}
		w.Load(Policy{Name: "pure", Module: goGuest(t, chameleonPure), Config: "{score: value, value: 5}", Fields: inNamespace("pure")})
		fresh := w.Filter(base("p4").Obj(), 0)
		fresh.fw.RunPreScorePlugins(w.ctx, fresh.State, fresh.Pod, fresh.feasible)
		mixed := []fwk.NodePluginScores{{Name: old.feasible[0].Node().Name, RawScores: raw}}
		if s := fresh.fw.NormalizeScores(w.ctx, fresh.State, fresh.Pod, mixed); s.Code() != fwk.Error {
			t.Errorf("want versions not mixed, got %q with %v", describe(s), mixed)
		}
	})
}

// testBatch schedules equal pods that fill a node each, which the scheduler does
// in batches if it is quick enough: they must go where the policy's scores say.
func testBatch(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{Run: true, Fit: true, Objects: objects(node("n1", "a", 1), node("n2", "b", 1), node("n3", "c", 1), node("n4", "a", 1), node("n5", "a", 1))})
	w.Load(Policy{Name: "pure", Module: goGuest(t, chameleonPure), Config: "{values: {n1: 10, n2: 50, n3: 90, n4: 70, n5: 30}}"})
	var got []string
	for _, name := range []string{"p1", "p2", "p3", "p4", "p5"} {
		p := pod(name).Req(map[v1.ResourceName]string{"cpu": "1"}).Obj()
		w.Create(p)
		got = append(got, w.Bound(p))
	}
	if diff := cmp.Diff([]string{"n3", "n4", "n2", "n5", "n1"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if b, ok := w.Scheduler.Profiles[profile].(interface{ TotalBatchedPods() int64 }); ok {
		t.Logf("%d pods were scheduled in batches", b.TotalBatchedPods())
	}
}
