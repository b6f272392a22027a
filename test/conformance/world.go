// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/berth-scheduler/berth/host"
)

// profile is the name of a World's profile where it has one only.
const profile = "berth"

// stateNamespace is where a World's host keeps its status.
const stateNamespace = "berth-state"

// patience is how long a condition may take on a busy machine.
const patience = 3 * time.Minute

// World is Kubernetes' scheduler with the host in it, on a fake API server: its
// real cache, queue, framework and algorithm. Unless it is run, tests drive it
// cycle by cycle, and put nodes and pods into the cache themselves.
type World struct {
	testing.TB
	Host      *host.Host // nil in a world of Go plugins
	Scheduler *scheduler.Scheduler
	Client    *fake.Clientset
	Informers informers.SharedInformerFactory
	Plugins   map[string]fwk.Plugin // the plugin under test by profile
	Events    *recorder

	ctx      context.Context
	logger   klog.Logger
	snapshot *internalcache.Snapshot
	loaded   map[string]bool
	dir      string // of the policies
	suffix   string // of the policies' names: metrics are the process's
}

// Setting is how a World is made.
type Setting struct {
	// Native is a Go plugin in the host's place.
	Native frameworkruntime.PluginFactory
	// Profiles are the names of the profiles; the default is one.
	Profiles []string
	// Weight is the plugin's weight in each; 0 is 1.
	Weight int32
	// Fit adds NodeResourcesFit as a filter, Scorers in-tree scorers.
	Fit     bool
	Scorers []config.Plugin
	// Gang adds what schedules pod groups; its feature gate must be on.
	Gang bool
	// Generator proposes placements of pod groups; "" is nobody.
	Generator string
	// Parallelism of the framework; 0 is 16.
	Parallelism int32
	// Options are the host's.
	Options host.Options
	// Args are more lines of BerthArgs.
	Args string
	// First are policies that are there when the scheduler starts.
	First []Policy
	// Objects are what the API server holds at first; Client is one that is
	// there already.
	Objects []runtime.Object
	Client  *fake.Clientset
	// Run starts informers and scheduling.
	Run bool
}

var worlds atomic.Int64

// NewWorld makes a scheduler. It ends with the test.
func (e Engine) NewWorld(t testing.TB, s Setting) *World {
	t.Helper()
	w := &World{
		TB:       t,
		Client:   s.Client,
		Plugins:  map[string]fwk.Plugin{},
		loaded:   map[string]bool{},
		Events:   &recorder{},
		snapshot: internalcache.NewEmptySnapshot(),
		dir:      filepath.Join(t.TempDir(), "policies"),
		suffix:   fmt.Sprintf("-w%d", worlds.Add(1)),
	}
	if w.Client == nil {
		w.Client = NewClient(s.Objects...)
	}
	w.Informers = informers.NewSharedInformerFactory(w.Client, 0)
	w.logger = ktesting.NewLogger(t, ktesting.NewConfig(ktesting.Verbosity(1)))
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), w.logger))
	w.ctx = ctx
	if err := os.Mkdir(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range s.First {
		w.write(p)
	}
	factory := s.Native
	if factory == nil {
		s.Options.CacheDir = e.cache
		w.Host = e.Host(s.Options)
		factory = w.Host.Registry()[host.Name]
	}
	registry := frameworkruntime.Registry{host.Name: w.capture(factory)}
	if w.Host != nil {
		registry[host.PlacementName] = w.Host.Registry()[host.PlacementName]
	}
	profiles := w.profiles(s)
	parallelism := s.Parallelism
	if parallelism == 0 {
		parallelism = 16
	}
	sched, err := scheduler.New(ctx, w.Client, w.Informers, nil,
		func(string) events.EventRecorderLogger { return w.Events },
		scheduler.WithProfiles(profiles...),
		scheduler.WithFrameworkOutOfTreeRegistry(registry),
		scheduler.WithParallelism(parallelism),
		scheduler.WithNodeInfoSnapshot(w.snapshot),
		scheduler.WithPodInitialBackoffSeconds(1),
		scheduler.WithPodMaxBackoffSeconds(1),
	)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	w.Scheduler = sched
	if w.Host != nil {
		w.Host.SetProfiles(profiles)
		w.Host.SetLeading(true)
	}
	stopped := make(chan struct{})
	if s.Run {
		w.start(stopped)
	} else {
		close(stopped)
	}
	t.Cleanup(func() {
		cancel()
		<-stopped
		if w.Host != nil {
			w.Host.Close()
			for name := range w.loaded {
				if n := liveInstances(w, name); n != 0 {
					t.Errorf("policy %s: want no instance after Close, got %v", name, n)
				}
			}
		}
		w.Informers.Shutdown()
	})
	return w
}

// start runs the scheduler as its command does.
func (w *World) start(stopped chan struct{}) {
	w.Informers.Start(w.ctx.Done())
	w.Informers.WaitForCacheSync(w.ctx.Done())
	if err := w.Scheduler.WaitForHandlersSync(w.ctx); err != nil {
		w.Fatal(err)
	}
	go func() {
		defer close(stopped)
		w.Scheduler.Run(w.ctx)
	}()
}

// profiles enable the plugin as our configuration does: everywhere, and before
// the in-tree plugins in postFilter and bind.
func (w *World) profiles(s Setting) []config.KubeSchedulerProfile {
	if len(s.Profiles) == 0 {
		s.Profiles = []string{profile}
	}
	args := fmt.Sprintf("apiVersion: berth.dev/v1alpha1\nkind: BerthArgs\npolicyDir: %s\nstateNamespace: %s\n%s", w.dir, stateNamespace, s.Args)
	set := func(names ...string) config.PluginSet {
		var ps config.PluginSet
		for _, n := range names {
			ps.Enabled = append(ps.Enabled, config.Plugin{Name: n})
		}
		return ps
	}
	var profiles []config.KubeSchedulerProfile
	for _, name := range s.Profiles {
		p := &config.Plugins{
			QueueSort:  set(names.PrioritySort),
			MultiPoint: config.PluginSet{Enabled: []config.Plugin{{Name: host.Name, Weight: max(s.Weight, 1)}}},
			PostFilter: set(host.Name, names.DefaultPreemption),
			Bind:       set(host.Name, names.DefaultBinder),
			Score:      config.PluginSet{Enabled: s.Scorers},
		}
		if s.Gang {
			p.MultiPoint.Enabled = append(p.MultiPoint.Enabled, config.Plugin{Name: names.GangScheduling})
			p.PodGroupPostFilter = set(host.Name, names.DefaultPreemption)
		}
		if s.Generator != "" && (s.Native == nil || s.Generator != host.PlacementName) { // a Go plugin has the point itself
			p.PlacementGenerate = set(s.Generator)
		}
		if s.Native != nil { // it has neither point
			p.PostFilter, p.Bind = set(names.DefaultPreemption), set(names.DefaultBinder)
			p.PodGroupPostFilter = config.PluginSet{}
			if s.Gang {
				p.PodGroupPostFilter = set(names.DefaultPreemption)
			}
		}
		if s.Fit {
			p.PreFilter, p.Filter = set(names.NodeResourcesFit), set(names.NodeResourcesFit)
		}
		profiles = append(profiles, config.KubeSchedulerProfile{
			SchedulerName: name,
			Plugins:       p,
			PluginConfig: []config.PluginConfig{
				{Name: host.Name, Args: &runtime.Unknown{Raw: []byte(args), ContentType: runtime.ContentTypeYAML}},
				{Name: names.DefaultPreemption, Args: &config.DefaultPreemptionArgs{MinCandidateNodesPercentage: 10, MinCandidateNodesAbsolute: 100}},
				{Name: names.NodeResourcesFit, Args: &config.NodeResourcesFitArgs{ScoringStrategy: &config.ScoringStrategy{
					Type: config.LeastAllocated, Resources: []config.ResourceSpec{{Name: "cpu", Weight: 1}},
				}}},
			},
		})
	}
	return profiles
}

// capture keeps the plugins that a factory makes.
func (w *World) capture(factory frameworkruntime.PluginFactory) frameworkruntime.PluginFactory {
	return func(ctx context.Context, args runtime.Object, h fwk.Handle) (fwk.Plugin, error) {
		p, err := factory(ctx, args, h)
		w.Plugins[h.(framework.Framework).ProfileName()] = p
		return p, err
	}
}

// Eventually waits for a condition.
func (w *World) Eventually(what string, done func() bool) {
	w.Helper()
	err := wait.PollUntilContextTimeout(context.Background(), 2*time.Millisecond, patience, true, func(context.Context) (bool, error) { return done(), nil })
	if err != nil {
		w.Fatalf("%s: not within %s", what, patience)
	}
}

// Status is a policy's entry in the status document.
func (w *World) Status(policy string) string {
	cm, err := w.Client.CoreV1().ConfigMaps(stateNamespace).Get(w.ctx, "berth-status", metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return cm.Data[policy]
}

// AddNodes puts nodes into the cache.
func (w *World) AddNodes(nodes ...*v1.Node) {
	for _, n := range nodes {
		w.Scheduler.Cache.AddNode(w.logger, n)
	}
}

// UpdateNode puts a changed node into the cache.
func (w *World) UpdateNode(old, changed *v1.Node) {
	w.Scheduler.Cache.UpdateNode(w.logger, old, changed)
}

// RemoveNode takes a node out of the cache.
func (w *World) RemoveNode(n *v1.Node) {
	if err := w.Scheduler.Cache.RemoveNode(w.logger, n); err != nil {
		w.Fatal(err)
	}
}

// AddPods puts pods that are on nodes into the cache and on the API server.
func (w *World) AddPods(pods ...*v1.Pod) {
	for _, p := range pods {
		if err := w.Scheduler.Cache.AddPod(w.logger, p); err != nil {
			w.Fatal(err)
		}
		w.Publish(p)
	}
}

// RemovePod takes a pod out of the cache.
func (w *World) RemovePod(p *v1.Pod) {
	if err := w.Scheduler.Cache.RemovePod(w.logger, p); err != nil {
		w.Fatal(err)
	}
}

// Publish puts a pod on the API server and into the informer of a world that
// doesn't run.
func (w *World) Publish(p *v1.Pod) {
	if err := w.Client.Tracker().Add(p); err != nil {
		w.Fatal(err)
	}
	if err := w.Informers.Core().V1().Pods().Informer().GetStore().Add(p); err != nil {
		w.Fatal(err)
	}
}
