// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/berth-scheduler/berth/cmd/berth-lab/install"
)

// streamInterval is the time between two pods of a stream.
const streamInterval = 50 * time.Millisecond

// stream creates pods, one after the other, and watches them being bound.
type stream struct {
	demo    *demo
	stop    func() // ends the creation; the watch goes on
	stopped chan struct{}
	changed chan struct{} // has an element if a pod was bound since it was taken

	mu   sync.Mutex
	pods map[string]*streamPod
}

// streamPod is what is known about a pod of the stream.
type streamPod struct {
	created time.Time // when the request to create it was sent
	labels  map[string]string
	node    *corev1.Node // nil until it is bound
	bound   time.Time    // when that was seen
}

// startStream starts creating pods. Both the creation and the watch end with
// ctx; an error of either cancels it with that cause.
func (d *demo) startStream(ctx context.Context, cancel context.CancelCauseFunc) (*stream, error) {
	create, stop := context.WithCancel(ctx)
	s := &stream{
		demo: d, stop: stop,
		stopped: make(chan struct{}), changed: make(chan struct{}, 1),
		pods: map[string]*streamPod{},
	}
	factory := informers.NewSharedInformerFactoryWithOptions(d.cluster.Client, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = partLabel + "=" + partSwap }))
	if _, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(pod any) { s.observe(pod.(*corev1.Pod)) },
		UpdateFunc: func(_, pod any) { s.observe(pod.(*corev1.Pod)) },
	}); err != nil {
		stop()
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	go func() {
		defer close(s.stopped)
		if err := s.create(create, ctx); err != nil {
			cancel(err)
		}
	}()
	return s, nil
}

// create creates pods until stop ends. A request that has begun is finished, so
// that what was counted exists.
func (s *stream) create(stop, ctx context.Context) error {
	tick := time.NewTicker(streamInterval)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-stop.Done():
			return nil
		case <-tick.C:
		}
		pod := newPod(partSwap, i, install.SchedulerName, "50m")
		s.mu.Lock()
		s.pods[pod.Name] = &streamPod{created: time.Now(), labels: pod.Labels}
		s.mu.Unlock()
		if err := s.demo.cluster.CreatePods(ctx, []*corev1.Pod{pod}); err != nil {
			return err
		}
	}
}

func (s *stream) observe(pod *corev1.Pod) {
	if pod.Spec.NodeName == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pods[pod.Name]
	if p == nil || p.node != nil {
		return
	}
	p.node, p.bound = s.demo.nodes[pod.Spec.NodeName], time.Now()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// waitBound waits until n pods are bound where the rule allows them.
func (s *stream) waitBound(ctx context.Context, r rule, n int) error {
	for {
		if got := len(s.boundBy(r)); got >= n {
			return nil
		} else if ctx.Err() != nil {
			return fmt.Errorf("wait for %d pods bound by the rule of %s: got %d: %w", n, r.name, got, context.Cause(ctx))
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
		}
	}
}

// boundBy returns the times at which pods were seen bound where the rule allows
// them, in order.
func (s *stream) boundBy(r rule) []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	var times []time.Time
	for _, p := range s.pods {
		if p.node != nil && r.allows(p.labels, p.node) {
			times = append(times, p.bound)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	return times
}

// end stops the creation and returns all pods.
func (s *stream) end() map[string]*streamPod {
	s.stop()
	<-s.stopped
	return s.all()
}

func (s *stream) all() map[string]*streamPod {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.pods)
}
