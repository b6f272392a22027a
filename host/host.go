// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/evictor"
	"github.com/berth-scheduler/berth/host/metrics"
	"github.com/berth-scheduler/berth/host/policy"
)

// Name is the name by which a scheduler configuration enables the plugin.
const Name = "Berth"

// Options are the settings of a process; everything else is in the plugin's
// arguments.
type Options struct {
	// SuspendAll starts with every policy off: they are loaded and reported as
	// Suspended, and decide nothing.
	SuspendAll bool
	// CacheDir keeps compiled modules for later processes. It must be the
	// owner's alone, since what is in it runs as native code. Empty keeps them
	// in memory.
	CacheDir string
	// Dynamic is what declared resources and nodeMetrics are read with. The
	// default is made from the scheduler's own connection.
	Dynamic dynamic.Interface
}

// Host is the state of one scheduler: its policies, the plugins of its profiles
// and what they share. Two in one process have nothing in common but metrics.
// Its methods may be called from any goroutine.
type Host struct {
	options Options
	clock   func() time.Time

	active     atomic.Pointer[activeSet]
	rejections rejections
	gate       gate
	scores     scoreStore
	holds      holds
	evictor    *evictor.Evictor
	state      policyState
	waker      *waker
	keys       sortKeys
	aggregates aggregates
	retries    retries
	hintArgs   eventArgs
	running    runningCycles
	closed     atomic.Bool    // policies have no say any more, and no cycle begins
	closing    sync.WaitGroup // versions given back under the queue's lock
	events     eventLimits

	cycleMu sync.Mutex // serial cycles: guards what follows
	open    []*cycle   // begun, and not known to have ended: one, or those of group
	group   *group     // that the scheduler is at
	// simulating says that this host runs a simulation that looks for victims.
	simulating bool
	cycles     uint64
	index      nodeIndex

	mu               sync.Mutex // start: guards what follows
	args             Args
	plugins          []*Berth // one a profile
	first            *Berth   // whose handle activates pods; nil before start
	weights          map[string]int64
	placementWeights map[string]int64
	logger           klog.Logger
	manager          *manager
	leading          bool
}

// New returns the Host of one scheduler. It starts when the scheduler makes the
// first plugin.
func New(options Options) *Host {
	h := &Host{options: options, clock: time.Now, weights: map[string]int64{}, placementWeights: map[string]int64{}}
	h.active.Store(newActiveSet(0, nil))
	h.scores.index = &h.index
	h.evictor = evictor.New(h.activate)
	h.state.expired = func(name string) { h.resourceChanged(name, nil, nil) }
	h.waker = newWaker(h)
	return h
}

// Registry returns the factories of the host's plugins by name, for this
// scheduler alone.
func (h *Host) Registry() frameworkruntime.Registry {
	return frameworkruntime.Registry{Name: h.newPlugin, SortName: h.newQueueSort, PlacementName: h.newPlacement}
}

// newPlugin makes the plugin of a profile. The first starts the host: ctx ends
// it.
func (h *Host) newPlugin(ctx context.Context, obj runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := parseArgs(obj)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	b := &Berth{host: h, handle: handle, profile: handle.ProfileName()}
	h.plugins = append(h.plugins, b)
	if h.first != nil {
		if args != h.args {
			return nil, fmt.Errorf("profile %q: arguments of plugin %s: want those of profile %q, since they concern the process", b.profile, Name, h.first.profile)
		}
		return b, nil
	}
	metrics.Register()
	h.args, h.first, h.logger = args, b, klog.LoggerWithName(klog.FromContext(ctx), Name)
	if h.manager, err = startManager(ctx, h, handle); err != nil {
		return nil, err
	}
	h.manager.setLeading(h.leading)
	if f := handle.SharedInformerFactory(); f != nil {
		if _, err := f.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: h.podChanged, DeleteFunc: h.podGone}); err != nil {
			return nil, fmt.Errorf("watch pods: %w", err)
		}
		f.Policy().V1().PodDisruptionBudgets().Informer() // asked for before the factory starts
	}
	go h.waker.run(ctx)
	go h.gateDeadline(ctx, args.startDeadline())
	return b, nil
}

// podGone forgets a deleted pod.
func (h *Host) podGone(obj any) {
	if t, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = t.Obj
	}
	if pod, ok := obj.(*v1.Pod); ok {
		h.rejections.drop(pod.UID)
		h.evictor.Gone(pod.UID)
		h.keys.forget(pod.UID)
		h.retries.forget(pod.UID)
	}
}

// podChanged forgets the sort key of a pod that is bound.
func (h *Host) podChanged(before, after any) {
	old, _ := before.(*v1.Pod)
	pod, _ := after.(*v1.Pod)
	if old != nil && pod != nil && old.Spec.NodeName == "" && pod.Spec.NodeName != "" {
		h.keys.forget(pod.UID)
		h.retries.forget(pod.UID)
	}
}

// SetProfiles tells the host the weights that a scheduler configuration gives
// Berth, and says in the log whether Berth comes before the plugins that would
// take its turn. Without it Berth's weight counts as 1. It is called after the
// plugins are made and before the first cycle.
func (h *Host) SetProfiles(profiles []config.KubeSchedulerProfile) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range profiles {
		if p.Plugins == nil {
			continue
		}
		weight, enabled := weightOf(p.Plugins.Score, p.Plugins.MultiPoint)
		if !enabled {
			continue
		}
		h.weights[p.SchedulerName] = weight
		h.placementWeights[p.SchedulerName], _ = weightOf(p.Plugins.PlacementScore, p.Plugins.MultiPoint)
		for _, point := range []struct {
			name string
			set  config.PluginSet
		}{{"postFilter", p.Plugins.PostFilter}, {"podGroupPostFilter", p.Plugins.PodGroupPostFilter}, {"bind", p.Plugins.Bind}} {
			first := len(point.set.Enabled) > 0 && point.set.Enabled[0].Name == Name
			h.logger.Info("Plugin order", "profile", p.SchedulerName, "point", point.name, "berthFirst", first)
		}
		if enables(p.Plugins.QueueSort, SortName) && !enables(p.Plugins.PreEnqueue, SortName) && !enables(p.Plugins.MultiPoint, SortName) {
			h.logger.Error(nil, "Plugin "+SortName+" orders the queue, but it isn't enabled in preEnqueue, where it takes the keys: all are 0", "profile", p.SchedulerName)
		}
	}
}

func enables(set config.PluginSet, name string) bool {
	return slices.ContainsFunc(set.Enabled, func(p config.Plugin) bool { return p.Name == name })
}

// weightOf is Berth's weight at a point, as the framework resolves it.
func weightOf(point, multiPoint config.PluginSet) (int64, bool) {
	for _, set := range []config.PluginSet{point, multiPoint} {
		for _, e := range set.Enabled {
			if e.Name == Name {
				return max(int64(e.Weight), 1), true
			}
		}
	}
	return 1, false
}

// weight is Berth's weight in a profile: for nodes, or for placements.
func (h *Host) weight(profile string, at abi.Point) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at == abi.ScorePlacement {
		return max(h.placementWeights[profile], 1)
	}
	return max(h.weights[profile], 1)
}

// effectiveWeights is what a scoring policy's weight amounts to in each profile
// that it may be asked in, in the units of an in-tree plugin's weight.
func (h *Host) effectiveWeights(p *policy.Policy) map[string]float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	set := h.active.Load()
	weights := map[string]float64{}
	for profile, w := range h.weights {
		if p.MatchesProfile(profile) {
			weights[profile] = float64(p.Weight*w) / float64(max(w, set.scoreWeights(profile, abi.Score)))
		}
	}
	return weights
}

// SetLeading tells the host whether this process may write statuses, events
// and last-good copies. It starts without leave.
func (h *Host) SetLeading(leading bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leading = leading
	if h.manager != nil {
		h.manager.setLeading(leading)
	}
}

// leads says whether this process may write.
func (h *Host) leads() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.leading
}

// recorder writes Events.
func (h *Host) recorder() events.EventRecorder { return h.first.handle.EventRecorder() }

// Close frees what the host holds: policies stop deciding, instances end. The
// scheduler must have stopped.
func (h *Host) Close() {
	h.closed.Store(true)
	h.evictor.Close()
	h.cycleMu.Lock()
	h.open = nil
	if h.group != nil {
		h.group.end()
	}
	h.cycleMu.Unlock()
	h.closeHolds()
	for _, c := range h.running.all() { // also those that wait in Permit, or bind
		c.end()
	}
	h.closing.Wait()
	h.mu.Lock()
	m := h.manager
	h.mu.Unlock()
	if m != nil {
		m.close()
	}
}

// activate moves pods to the active queue. It must not be called under the
// queue's lock. Activate skips back-off, so it is called once for all pods of
// one cause.
func (h *Host) activate(pods []*v1.Pod) {
	if len(pods) == 0 {
		return
	}
	set := make(map[string]*v1.Pod, len(pods))
	for _, p := range pods {
		set[p.Namespace+"/"+p.Name] = p
	}
	h.first.handle.Activate(h.logger, set)
}
