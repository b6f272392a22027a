// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/test/lab"
)

var (
	ruleOne = map[string]string{"team-a": "pool-a", "team-b": "pool-b"}
	ruleTwo = map[string]string{"team-a": "pool-c", "team-b": "pool-d"}
)

// A policy in a ConfigMap decides where pods go, and says why one can't.
func TestPlacement(t *testing.T) {
	w := newWorld(t)
	w.start(lab.SchedulerOptions{})
	w.put("team-pools", poolsYAML(ruleOne), modules[v1])
	w.active("team-pools", v1)

	w.createPods("one", 20, "team-a", "team-b")
	w.follow(w.running("one", 20), ruleOne)

	w.createPods("lost", 1, "team-z")
	if text := w.pending("lost-000"); !strings.Contains(text, "0/30 nodes are available: ") || !strings.Contains(text, "team-pools: ") {
		t.Errorf("event: want it to name the policy and count the nodes, got %q", text)
	}
}

// Pods that arrive during a swap follow one version or the other; those after
// it is reported follow the new one. The process stays.
func TestSwapUnderLoad(t *testing.T) {
	w := newWorld(t)
	s := w.start(lab.SchedulerOptions{})
	w.put("team-pools", poolsYAML(ruleOne), modules[v1])
	w.active("team-pools", v1)
	w.createPods("before", 20, "team-a", "team-b")
	w.follow(w.running("before", 20), ruleOne)

	w.put("team-pools", poolsYAML(ruleTwo), modules[v2])
	during := 0
	for {
		w.createPods(fmt.Sprintf("during%d", during), 2, "team-a", "team-b")
		during++
		if st, _ := w.status("team-pools"); st.State == "Active" && st.Version == v2 {
			break
		}
	}
	w.createPods("after", 20, "team-a", "team-b")
	for i := range during {
		w.follow(w.running(fmt.Sprintf("during%d", i), 2), ruleOne, ruleTwo)
	}
	w.follow(w.running("after", 20), ruleTwo)
	if !s.Alive() {
		t.Error("the scheduler ended during the swap")
	}
}

// A ConfigMap that the API server accepts and Berth doesn't gets its answer as
// a status and an Event; the last good version stays, over a restart too.
func TestCorruptUpdateKeepsLastGood(t *testing.T) {
	w := newWorld(t)
	s := w.start(lab.SchedulerOptions{})
	w.put("team-pools", poolsYAML(ruleOne), modules[v1])
	w.active("team-pools", v1)
	w.until("the last-good copy", func() bool {
		l, err := cluster.Client.CoreV1().ConfigMaps(w.state()).List(w.ctx, metav1.ListOptions{LabelSelector: "berth.dev/state=last-good"})
		return err == nil && len(l.Items) == 1
	})

	w.put("team-pools", poolsYAML(ruleTwo), modules[v1][:1000])
	failed := func() bool { st, _ := w.status("team-pools"); return st.State == "Failed" && st.Version == v1 }
	w.until("the status to be Failed with the old version in force", failed)
	w.until("an Event on the ConfigMap", func() bool {
		l, err := cluster.Client.CoreV1().Events(w.policies()).List(w.ctx, metav1.ListOptions{FieldSelector: "type=Warning,involvedObject.name=team-pools"})
		return err == nil && len(l.Items) > 0 && strings.Contains(l.Items[0].Message, "stays in force")
	})
	w.createPods("corrupt", 10, "team-a", "team-b")
	w.follow(w.running("corrupt", 10), ruleOne)

	w.check(s.Kill())
	w.createPods("restarted", 10, "team-a", "team-b")
	w.start(lab.SchedulerOptions{})
	w.follow(w.running("restarted", 10), ruleOne)
	w.until("the status after the restart", failed)

	w.put("team-pools", poolsYAML(ruleTwo), modules[v2])
	w.active("team-pools", v2)
	w.createPods("mended", 10, "team-a", "team-b")
	w.follow(w.running("mended", 10), ruleTwo)
}

// Deleting a policy, or the label, frees the pods that it turned down; a
// deletion while no scheduler runs counts.
func TestPolicyDeleted(t *testing.T) {
	w := newWorld(t)
	s := w.start(lab.SchedulerOptions{})
	nobody := map[string]string{"team-x": "pool-a"}
	w.put("team-pools", poolsYAML(nobody), modules[v1])
	w.active("team-pools", v1)
	w.createPods("waits", 5, "team-a")
	w.pending("waits-000")
	api := cluster.Client.CoreV1().ConfigMaps(w.policies())
	w.check(api.Delete(w.ctx, "team-pools", metav1.DeleteOptions{}))
	w.running("waits", 5)
	w.until("the status entry to go", func() bool { _, ok := w.status("team-pools"); return !ok })

	w.put("team-pools", poolsYAML(nobody), modules[v1])
	w.active("team-pools", v1)
	w.createPods("again", 2, "team-a")
	w.pending("again-000")
	cm, err := api.Get(w.ctx, "team-pools", metav1.GetOptions{})
	w.check(err)
	cm.Labels = nil
	_, err = api.Update(w.ctx, cm, metav1.UpdateOptions{})
	w.check(err)
	w.running("again", 2)

	w.put("team-pools", poolsYAML(nobody), modules[v1])
	w.active("team-pools", v1)
	w.check(s.Kill())
	w.check(api.Delete(w.ctx, "team-pools", metav1.DeleteOptions{}))
	w.createPods("down", 2, "team-a")
	w.start(lab.SchedulerOptions{})
	w.running("down", 2)
}

// Suspending one policy by its label, and all by the flag, turns them off.
func TestBreakGlass(t *testing.T) {
	w := newWorld(t)
	s := w.start(lab.SchedulerOptions{})
	w.put("team-pools", poolsYAML(map[string]string{"team-x": "pool-a"}), modules[v1])
	w.active("team-pools", v1)
	w.createPods("waits", 2, "team-a")
	w.pending("waits-000")
	api := cluster.Client.CoreV1().ConfigMaps(w.policies())
	cm, err := api.Get(w.ctx, "team-pools", metav1.GetOptions{})
	w.check(err)
	cm.Labels["berth.dev/suspend"] = ""
	cm, err = api.Update(w.ctx, cm, metav1.UpdateOptions{})
	w.check(err)
	w.running("waits", 2)
	w.until("the status to be Suspended", func() bool { st, _ := w.status("team-pools"); return st.State == "Suspended" })
	delete(cm.Labels, "berth.dev/suspend")
	_, err = api.Update(w.ctx, cm, metav1.UpdateOptions{})
	w.check(err)
	w.active("team-pools", v1)
	w.createPods("again", 1, "team-a")
	w.pending("again-000")

	w.check(s.Stop())
	w.start(lab.SchedulerOptions{Args: []string{"--berth-suspend-all"}})
	w.running("again", 1)
	w.until("the status to be Suspended", func() bool { st, _ := w.status("team-pools"); return st.State == "Suspended" })
}

// Pods that exist before the first policy is active wait for it.
func TestPodsBeforeFirstPolicy(t *testing.T) {
	w := newWorld(t)
	w.createPods("early", 20, "team-a", "team-b")
	w.put("team-pools", poolsYAML(ruleOne), modules[v1])
	w.start(lab.SchedulerOptions{})
	w.follow(w.running("early", 20), ruleOne)
}
