// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/berth-scheduler/berth/host"
	bm "github.com/berth-scheduler/berth/host/metrics"
)

// testGroupPreemption has policies that make room for pod groups.
func testGroupPreemption(t *testing.T, e Engine) {
	gates(t, features.GenericWorkload, features.TopologyAwareWorkloadScheduling)
	t.Run("running", func(t *testing.T) { groupPreemptionRunning(t, e) })
	t.Run("results", func(t *testing.T) { groupPreemptionResults(t, e) })
}

// groupPreemptionRunning has a gang that fits only in the place of others: the
// policy asks which the fewest are, as DefaultPreemption does, and the gang is
// bound when they are gone.
func groupPreemptionRunning(t *testing.T, e Engine) {
	cpu := map[v1.ResourceName]string{"cpu": "2"}
	there := func(name, node string, priority int32) *v1.Pod {
		return pod(name).Node(node).Priority(priority).Req(cpu).Obj()
	}
	pg := st.MakePodGroup().Namespace("default").Name("high").UID("high").MinCount(2).Priority(10).Obj()
	pg.Labels = map[string]string{"do": "preempt"}
	setting := Setting{Run: true, Gang: true, Fit: true, Generator: host.PlacementName, Objects: append(objects(node("a1", "a", 4), node("a2", "a", 4)), pg,
		there("low-1", "a1", 1), there("mid-1", "a1", 2), there("low-2", "a2", 1), there("peer", "a2", 10))}
	compare(t, e, setting, placerTwin(t, true), func(w *World) any {
		pods := members("high", 2)
		for _, p := range pods {
			p.Spec.Containers = pod("").Req(cpu).Obj().Spec.Containers
			p.Spec.Priority = pg.Spec.Priority
		}
		w.Create(pods...)
		in := map[string]int{}
		for _, p := range pods {
			in[w.Bound(p)]++
		}
		if w.Host != nil {
			if n := counter(w, bm.Evictions.WithLabelValues(w.Named("twin"), "evicted")); n != 2 {
				w.Errorf("want two pods evicted by the policy and none by another plugin, got %v by the policy", n)
			}
		}
		return fmt.Sprint("victims: ", sets.List(w.evicted()), ", pods by node: ", in)
	})
}

// groupPreemptionResults has what pod_group_post_filter may answer, good or bad,
// with both failure policies.
func groupPreemptionResults(t *testing.T, e Engine) {
	rows := []struct{ do, want, point, cause string }{
		{"", "Unschedulable: POLICY: told not to preempt", "", ""},
		{"final", "UnschedulableAndUnresolvable: POLICY: told to reject for good", "", ""},
		{"error in preemption", "Error: POLICY: told to fail", "", ""},
		{"panic in preemption", "Error: POLICY: pod_group_post_filter: trap: unreachable (panic: told to panic)", "pod_group_post_filter", "trap"},
		{"nominate nowhere", `bad_result: nodes: pod "MEMBER": want a node of the cluster, got "nowhere"`, "pod_group_post_filter", "bad_result"},
		{"nominate a stranger", `bad_result: nodes: want UIDs of the group's pods, got "stranger"`, "pod_group_post_filter", "bad_result"},
		{"stranger as victim", `UnschedulableAndUnresolvable: POLICY: there is no pod "stranger" on node "a1"`, "", ""},
	}
	w := e.NewWorld(t, Setting{Gang: true})
	w.zoned()
	ns := func(do, failure string) string {
		return strings.ToLower(failure) + "-" + strings.ReplaceAll(do, " ", "-") + "x"
	}
	var policies []Policy
	for _, r := range rows {
		for _, failure := range []string{"Fail", "Ignore"} {
			n := ns(r.do, failure)
			policies = append(policies, Policy{Name: n, Module: goGuest(t, placer), Config: "{nodes: [a1]}", Fields: "failurePolicy: " + failure + "\ngrants: [{intent: evict}]\n" + inNamespace(n)})
		}
	}
	w.Load(policies...)
	never := func(context.Context) (*fwk.PodGroupAssignments, *fwk.Status) {
		t.Error("want no simulation of a question that can't be answered")
		return nil, nil
	}
	for _, r := range rows {
		t.Run("do "+r.do, func(t *testing.T) {
			for _, failure := range []string{"Fail", "Ignore"} {
				n := ns(r.do, failure)
				trial := w.newTrial(n, r.do)
				result, status := w.plugin().PodGroupPostFilter(w.ctx, trial.state, trial.info, never)
				want := strings.NewReplacer("POLICY", w.Named(n), "MEMBER", string(trial.info.UnscheduledPods[0].UID)).Replace(r.want)
				if failure == "Ignore" && (r.cause != "" || strings.HasPrefix(r.do, "error")) {
					want = "Unschedulable: "
				}
				if got := describe(status); !strings.Contains(got, want) || want == "Unschedulable: " && got != want || result != nil {
					t.Errorf("%s: want %q without a result, got %q, %v", failure, want, got, result)
				}
				if r.cause != "" && w.faults(w.Named(n), r.point, r.cause) != 1 {
					t.Errorf("%s: want one fault %s at %s", failure, r.cause, r.point)
				}
			}
		})
	}
	if got := w.evicted(); len(got) > 0 {
		t.Errorf("want nobody evicted, got %v", got)
	}
}
