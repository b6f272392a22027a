// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/berth-scheduler/berth/test/lab"
)

// patience is how long a test waits for what takes seconds on an idle machine.
const patience = 2 * time.Minute

// world is what one test has to itself: a scheduler name, a namespace for pods,
// one for policies, one for state.
type world struct {
	t    *testing.T
	ctx  context.Context
	name string // of the scheduler and of the pods' namespace
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	w := &world{t, ctx, strings.ToLower(strings.TrimPrefix(t.Name(), "Test"))}
	for _, ns := range []string{w.name, w.policies(), w.state()} {
		_, err := cluster.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{})
		w.check(err)
	}
	t.Cleanup(func() { // leave the shared nodes empty
		_ = cluster.Client.CoreV1().Pods(w.name).DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{})
	})
	return w
}

func (w *world) policies() string { return w.name + "-policies" }
func (w *world) state() string    { return w.name + "-state" }

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// config is the scheduler's configuration. extra lines come first.
func (w *world) config(extra ...string) string {
	return strings.Join(extra, "\n") + fmt.Sprintf(`
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: %q
  plugins:
    multiPoint: {enabled: [{name: Berth}]}
    postFilter: {enabled: [{name: Berth}]}
    bind: {enabled: [{name: Berth}]}
  pluginConfig:
  - name: Berth
    args:
      apiVersion: berth.dev/v1alpha1
      kind: BerthArgs
      policyNamespace: %q
      stateNamespace: %q
`, w.name, w.policies(), w.state())
}

const noElection = "leaderElection: {leaderElect: false}"

// start runs berth-scheduler. It is stopped at the test's end, and its log is
// shown if the test failed.
func (w *world) start(opts lab.SchedulerOptions) *lab.Scheduler {
	w.t.Helper()
	if opts.Name == "" {
		opts.Name = w.name
	}
	if opts.ConfigYAML == "" {
		opts.ConfigYAML = w.config(noElection)
	}
	if opts.Kubeconfig == "" {
		opts.Kubeconfig = cluster.Kubeconfig
	}
	opts.Binary = scheduler
	s, err := cluster.StartScheduler(w.ctx, opts)
	w.check(err)
	w.t.Cleanup(func() {
		_ = s.Stop()
		if w.t.Failed() {
			w.t.Log(s.LogTail())
		}
	})
	return s
}

// poolsYAML is a policy.yaml for team-pools.
func poolsYAML(pools map[string]string) string {
	var b strings.Builder
	b.WriteString("apiVersion: berth.dev/v1alpha1\nkind: Policy\nname: team-pools\nconfig:\n  teamLabel: team\n  unowned: Nobody\n  pools:\n")
	for team, pool := range pools {
		fmt.Fprintf(&b, "    %s: [%s]\n", team, pool)
	}
	return b.String()
}

// put creates or updates the ConfigMap of a policy.
func (w *world) put(name, yaml string, module []byte) {
	w.t.Helper()
	w.putIn(w.policies(), name, yaml, module)
}

func (w *world) putIn(namespace, name, yaml string, module []byte) {
	w.t.Helper()
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"berth.dev/policy": ""}},
		Data:       map[string]string{"policy.yaml": yaml},
		BinaryData: map[string][]byte{"policy.wasm.gz": gzipped(w.t, module)},
	}
	api := cluster.Client.CoreV1().ConfigMaps(namespace)
	_, err := api.Update(w.ctx, cm, metav1.UpdateOptions{})
	if err != nil {
		_, err = api.Create(w.ctx, cm, metav1.CreateOptions{})
	}
	w.check(err)
}

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// status is a policy's entry in the status document.
type status struct {
	State, Reason, Digest, Version, Message string
}

func (w *world) status(name string) (status, bool) { return w.statusIn(w.state(), name) }

func (w *world) statusIn(namespace, name string) (status, bool) {
	cm, err := cluster.Client.CoreV1().ConfigMaps(namespace).Get(w.ctx, "berth-status", metav1.GetOptions{})
	if err != nil {
		return status{}, false
	}
	text, ok := cm.Data[name]
	if !ok {
		return status{}, false
	}
	var s status
	w.check(json.Unmarshal([]byte(text), &s))
	return s, true
}

// until waits for a condition.
func (w *world) until(what string, cond func() bool) {
	w.t.Helper()
	err := wait.PollUntilContextTimeout(w.ctx, 20*time.Millisecond, patience, true, func(context.Context) (bool, error) { return cond(), nil })
	if err != nil {
		w.t.Fatalf("waited %s for %s", patience, what)
	}
}

// active waits until the policy is Active on a version of the module.
func (w *world) active(name, version string) {
	w.t.Helper()
	w.until(fmt.Sprintf("%s to be Active on %s", name, version), func() bool {
		s, _ := w.status(name)
		return s.State == "Active" && s.Version == version
	})
}

// pod builds a pod of a team for this world's scheduler.
func (w *world) pod(name, team string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.name, Labels: map[string]string{"team": team}},
		Spec: corev1.PodSpec{SchedulerName: w.name, Containers: []corev1.Container{{
			Name: "main", Image: "registry.test/app:1",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("10m")}},
		}}},
	}
}

// createPods creates n pods of the teams in turn.
func (w *world) createPods(prefix string, n int, teams ...string) {
	w.t.Helper()
	var pods []*corev1.Pod
	for i := range n {
		p := w.pod(fmt.Sprintf("%s-%03d", prefix, i), teams[i%len(teams)])
		p.Labels["set"] = prefix
		pods = append(pods, p)
	}
	w.check(cluster.CreatePods(w.ctx, pods))
}

// running waits until all pods of a set run and returns them.
func (w *world) running(prefix string, n int) []corev1.Pod {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	pods, err := cluster.WaitPods(ctx, w.name, "set="+prefix, n, lab.Running)
	w.check(err)
	return pods
}

// poolOf is the pool of a node, from the API server.
func (w *world) poolOf(node string) string {
	w.t.Helper()
	n, err := cluster.Client.CoreV1().Nodes().Get(w.ctx, node, metav1.GetOptions{})
	w.check(err)
	return n.Labels["berth.dev/pool"]
}

// follow fails for each pod that isn't in the pool of its team.
func (w *world) follow(pods []corev1.Pod, rules ...map[string]string) {
	w.t.Helper()
	for _, p := range pods {
		pool, ok := w.poolOf(p.Spec.NodeName), false
		for _, r := range rules {
			ok = ok || r[p.Labels["team"]] == pool
		}
		if !ok {
			w.t.Errorf("pod %s of %s is in pool %s, want one of %v", p.Name, p.Labels["team"], pool, rules)
		}
	}
}

// pending waits for a pod's FailedScheduling event and returns its text.
func (w *world) pending(pod string) string {
	w.t.Helper()
	var text string
	w.until("a FailedScheduling event of "+pod, func() bool {
		list, err := cluster.Client.CoreV1().Events(w.name).List(w.ctx, metav1.ListOptions{FieldSelector: "reason=FailedScheduling,involvedObject.name=" + pod})
		if err != nil || len(list.Items) == 0 {
			return false
		}
		text = list.Items[len(list.Items)-1].Message
		return true
	})
	return text
}
