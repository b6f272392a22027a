// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/berth-scheduler/berth/config"
	"github.com/berth-scheduler/berth/test/lab"
)

// examples is where the gallery is, a folder a policy.
const examples = "../../examples"

// galleryLabel is on the nodes of a gallery and in the node selector of its pods:
// the cluster's other nodes are not its own.
const galleryLabel = "berth.dev/e2e"

// gallery is a world for the examples' tests: nodes of its own, and a scheduler
// under the service account and with the rights that config/rbac.yaml gives.
//
//	g := openGallery(t, gallerySetup{Nodes: lab.Nodes("fair", 2)})
//	g.load("fair-share", nil)
//	g.create(g.pod("a", "100m"))
//	g.bound("a")
type gallery struct {
	*world
	scheduler *lab.Scheduler
	options   lab.SchedulerOptions
}

// gallerySetup is what an example needs of a gallery.
type gallerySetup struct {
	Nodes   []*corev1.Node    // made for the test and deleted after it
	Plugins map[string]string // of the profile, beside or instead of the usual: point: YAML of what is enabled and disabled there
	Args    []string          // of the scheduler, as --feature-gates=GenericWorkload=true
}

// openGallery makes the nodes and starts the scheduler.
func openGallery(t *testing.T, setup gallerySetup) *gallery {
	t.Helper()
	g := &gallery{world: newWorld(t)}
	for _, n := range setup.Nodes {
		n.Labels[galleryLabel] = g.name
	}
	t.Cleanup(func() {
		_ = cluster.Client.CoreV1().Nodes().DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: galleryLabel + "=" + g.name})
	})
	g.check(cluster.CreateNodes(g.ctx, setup.Nodes))
	g.apply(string(config.RBAC))
	kubeconfig, err := cluster.ServiceAccountKubeconfig(g.ctx, g.policies(), "berth-scheduler")
	g.check(err)
	g.options = lab.SchedulerOptions{ConfigYAML: g.profile(setup.Plugins), Kubeconfig: kubeconfig, Args: setup.Args}
	g.scheduler = g.start(g.options)
	return g
}

// whileDown does something while the scheduler is stopped. What it creates is
// queued all at once when the scheduler is back, with its policies in force.
func (g *gallery) whileDown(do func()) {
	g.t.Helper()
	g.check(g.scheduler.Stop())
	do()
	g.scheduler = g.start(g.options)
}

// profile is the scheduler's configuration with more plugins.
func (g *gallery) profile(plugins map[string]string) string {
	var doc map[string]any
	g.check(yaml.Unmarshal([]byte(g.config(noElection)), &doc))
	profile := doc["profiles"].([]any)[0].(map[string]any)
	for point, text := range plugins {
		var set map[string]any
		g.check(yaml.Unmarshal([]byte(text), &set))
		profile["plugins"].(map[string]any)[point] = set
	}
	text, err := yaml.Marshal(doc)
	g.check(err)
	return string(text)
}

// apply applies manifests as an admin would, in this world's namespaces. It waits
// for what takes the API server a moment: a kind that was just defined.
func (g *gallery) apply(manifests string) {
	g.t.Helper()
	manifests = strings.NewReplacer("berth-system", g.policies(), "berth-state", g.state()).Replace(manifests)
	var last error
	err := wait.PollUntilContextTimeout(g.ctx, 100*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		last = cluster.Apply(ctx, []byte(manifests))
		return last == nil, nil
	})
	if err != nil {
		g.t.Fatal(last)
	}
}

// load applies an example's manifests, builds it and puts it into force with its
// own policy.yaml, for the pods of this world. edit, if any, changes that file's
// tree before: what a test can't wait for, or what its objects are called.
func (g *gallery) load(example string, edit func(doc map[string]any)) {
	g.t.Helper()
	manifests, err := filepath.Glob(filepath.Join(examples, example, "manifests", "*.yaml"))
	g.check(err)
	for _, file := range manifests {
		text, err := os.ReadFile(file)
		g.check(err)
		g.apply(string(text))
	}
	text, err := os.ReadFile(filepath.Join(examples, example, "policy.yaml"))
	g.check(err)
	var doc map[string]any
	g.check(yaml.Unmarshal(text, &doc))
	match, _ := doc["match"].(map[string]any)
	if match == nil {
		match = map[string]any{}
		doc["match"] = match
	}
	match["profiles"] = []string{g.name}
	if edit != nil {
		edit(doc)
	}
	text, err = yaml.Marshal(doc)
	g.check(err)
	g.put(example, string(text), g.build(example))
	// What the policy may read takes the API server a moment, too: it is Failed
	// meanwhile.
	var last status
	err = wait.PollUntilContextTimeout(g.ctx, 50*time.Millisecond, 45*time.Second, true, func(context.Context) (bool, error) {
		last, _ = g.status(example)
		return last.State == "Active", nil
	})
	if err != nil {
		g.t.Fatalf("%s: want it Active, got %q: %s", example, last.State, last.Message)
	}
}

// berth is the path of the command, built once.
var berth = sync.OnceValues(func() (string, error) {
	dir := filepath.Dir(scheduler) // which goes when all tests have run
	path := filepath.Join(dir, "berth")
	return path, goBuild(nil, "-o", path, "../../cmd/berth")
})

// build builds an example with berth build.
func (g *gallery) build(example string) []byte {
	g.t.Helper()
	command, err := berth()
	g.check(err)
	file := filepath.Join(g.t.TempDir(), example+".wasm")
	cmd := exec.CommandContext(g.ctx, command, "build", "-o", file, filepath.Join(examples, example))
	if out, err := cmd.CombinedOutput(); err != nil {
		g.t.Fatalf("berth build %s: %v\n%s", example, err, out)
	}
	wasm, err := os.ReadFile(file)
	g.check(err)
	return wasm
}

// pod builds a pod of this gallery that asks for some CPU.
func (g *gallery) pod(name, cpu string, change ...func(p *corev1.Pod)) *corev1.Pod {
	p := g.world.pod(name, "")
	p.Labels = map[string]string{"name": name}
	p.Spec.NodeSelector = map[string]string{galleryLabel: g.name}
	p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpu)
	for _, c := range change {
		c(p)
	}
	return p
}

// labels gives a pod more labels: key, value, key, value.
func labels(pairs ...string) func(p *corev1.Pod) {
	return func(p *corev1.Pod) {
		for i := 0; i+1 < len(pairs); i += 2 {
			p.Labels[pairs[i]] = pairs[i+1]
		}
	}
}

// annotations gives a pod annotations: key, value, key, value.
func annotations(pairs ...string) func(p *corev1.Pod) {
	return func(p *corev1.Pod) {
		more := map[string]string{}
		for i := 0; i+1 < len(pairs); i += 2 {
			more[pairs[i]] = pairs[i+1]
		}
		maps.Copy(more, p.Annotations)
		p.Annotations = more
	}
}

// class gives a pod a PriorityClass, which must exist.
func class(name string) func(p *corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.PriorityClassName = name }
}

// classes makes priority classes: name, value, name, value.
func (g *gallery) classes(pairs ...any) {
	g.t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		c := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: pairs[i].(string)}, Value: int32(pairs[i+1].(int))}
		_, err := cluster.Client.SchedulingV1().PriorityClasses().Create(g.ctx, c, metav1.CreateOptions{})
		g.check(err)
		g.t.Cleanup(func() {
			_ = cluster.Client.SchedulingV1().PriorityClasses().Delete(context.Background(), c.Name, metav1.DeleteOptions{})
		})
	}
}

// create creates pods one after the other, in this order.
func (g *gallery) create(pods ...*corev1.Pod) {
	g.t.Helper()
	for _, p := range pods {
		_, err := cluster.Client.CoreV1().Pods(p.Namespace).Create(g.ctx, p, metav1.CreateOptions{})
		g.check(err)
	}
}

// bound waits until a pod has a node and returns the pod.
func (g *gallery) bound(name string) *corev1.Pod {
	g.t.Helper()
	var pod *corev1.Pod
	var err error
	g.until("pod "+name+" to have a node", func() bool {
		pod, err = cluster.Client.CoreV1().Pods(g.name).Get(g.ctx, name, metav1.GetOptions{})
		return err == nil && pod.Spec.NodeName != ""
	})
	return pod
}

// gone waits until a pod is deleted.
func (g *gallery) gone(name string) {
	g.t.Helper()
	g.until("pod "+name+" to be gone", func() bool {
		list, err := cluster.Client.CoreV1().Pods(g.name).List(g.ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		return err == nil && len(list.Items) == 0
	})
}

// delete deletes pods at once.
func (g *gallery) delete(names ...string) {
	g.t.Helper()
	var now int64
	for _, name := range names {
		g.check(cluster.Client.CoreV1().Pods(g.name).Delete(g.ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
	}
}

// says waits until the scheduler says of a pod why it has no node, in words that
// contain want.
func (g *gallery) says(pod, want string) {
	g.t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(g.ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		p, err := cluster.Client.CoreV1().Pods(g.name).Get(ctx, pod, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled {
				last = c.Message
			}
		}
		return strings.Contains(last, want), nil
	})
	if err != nil {
		g.t.Fatalf("pod %s: want it told %q, got %q", pod, want, last)
	}
}

// metric is the sum of a metric's samples whose line contains all parts.
func (g *gallery) metric(name string, parts ...string) (sum float64) {
	g.t.Helper()
	text, err := g.scheduler.Get(g.ctx, "/metrics")
	g.check(err)
lines:
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, name+"{") && !strings.HasPrefix(line, name+" ") {
			continue
		}
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue lines
			}
		}
		var v float64
		if _, err := fmt.Sscan(line[strings.LastIndex(strings.TrimSpace(line), " "):], &v); err != nil {
			g.t.Fatal(err)
		}
		sum += v
	}
	return sum
}
