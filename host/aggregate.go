// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	resourcehelper "k8s.io/component-helpers/resource"
)

// aggregates are sums over the pods that have a node and haven't ended, by
// namespace or by the value of a label: from the informer's events, and before
// those from Reserve, so that what is decided counts at once. They are kept while
// a policy declares one. It is safe for concurrent use.
type aggregates struct {
	used atomic.Bool // a policy declares one

	mu    sync.RWMutex // guards what follows
	users map[string]int
	pods  map[types.UID]counted
	sums  map[string]map[string]*sum // by aggregate, value
	watch cache.ResourceEventHandlerRegistration
}

// counted is a pod as it is in the sums.
type counted struct {
	pod      *v1.Pod
	requests map[string]int64
	assumed  bool // no event said yet that it has a node
}

// sum is what the pods of one value come to.
type sum struct {
	pods     int64
	requests map[string]int64
}

// use keeps aggregates for one more version.
func (a *aggregates) use(h *Host, names []string) {
	if len(names) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.users == nil {
		a.users, a.pods, a.sums = map[string]int{}, map[types.UID]counted{}, map[string]map[string]*sum{}
	}
	for _, name := range names {
		if a.users[name]++; a.users[name] > 1 {
			continue
		}
		a.sums[name] = map[string]*sum{}
		for _, c := range a.pods {
			a.count(name, c, 1)
		}
	}
	if a.watch != nil || h.first == nil {
		return
	}
	f := h.first.handle.SharedInformerFactory()
	if f == nil {
		return
	}
	watch, err := f.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { a.seen(obj) },
		UpdateFunc: func(_, obj any) { a.seen(obj) },
		DeleteFunc: func(obj any) {
			if t, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = t.Obj
			}
			if pod, ok := obj.(*v1.Pod); ok {
				a.remove(pod.UID)
			}
		},
	})
	if err != nil {
		h.logger.Error(err, "Watch pods for aggregates")
		return
	}
	a.watch = watch
	a.used.Store(true)
}

// firstCount is how long a new version waits for the pods to be counted. It can
// do without: reads say not ready then.
const firstCount = 10 * time.Second

// wait returns when the pods are counted, or it has taken too long.
func (a *aggregates) wait(ctx context.Context) {
	a.mu.RLock()
	watch := a.watch
	a.mu.RUnlock()
	if watch == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, firstCount)
	defer cancel()
	cache.WaitForCacheSync(ctx.Done(), watch.HasSynced)
}

// drop ends the use of a version. The last one ends the counting.
func (a *aggregates) drop(h *Host, names []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range names {
		if a.users[name]--; a.users[name] <= 0 {
			delete(a.users, name)
			delete(a.sums, name)
		}
	}
	if len(a.users) > 0 || a.watch == nil {
		return
	}
	a.used.Store(false)
	if err := h.first.handle.SharedInformerFactory().Core().V1().Pods().Informer().RemoveEventHandler(a.watch); err != nil {
		h.logger.Error(err, "Stop watching pods for aggregates")
	}
	a.watch = nil
	clear(a.pods)
}

// seen takes a pod as the API server has it.
func (a *aggregates) seen(obj any) {
	pod, ok := obj.(*v1.Pod)
	switch {
	case !ok:
	case pod.Spec.NodeName == "": // may be assumed: Unreserve says if it isn't any more
	case pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed:
		a.remove(pod.UID)
	default:
		a.put(counted{pod: pod, requests: requestsOf(pod)})
	}
}

// assume counts a pod that was given a node.
func (a *aggregates) assume(pod *v1.Pod) {
	if a.used.Load() {
		a.put(counted{pod: pod, requests: requestsOf(pod), assumed: true})
	}
}

// unassume takes assume back, unless the pod has its node by now.
func (a *aggregates) unassume(uid types.UID) {
	if !a.used.Load() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pods[uid].assumed {
		a.take(uid)
	}
}

func (a *aggregates) put(c counted) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.watch == nil || c.assumed && a.pods[c.pod.UID].pod != nil {
		return
	}
	a.take(c.pod.UID)
	a.pods[c.pod.UID] = c
	for name := range a.sums {
		a.count(name, c, 1)
	}
}

func (a *aggregates) remove(uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.take(uid)
}

// take takes a pod out of the sums. The caller holds mu.
func (a *aggregates) take(uid types.UID) {
	c, ok := a.pods[uid]
	if !ok {
		return
	}
	delete(a.pods, uid)
	for name := range a.sums {
		a.count(name, c, -1)
	}
}

// count adds a pod to a sum, or takes it out. The caller holds mu.
func (a *aggregates) count(name string, c counted, sign int64) {
	value, ok := aggregateValue(name, c.pod)
	if !ok {
		return
	}
	s := a.sums[name][value]
	if s == nil {
		s = &sum{requests: map[string]int64{}}
		a.sums[name][value] = s
	}
	s.pods += sign
	for resource, n := range c.requests {
		if s.requests[resource] += sign * n; s.requests[resource] == 0 {
			delete(s.requests, resource)
		}
	}
	if s.pods == 0 {
		delete(a.sums[name], value)
	}
}

// aggregateValue is what a pod counts under; false if under nothing.
func aggregateValue(name string, pod *v1.Pod) (string, bool) {
	if key, ok := strings.CutPrefix(name, "label/"); ok {
		value, ok := pod.Labels[key]
		return value, ok
	}
	return pod.Namespace, true
}

// requestsOf is what a pod asks for, in the units of view records: cpu in
// millicores, every other resource in its unit.
func requestsOf(pod *v1.Pod) map[string]int64 {
	list := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{UseStatusResources: true})
	requests := make(map[string]int64, len(list))
	for name, q := range list {
		if name == v1.ResourceCPU {
			requests[string(name)] = q.MilliValue()
		} else {
			requests[string(name)] = q.Value()
		}
	}
	return requests
}

// readAggregate answers the read aggregate. A value that no pod has is a sum of
// nothing.
func readAggregate(r *reading) readAnswer {
	name, a := r.part(0), &r.host.aggregates
	if !slices.Contains(r.version.desc.Aggregates, name) {
		return refused
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.watch == nil || !a.watch.HasSynced() {
		return notReady
	}
	requests := map[string]any{}
	var pods int64
	if s := a.sums[name][r.part(1)]; s != nil {
		pods = s.pods
		for resource, n := range s.requests {
			requests[resource] = n
		}
	}
	return readAnswer{tree: map[string]any{"pods": pods, "requests": requests}}
}
