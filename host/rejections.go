// SPDX-License-Identifier: Apache-2.0

package host

import (
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// maxGone is how many deleted pods are remembered: one that is deleted during
// its attempt would else be recorded and never forgotten. Far fewer are deleted
// while an attempt lasts.
const maxGone = 1024

// rejections records which policies turned a pod down in its last attempt. The
// queue knows only "Berth"; hints and swaps ask here. It is safe for
// concurrent use.
type rejections struct {
	mu   sync.RWMutex
	pods map[types.UID]*rejection
	gone [maxGone]types.UID // a ring of the last deleted pods
	next int
}

// rejection is a pod's record.
type rejection struct {
	pod   *v1.Pod
	by    []*entry // of the active set of that attempt
	gated bool     // by holds the pod back from the queue
}

// clear begins a new attempt.
func (r *rejections) clear(pod *v1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if rec := r.pods[pod.UID]; rec != nil {
		rec.pod, rec.by, rec.gated = pod, nil, false
	}
}

// gate notes that a policy holds the pod back from the queue. Nothing else
// matters for the pod until it passes.
func (r *rejections) gate(pod *v1.Pod, e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.gone[:], pod.UID) {
		return
	}
	if r.pods == nil {
		r.pods = map[types.UID]*rejection{}
	}
	r.pods[pod.UID] = &rejection{pod: pod, by: []*entry{e}, gated: true}
}

// ungate forgets who held a pod back: it passes.
func (r *rejections) ungate(uid types.UID) {
	r.mu.RLock()
	rec := r.pods[uid]
	gated := rec != nil && rec.gated
	r.mu.RUnlock()
	if gated {
		r.forget(uid)
	}
}

// add notes that a policy turned the pod down, and says whether that is new. It
// is called before the pod is queued again, from many goroutines.
func (r *rejections) add(pod *v1.Pod, e *entry) bool {
	r.mu.RLock()
	rec := r.pods[pod.UID]
	known := rec != nil && rec.has(e)
	r.mu.RUnlock()
	if known {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.gone[:], pod.UID) {
		return false
	}
	if r.pods == nil {
		r.pods = map[types.UID]*rejection{}
	}
	rec = r.pods[pod.UID]
	if rec == nil {
		rec = &rejection{pod: pod}
		r.pods[pod.UID] = rec
	}
	if rec.has(e) {
		return false
	}
	rec.by = append(rec.by, e)
	return true
}

func (rec *rejection) has(e *entry) bool { return slices.Contains(rec.by, e) }

// forget drops a pod that is bound.
func (r *rejections) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pods, uid)
}

// drop forgets a pod that is deleted, for good.
func (r *rejections) drop(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pods, uid)
	r.gone[r.next] = uid
	r.next = (r.next + 1) % maxGone
}

// by returns who turned the pod down; nil if nothing is known.
func (r *rejections) by(uid types.UID) []*entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if rec := r.pods[uid]; rec != nil {
		return slices.Clone(rec.by)
	}
	return nil
}

// ofPolicy lists the pods that a policy of this name turned down, for
// Activate.
func (r *rejections) ofPolicy(name string) []*v1.Pod {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var pods []*v1.Pod
	for _, rec := range r.pods {
		for _, e := range rec.by {
			if e.name == name {
				pods = append(pods, rec.pod)
				break
			}
		}
	}
	return pods
}
