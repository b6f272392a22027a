// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/berth-scheduler/berth/test/lab"
)

func at(seconds int) time.Time { return time.Unix(int64(seconds), 0) }

var testSwap = swapTimes{sent: at(10), answered: at(11), decided: at(13), active: at(14)}

func TestSwapRules(t *testing.T) {
	tests := []struct {
		name   string
		pod    streamPod
		want   []string
		during bool
	}{
		{"bound before the update", streamPod{created: at(8), bound: at(9)}, []string{"phase 1"}, false},
		{"bound while it was sent", streamPod{created: at(9), bound: at(10)}, []string{"phase 1", "phase 2"}, false},
		{"created in the swap", streamPod{created: at(12), bound: at(15)}, []string{"phase 1", "phase 2"}, true},
		{"created after the first new decision", streamPod{created: at(14), bound: at(15)}, []string{"phase 2"}, true},
		{"created after Active", streamPod{created: at(15), bound: at(16)}, []string{"phase 2"}, false},
		{"not seen bound", streamPod{created: at(9)}, []string{"phase 1", "phase 2"}, false},
	}
	for _, test := range tests {
		var got []string
		for _, r := range testSwap.rules(&test.pod) {
			got = append(got, r.name)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: rules, want (-), got (+):\n%s", test.name, diff)
		}
		if got := testSwap.during(&test.pod); got != test.during {
			t.Errorf("%s: during: got %t, want %t", test.name, got, test.during)
		}
	}
}

func podOn(part, name, team, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{partLabel: part, teamLabel: team}},
		Spec:       corev1.PodSpec{NodeName: node},
	}
}

// TestCheck gives the check a final state in which each thing that it looks for
// is wrong once.
func TestCheck(t *testing.T) {
	client := fake.NewClientset(
		nodeIn("pool-a"), nodeIn("pool-b"), nodeIn("shared"),
		podOn(partStock, "stock-anywhere", "team-a", "pool-b-000"),
		podOn(partOne, "one-good", "team-a", "pool-a-000"),
		podOn(partOne, "one-unasked-overflow", "team-a", "shared-000"),
		podOn(partTwo, "two-good", "team-a", "pool-b-000"),
		podOn(partTwo, "two-by-old-rule", "team-a", "pool-a-000"),
		podOn(partTwo, "two-unbound", "team-a", ""),
		podOn(partTwo, "two-ghost", "team-a", "no-such-node"),
		podOn(partSwap, "swap-either", "team-a", "pool-a-000"),
		podOn(partSwap, "swap-late-by-old-rule", "team-a", "pool-a-000"),
		podOn(partSwap, "swap-unbound", "team-a", ""),
		podOn(partPending, "pending-bound", teamNowhere, "pool-a-000"),
	)
	d := &demo{
		cluster: &lab.Cluster{Client: client},
		placed:  placed{},
		swapped: testSwap,
		stream: map[string]*streamPod{
			"swap-either":           {created: at(12)},
			"swap-late-by-old-rule": {created: at(14)},
			"swap-unbound":          {created: at(12)},
			"swap-lost":             {created: at(12)},
		},
		result: Result{Phases: []PhaseResult{
			{Name: "phase 1", Pods: 2, part: partOne},
			{Name: "phase 2", Pods: 4, part: partTwo},
		}, Pending: []PendingResult{{Pod: "pending-bound", Message: "0/3 nodes are available"}}},
	}
	err := d.check(t.Context())
	if !errors.Is(err, ErrCheck) {
		t.Fatalf("got %v, want ErrCheck", err)
	}
	for _, bad := range []string{
		"one-unasked-overflow of team-a is in pool \"shared\", want pool-a",
		"two-by-old-rule of team-a is in pool \"pool-a\", want pool-b",
		"phase 2: 2 of 4 pods are bound",
		"two-ghost is on node \"no-such-node\"",
		"swap-late-by-old-rule",
		"swap-unbound is lost or not bound",
		"swap-lost is lost or not bound",
		"pending-bound is on node",
		"event of pod pending-bound: want it to name the policy team-pools",
	} {
		if !strings.Contains(err.Error(), bad) {
			t.Errorf("got no %q in:\n%v", bad, err)
		}
	}
	for _, good := range []string{"stock-anywhere", "one-good", "two-good", "swap-either"} {
		if strings.Contains(err.Error(), good) {
			t.Errorf("got %q in:\n%v", good, err)
		}
	}
	want := []PhaseResult{
		{Name: "phase 1", Pods: 2, Bound: 2, Violations: 1},
		{Name: "phase 2", Pods: 4, Bound: 2, Violations: 2},
	}
	for i := range d.result.Phases {
		d.result.Phases[i].part = ""
	}
	if diff := cmp.Diff(want, d.result.Phases, cmp.AllowUnexported(PhaseResult{})); diff != "" {
		t.Errorf("phases, want (-), got (+):\n%s", diff)
	}
	if got := d.result.Swap.PodsDuringBound; got != 2 {
		t.Errorf("podsDuringBound: got %d, want 2", got)
	}
	if d.result.Nodes != 3 {
		t.Errorf("nodes: got %d, want 3", d.result.Nodes)
	}
}

func TestWriteTable(t *testing.T) {
	p := placed{}
	spot := nodeIn("shared")
	spot.Labels[capacityLabel] = "spot"
	pod := podOn(partOne, "", "team-a", "")
	pod.Labels[spotLabel] = "prefer"
	p.add(pod, nodeIn("pool-a"), false)
	p.add(pod, spot, true)
	p.add(pod, nil, false)
	var b strings.Builder
	if err := p.writeTable(&b); err != nil {
		t.Fatal(err)
	}
	want := `
     part    team  pool-a  pool-b  pool-c  shared  reserve  general  prefer spot  avoid spot  bound  violations
  phase-1  team-a       1       ·       ·       1        ·        ·          1/2           ·    2/3           1
`
	if diff := cmp.Diff(want, "\n"+b.String()); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestMetric(t *testing.T) {
	metrics := "# HELP process_start_time_seconds Start time.\nprocess_start_time_seconds 1.7e+09\nother{a=\"b\"} 1\n"
	for name, want := range map[string]string{"process_start_time_seconds": "1.7e+09", "other": "", "process": ""} {
		if got := metric(metrics, name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
