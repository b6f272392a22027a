// SPDX-License-Identifier: Apache-2.0

package equality

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	schedulermetrics "k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/berth-scheduler/berth/host"
	"github.com/berth-scheduler/berth/host/metrics"
)

// subject is a port and what it is compared with.
type subject struct {
	name   string         // of the run
	port   string         // the folder in ports
	plugin string         // in-tree
	args   runtime.Object // the plugin's; nil is its default
	config string         // the port's, in YAML's flow style
	grants string         // its policy.yaml's
	focus  focus          // what scenes are rich in
	// filters and scores say what the plugin does.
	filters, scores bool
	// signs says that pods of the port are batched: see batched.
	signs bool
	// skips says that the port skips scoring where the plugin does; else it
	// gives all nodes 0, as a skipped plugin counts.
	skips bool
	// errors are what the port says where the plugin's Error has its own words.
	errors []string
}

// rig is a framework with Berth and one with the in-tree plugin, on one
// snapshot.
type rig struct {
	ctx       context.Context
	logger    klog.Logger
	snapshot  *current
	nominator *nominator
	said      []string // what the plugin answered to the last scene
	guest     *side
	native    *side
}

// current is a snapshot that is another one in each scene: plugins keep the
// lister that they were made with.
type current struct{ *internalcache.Snapshot }

func (c *current) NodeInfos() fwk.NodeInfoLister { return currentNodes{c} }

type currentNodes struct{ c *current }

func (l currentNodes) List() ([]fwk.NodeInfo, error) { return l.c.Snapshot.NodeInfos().List() }

func (l currentNodes) Get(name string) (fwk.NodeInfo, error) {
	return l.c.Snapshot.NodeInfos().Get(name)
}

func (l currentNodes) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	return l.c.Snapshot.NodeInfos().HavePodsWithAffinityList()
}

func (l currentNodes) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return l.c.Snapshot.NodeInfos().HavePodsWithRequiredAntiAffinityList()
}

func (l currentNodes) HavePodsWithRequiredNonHostScopedAntiAffinityList() ([]fwk.NodeInfo, error) {
	return l.c.Snapshot.NodeInfos().HavePodsWithRequiredNonHostScopedAntiAffinityList()
}

// nominator holds the nominated pods of the setting that is played.
type nominator struct{ pods map[string][]fwk.PodInfo }

func (n *nominator) AddNominatedPod(klog.Logger, fwk.PodInfo, *fwk.NominatingInfo) {}
func (n *nominator) DeleteNominatedPodIfExists(*v1.Pod)                            {}
func (n *nominator) UpdateNominatedPod(klog.Logger, *v1.Pod, fwk.PodInfo)          {}
func (n *nominator) NominatedPodsForNode(node string) []fwk.PodInfo                { return n.pods[node] }

// noDevices is a cluster without device classes.
type noDevices struct{ fwk.SharedDRAManager }

func (noDevices) DeviceClassResolver() fwk.DeviceClassResolver { return noDevices{} }

func (noDevices) GetDeviceClass(v1.ResourceName) *resourceapi.DeviceClass { return nil }

var rigs atomic.Int64

// newRig builds the port and loads it into a host.
func newRig(t *testing.T, s *subject) *rig {
	t.Helper()
	schedulermetrics.Register()
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.Verbosity(0)))
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logger))
	policy := fmt.Sprintf("%s-%d", s.port, rigs.Add(1)) // metrics are the process's
	dir := t.TempDir()
	writePolicy(t, filepath.Join(dir, policy), s)
	h := host.New(host.Options{})
	t.Cleanup(func() {
		cancel()
		h.Close()
	})
	// What plugins log of each odd value is not for the test's output.
	var none klog.Logger
	quiet := klog.NewContext(ctx, none)
	r := &rig{ctx: quiet, logger: none, snapshot: &current{internalcache.NewEmptySnapshot()}, nominator: &nominator{}}
	// Terms select namespaces by label; "gone" is one of pods only.
	client := fake.NewClientset(
		&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"team": "a", "stage": "prod"}}},
		&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other", Labels: map[string]string{"team": "b"}}},
		&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "third"}},
	)
	factory := informers.NewSharedInformerFactory(client, 0)
	make := func(name string, args runtime.Object) (_ framework.Framework, plugin fwk.Plugin) {
		registry := plugins.NewInTreeRegistry()
		if err := registry.Merge(h.Registry()); err != nil {
			t.Fatal(err)
		}
		original := registry[name]
		registry[name] = func(ctx context.Context, args runtime.Object, h fwk.Handle) (fwk.Plugin, error) {
			var err error
			plugin, err = original(ctx, args, h)
			return plugin, err
		}
		set := func(name string) config.PluginSet {
			return config.PluginSet{Enabled: []config.Plugin{{Name: name, Weight: 1}}}
		}
		profile := &config.KubeSchedulerProfile{
			SchedulerName: name,
			Plugins:       &config.Plugins{QueueSort: set(names.PrioritySort), Bind: set(names.DefaultBinder), MultiPoint: set(name)},
		}
		if args != nil {
			profile.PluginConfig = []config.PluginConfig{{Name: name, Args: args}}
		}
		fw, err := frameworkruntime.NewFramework(ctx, registry, profile,
			frameworkruntime.WithClientSet(client),
			frameworkruntime.WithInformerFactory(factory),
			frameworkruntime.WithSnapshotSharedLister(r.snapshot),
			frameworkruntime.WithPodNominator(r.nominator),
			frameworkruntime.WithSharedDRAManager(noDevices{}),
			frameworkruntime.WithParallelism(1),
			frameworkruntime.WithLogger(logger),
		)
		if err != nil {
			t.Fatal(err)
		}
		return fw, plugin
	}
	args := fmt.Sprintf("apiVersion: berth.dev/v1alpha1\nkind: BerthArgs\npolicyDir: %s\nstateNamespace: berth-state\n", dir)
	r.guest = &side{rig: r, subject: s, policy: policy}
	r.guest.fw, r.guest.plugin = make(host.Name, &runtime.Unknown{Raw: []byte(args), ContentType: runtime.ContentTypeYAML})
	r.native = &side{rig: r, subject: s}
	r.native.fw, r.native.plugin = make(s.plugin, s.args)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	awaitPolicy(t, policy)
	return r
}

// writePolicy builds a port, and puts it where the host looks for policies.
func writePolicy(t *testing.T, dir string, s *subject) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-buildmode=c-shared", "-o", filepath.Join(dir, "policy.wasm"),
		"github.com/berth-scheduler/berth/test/equality/ports/"+s.port)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", s.port, err, text)
	}
	text := "apiVersion: berth.dev/v1alpha1\nkind: Policy\n"
	if s.config != "" {
		text += "config: " + s.config + "\n"
	}
	if s.grants != "" {
		text += "grants: " + s.grants + "\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// awaitPolicy waits until a policy decides.
func awaitPolicy(t *testing.T, policy string) {
	t.Helper()
	swaps := func(result string) bool {
		n, err := testutil.GetCounterMetricValue(metrics.Swaps.WithLabelValues(policy, result))
		return err == nil && n > 0
	}
	err := wait.PollUntilContextTimeout(context.Background(), 5*time.Millisecond, 3*time.Minute, true, func(context.Context) (bool, error) {
		if swaps("failed") {
			return false, fmt.Errorf("policy %s was refused", policy)
		}
		return swaps("active"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
