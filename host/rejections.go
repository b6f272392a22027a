// SPDX-License-Identifier: Apache-2.0

package host

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// rejections records which policies turned a pod down in its last attempt. The
// queue knows only "Berth"; hints and swaps ask here. It is safe for
// concurrent use.
type rejections struct {
	mu   sync.RWMutex
	pods map[types.UID]*rejection
}

// rejection is a pod's record.
type rejection struct {
	pod *v1.Pod
	by  []*entry // of the active set of that attempt
}

// clear begins a new attempt.
func (r *rejections) clear(pod *v1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if rec := r.pods[pod.UID]; rec != nil {
		rec.pod, rec.by = pod, nil
	}
}

// add notes that a policy turned the pod down. It is called before the pod is
// queued again, from many goroutines.
func (r *rejections) add(pod *v1.Pod, e *entry) {
	r.mu.RLock()
	rec := r.pods[pod.UID]
	known := rec != nil && rec.has(e)
	r.mu.RUnlock()
	if known {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pods == nil {
		r.pods = map[types.UID]*rejection{}
	}
	rec = r.pods[pod.UID]
	if rec == nil {
		rec = &rejection{pod: pod}
		r.pods[pod.UID] = rec
	}
	if !rec.has(e) {
		rec.by = append(rec.by, e)
	}
}

func (rec *rejection) has(e *entry) bool {
	for _, x := range rec.by {
		if x == e {
			return true
		}
	}
	return false
}

// forget drops a pod that is bound or gone.
func (r *rejections) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pods, uid)
}

// by returns who turned the pod down; nil if nothing is known.
func (r *rejections) by(uid types.UID) []*entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if rec := r.pods[uid]; rec != nil {
		return append([]*entry(nil), rec.by...)
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

// size is the number of pods with a record.
func (r *rejections) size() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.pods)
}
