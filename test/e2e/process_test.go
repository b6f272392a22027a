// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/test/lab"
)

// A scheduler that is killed in a burst and started again loses no pod.
func TestSchedulerKilled(t *testing.T) {
	w := newWorld(t)
	s := w.start(lab.SchedulerOptions{})
	w.put("team-pools", poolsYAML(ruleOne), modules[v1])
	w.active("team-pools", v1)
	w.createPods("burst", 60, "team-a", "team-b")
	w.until("the first pod to be bound", func() bool { return w.bound("burst") > 0 })
	w.check(s.Kill())
	w.start(lab.SchedulerOptions{})
	w.follow(w.running("burst", 60), ruleOne)
}

// bound counts the pods of a set that have a node.
func (w *world) bound(set string) int {
	l, err := cluster.Client.CoreV1().Pods(w.name).List(w.ctx, metav1.ListOptions{LabelSelector: "set=" + set})
	w.check(err)
	n := 0
	for i := range l.Items {
		if lab.Bound(&l.Items[i]) {
			n++
		}
	}
	return n
}

// When the leader is killed the standby takes over, with the same policies, and
// it alone writes the status.
func TestStandbyTakesOver(t *testing.T) {
	w := newWorld(t)
	election := "leaderElection: {leaderElect: true, resourceName: " + w.name + ", resourceNamespace: " + w.name + ", leaseDuration: 3s, renewDeadline: 2s, retryPeriod: 500ms}"
	first := w.start(lab.SchedulerOptions{Name: w.name + "-1", ConfigYAML: w.config(election)})
	w.put("team-pools", poolsYAML(ruleOne), modules[v1])
	w.active("team-pools", v1)
	second := w.start(lab.SchedulerOptions{Name: w.name + "-2", ConfigYAML: w.config(election)})
	w.createPods("one", 10, "team-a", "team-b")
	w.follow(w.running("one", 10), ruleOne)

	w.check(first.Kill())
	w.createPods("two", 10, "team-a", "team-b")
	w.follow(w.running("two", 10), ruleOne)
	w.put("team-pools", poolsYAML(ruleTwo), modules[v2])
	w.active("team-pools", v2)
	w.createPods("three", 10, "team-a", "team-b")
	w.follow(w.running("three", 10), ruleTwo)
	if !second.Alive() {
		t.Error("the standby ended")
	}
}

// Berth beside the stock scheduler: each schedules its own pods, and a policy
// has no say about the other's.
func TestSideBySide(t *testing.T) {
	w := newWorld(t)
	w.start(lab.SchedulerOptions{})
	stock, err := cluster.StartScheduler(w.ctx, lab.SchedulerOptions{Name: "stock-" + w.name})
	w.check(err)
	t.Cleanup(func() { _ = stock.Stop() })
	w.put("team-pools", poolsYAML(ruleOne), modules[v1])
	w.active("team-pools", v1)
	w.createPods("ours", 10, "team-a", "team-b")
	p := w.pod("theirs-000", "team-z")
	p.Labels["set"], p.Spec.SchedulerName = "theirs", "default-scheduler"
	_, err = cluster.Client.CoreV1().Pods(w.name).Create(w.ctx, p, metav1.CreateOptions{})
	w.check(err)
	w.follow(w.running("ours", 10), ruleOne)
	w.running("theirs", 1)
}

// What config/ applies is enough, under the service account's own token and
// RBAC: pods are scheduled and nothing is forbidden.
func TestConfigManifests(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := lab.Start(ctx, lab.Options{LogDir: filepath.Join(t.TempDir(), "logs")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	}()
	w := &world{t, ctx, "config"}
	for _, file := range []string{"namespaces.yaml", "rbac.yaml"} {
		manifests, err := os.ReadFile(filepath.Join("../../config", file))
		w.check(err)
		w.check(c.Apply(ctx, manifests))
	}
	w.check(c.CreateNodes(ctx, lab.Nodes("node", 4, lab.Label("berth.dev/pool", "pool-a", "pool-b"))))
	w.check(c.StartKubelet(lab.KubeletOptions{}))
	kubeconfig, err := c.ServiceAccountKubeconfig(ctx, "berth-system", "berth-scheduler")
	w.check(err)
	config, err := os.ReadFile("../../config/scheduler-config.yaml")
	w.check(err)
	log := filepath.Join(t.TempDir(), "scheduler.log")
	s, err := c.StartScheduler(ctx, lab.SchedulerOptions{Name: "berth", Binary: scheduler, ConfigYAML: string(config), Kubeconfig: kubeconfig, LogPath: log})
	w.check(err)

	shared := cluster
	cluster = c
	defer func() { cluster = shared }()
	w.name = "berth"
	w.putIn("berth-system", "team-pools", poolsYAML(ruleOne), modules[v1])
	w.until("the policy to be Active", func() bool { st, _ := w.statusIn("berth-state", "team-pools"); return st.State == "Active" })
	p := w.pod("app", "team-b")
	p.Namespace, p.Labels["set"] = "default", "app"
	_, err = c.Client.CoreV1().Pods("default").Create(ctx, p, metav1.CreateOptions{})
	w.check(err)
	pods, err := c.WaitPods(ctx, "default", "set=app", 1, lab.Running)
	w.check(err)
	w.follow(pods, ruleOne)
	w.until("an Event on the ConfigMap", func() bool {
		l, err := c.Client.CoreV1().Events("berth-system").List(ctx, metav1.ListOptions{FieldSelector: "reason=Active,involvedObject.name=team-pools"})
		return err == nil && len(l.Items) > 0
	})
	w.check(s.Stop())
	text, err := os.ReadFile(log)
	w.check(err)
	for line := range strings.Lines(string(text)) {
		if strings.Contains(strings.ToLower(line), "forbidden") {
			t.Errorf("log: %s", line)
		}
	}
}
