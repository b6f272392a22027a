// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func TestMain(m *testing.M) {
	MainHook()
	os.Exit(m.Run())
}

// testContext ends before go test's own limit would hide what is waited for.
func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func start(t *testing.T, ctx context.Context, opts Options) *Cluster {
	t.Helper()
	c, err := Start(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func pausePod(name, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": "test"}},
		Spec: corev1.PodSpec{
			NodeName:   node,
			Containers: []corev1.Container{{Name: "c", Image: "registry.k8s.io/pause"}},
		},
	}
}

// TestLifecycle takes one cluster through all that it offers, since each start
// costs seconds.
func TestLifecycle(t *testing.T) {
	ctx := testContext(t)
	logDir := filepath.Join(t.TempDir(), "logs")
	c := start(t, ctx, Options{LogDir: logDir})

	nodes := Nodes("node", 6, Zones("a", "b"), Capacity("example.com/gpu", "2"),
		Label("role", "plain"), Taint("dedicated", "x", corev1.TaintEffectPreferNoSchedule))
	if err := c.CreateNodes(ctx, nodes); err != nil {
		t.Fatal(err)
	}
	node, err := c.Client.CoreV1().Nodes().Get(ctx, "node-003", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := node.Labels[corev1.LabelTopologyZone]; got != "b" {
		t.Errorf("zone of node-003: got %q, want \"b\"", got)
	}
	if got := node.Status.Allocatable.Name("example.com/gpu", "").Value(); got != 2 {
		t.Errorf("allocatable of node-003: got %d, want 2", got)
	}
	if len(node.Spec.Taints) != 1 {
		t.Errorf("taints of node-003: got %v, want the one it was created with", node.Spec.Taints)
	}

	if err := c.StartKubelet(KubeletOptions{Heartbeat: 100 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	s, err := c.StartScheduler(ctx, SchedulerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CreatePods(ctx, []*corev1.Pod{pausePod("p0", ""), pausePod("p1", ""), pausePod("p2", "")}); err != nil {
		t.Fatal(err)
	}
	pods, err := c.WaitPods(ctx, "default", "app=test", 3, Running)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pods {
		if !Bound(&p) || !p.Status.ContainerStatuses[0].Ready {
			t.Errorf("pod %s: node %q, status %+v: want bound and ready", p.Name, p.Spec.NodeName, p.Status)
		}
	}

	metrics, err := s.Get(ctx, "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	if want := "scheduler_schedule_attempts_total"; !strings.Contains(string(metrics), want) {
		t.Errorf("/metrics: no %s", want)
	}

	// A grace period doesn't keep a pod: nothing is running in it.
	if err := c.Client.CoreV1().Pods("default").Delete(ctx, "p0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.WaitPods(ctx, "default", "app=test", 2, Running); err != nil {
		t.Error(err)
	}
	waitFor(t, ctx, "a heartbeat", func() error {
		n, err := c.Client.CoreV1().Nodes().Get(ctx, "node-000", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if c := n.Status.Conditions[0]; !c.LastHeartbeatTime.After(c.LastTransitionTime.Time) {
			return fmt.Errorf("last heartbeat at %v", c.LastHeartbeatTime)
		}
		return nil
	})

	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if s.Alive() {
		t.Error("scheduler is alive after Kill")
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	if err := c.StartKubelet(KubeletOptions{}); err == nil {
		t.Error("StartKubelet in a stopped cluster: no error")
	}
	for _, name := range []string{"apiserver.log", "etcd.log", "kube-scheduler.log"} {
		if _, err := os.Stat(filepath.Join(logDir, name)); err != nil {
			t.Error(err)
		}
	}
	log, err := os.ReadFile(s.LogPath)
	if err != nil {
		t.Error(err)
	}
	for _, complaint := range []string{"forbidden", "Error looking up in-cluster authentication", "authentication configuration"} {
		if strings.Contains(string(log), complaint) {
			t.Errorf("the scheduler complains: %q in\n%s", complaint, log)
		}
	}
	if _, err := os.Stat(c.Kubeconfig); !os.IsNotExist(err) {
		t.Errorf("files after Stop: got %v, want none", err)
	}
}

// TestTwoClusters runs two at once and checks the credentials in one of them.
func TestTwoClusters(t *testing.T) {
	ctx := testContext(t)
	first := start(t, ctx, Options{})
	secondCtx, endSecond := context.WithCancel(ctx)
	second := start(t, secondCtx, Options{})

	if err := first.CreateNodes(ctx, Nodes("only-here", 1)); err != nil {
		t.Fatal(err)
	}
	list, err := second.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 0 {
		t.Errorf("the second cluster has the first one's node")
	}

	s, err := second.StartScheduler(ctx, SchedulerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	endSecond()
	if err := second.Stop(); err != nil {
		t.Error(err)
	}
	if s.Alive() {
		t.Error("a scheduler outlives its cluster's context")
	}

	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}
	if _, err := first.Client.CoreV1().ServiceAccounts("default").Create(ctx, sa, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}}},
	}
	if _, err := first.Client.RbacV1().Roles("default").Create(ctx, role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "reader"}},
	}
	if _, err := first.Client.RbacV1().RoleBindings("default").Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	file, err := first.ServiceAccountKubeconfig(ctx, "default", "reader")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	// The authorizer sees the binding a moment after the API server took it.
	waitFor(t, ctx, "the right to list pods", func() error {
		_, err := reader.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		return err
	})
	if _, err := reader.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("list nodes as default/reader: got %v, want forbidden", err)
	}
}

// A start that is interrupted ends in order: the API server exits the process
// if it is stopped while it comes up.
func TestInterruptedStart(t *testing.T) {
	ctx, interrupt := context.WithCancel(testContext(t))
	tmp, err := os.MkdirTemp("", "lab") // t.TempDir is too long for a socket on macOS
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	t.Setenv("TMPDIR", tmp)
	logDir := filepath.Join(tmp, "logs")
	go func() {
		defer interrupt()
		_ = wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(context.Context) (bool, error) {
			log, _ := os.ReadFile(filepath.Join(logDir, "apiserver.log"))
			return strings.Contains(string(log), "Serving securely"), nil
		})
	}()
	c, err := Start(ctx, Options{LogDir: logDir})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v and %v, want canceled", c, err)
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "berth-lab-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestSchedulerThatFails(t *testing.T) {
	c := &Cluster{dir: t.TempDir(), LogDir: t.TempDir(), Kubeconfig: "unused"}
	var err error
	if c.ca, err = newAuthority("test"); err != nil {
		t.Fatal(err)
	}
	if err := c.connect("https://127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	ctx := testContext(t)
	_, err = c.StartScheduler(ctx, SchedulerOptions{Name: "broken", ConfigYAML: "apiVersion: v1\nkind: Pod\n"})
	if err == nil || !strings.Contains(err.Error(), "broken.log") || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("got %v, want the exit status and the log", err)
	}
	_, err = c.StartScheduler(ctx, SchedulerOptions{Binary: filepath.Join(c.dir, "missing")})
	if !os.IsNotExist(err) && !strings.Contains(err.Error(), exec.ErrNotFound.Error()) && !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v, want a missing file", err)
	}
}

// waitFor waits until f returns nil.
func waitFor(t *testing.T, ctx context.Context, what string, f func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
		last = f()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("wait for %s: %v: %v", what, err, last)
	}
}
