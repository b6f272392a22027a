// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/berth-scheduler/berth/test/lab"
)

// With no policies Berth places every pod where kube-scheduler does. One
// worker, no batching and objects that arrive one by one make ties the same on
// both: what an informer lists at start comes in no fixed order.
func TestIdleEquality(t *testing.T) {
	const profile = "default-scheduler"
	berth := fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
parallelism: 1
leaderElection: {leaderElect: false}
profiles:
- schedulerName: %s
  plugins:
    multiPoint: {enabled: [{name: Berth}]}
    postFilter: {enabled: [{name: Berth}]}
    bind: {enabled: [{name: Berth}]}
  pluginConfig:
  - name: Berth
    args: {apiVersion: berth.dev/v1alpha1, kind: BerthArgs, policyNamespace: default, stateNamespace: kube-public}
`, profile)
	stock := `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
parallelism: 1
leaderElection: {leaderElect: false}
`
	want := placements(t, lab.SchedulerOptions{Name: "stock", ConfigYAML: stock})
	got := placements(t, lab.SchedulerOptions{Name: "berth", Binary: scheduler, ConfigYAML: berth})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("placements differ (-stock +berth):\n%s", diff)
	}
}

// placements schedules 500 pods of three shapes on 100 nodes of a fresh cluster
// and returns the node of each.
func placements(t *testing.T, opts lab.SchedulerOptions) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	c, err := lab.Start(ctx, lab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	}()
	nodes := lab.Nodes("node", 100, lab.Zones("zone-a", "zone-b", "zone-c"))
	for i, n := range nodes {
		if i%7 == 0 {
			n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}}
		}
	}
	opts.Args = []string{"--feature-gates=OpportunisticBatching=false"}
	if opts.Binary != "" {
		opts.Kubeconfig = c.Kubeconfig
	}
	sched, err := c.StartScheduler(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		if _, err := c.Client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		metrics, err := sched.Get(ctx, "/metrics")
		return strings.Contains(string(metrics), `scheduler_cache_size{type="nodes"} 100`), err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%03d", i), Labels: map[string]string{"app": fmt.Sprint(i % 5), "set": "idle"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.test/app:1", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse(fmt.Sprintf("%dm", 50+i%3*100)), "memory": resource.MustParse("64Mi")}}}}},
		}
		if i%4 == 0 {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
		}
		if i%10 == 0 {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone,
				WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint(i % 5)}}}}
		}
		if _, err := c.Client.CoreV1().Pods("default").Create(ctx, p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	pods, err := c.WaitPods(ctx, "default", "set=idle", 500, lab.Bound)
	if err != nil {
		t.Fatal(err)
	}
	where := map[string]string{}
	for i := range pods {
		where[pods[i].Name] = pods[i].Spec.NodeName
	}
	return where
}
