// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
)

// A decision about a pod that the framework doesn't list as waiting yet is tried
// again after these times: it lists the pod when all Permit plugins have spoken.
const (
	firstRetry = time.Millisecond
	lastRetry  = 100 * time.Millisecond
)

// holds are the waits of policies on pods in Permit. The framework knows only
// "Berth": it is told when a pod's last hold is gone, or when one rejects it. It
// is safe for concurrent use, also under the queue's lock and a version's.
type holds struct {
	mu     sync.Mutex
	pods   map[types.UID]*waiting
	closed bool
}

// waiting is a pod from Permit's begin to its cycle's end. holds.mu guards what
// follows since.
type waiting struct {
	cycle  *cycle
	handle fwk.Handle
	node   string
	since  time.Time

	by      map[string]*hold    // by policy
	early   map[string]decision // of policies that decided before they held
	asked   bool                // Permit has ended, with a hold
	settled *decision           // what the framework is to be told
}

// hold is one policy's wait on a pod.
type hold struct {
	entry   *entry
	timeout time.Duration
	timer   *time.Timer // runs from Permit's end
}

// decision ends a hold.
type decision struct {
	allow  bool
	policy string
	reason string // of a rejection, with the policy's name
}

// begin notes that Permit begins for a pod.
func (h *holds) begin(c *cycle, handle fwk.Handle, node string, now time.Time) *waiting {
	w := &waiting{cycle: c, handle: handle, node: node, since: now, by: map[string]*hold{}, early: map[string]decision{}}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pods == nil {
		h.pods = map[types.UID]*waiting{}
	}
	if old := h.pods[c.pod.UID]; old != nil {
		old.stop()
	}
	h.pods[c.pod.UID] = w
	return w
}

// add makes a hold of a policy.
func (h *holds) add(w *waiting, e *entry, timeout time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.by[e.name] = &hold{entry: e, timeout: timeout}
}

// drop forgets the pod of a cycle that ended.
func (h *holds) drop(c *cycle) {
	if c.pod == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.pods[c.pod.UID]; w != nil && w.cycle == c {
		w.stop()
		delete(h.pods, c.pod.UID)
	}
}

func (w *waiting) stop() {
	for _, x := range w.by {
		x.stop()
	}
}

func (x *hold) stop() {
	if x.timer != nil {
		x.timer.Stop()
		x.timer = nil
	}
}

// end applies a decision to a policy's hold, and says whether the pod is settled
// by it.
func (w *waiting) end(name string, d decision) bool {
	x := w.by[name]
	if x == nil || w.settled != nil {
		return false
	}
	x.stop()
	delete(w.by, name)
	if !d.allow || len(w.by) == 0 {
		w.settled = &d
		w.stop()
	}
	return w.settled != nil
}

// review ends the holds of policies that have no say any more, and says whether
// the pod is settled by it.
func (w *waiting) review(set *activeSet, now time.Time) bool {
	for name, x := range w.by {
		if d, over := set.overrules(name, w.cycle, now); over {
			if w.end(name, d) {
				return true
			}
			x.stop()
		}
	}
	return false
}

// overrules says whether a policy that holds a pod can't decide about it, and
// what then becomes of the hold: what a pod would get that comes to Permit now.
func (s *activeSet) overrules(name string, c *cycle, now time.Time) (decision, bool) {
	released := decision{allow: true, policy: name}
	i := slices.IndexFunc(s.entries, func(e *entry) bool { return e.name == name })
	if i < 0 || !s.entries[i].matches(c.profile, c.pod) {
		return released, true
	}
	v, blocked := s.entries[i].available(now)
	switch {
	case blocked != nil:
		return decision{policy: name, reason: blocked.Message()}, true
	case v == nil || !v.points[abi.Permit]:
		return released, true
	}
	return decision{}, false
}

// waits ends Permit for a pod: decisions that came while it ran are applied. nil
// and false: nobody holds the pod. The timers of the holds run from now on.
func (h *Host) waits(w *waiting) (rejected *decision, wait bool) {
	h.holds.mu.Lock()
	defer h.holds.mu.Unlock()
	for name, d := range w.early {
		w.end(name, d)
	}
	if h.holds.closed {
		return &decision{reason: errClosed.Error()}, false
	}
	w.review(h.active.Load(), h.clock()) // a swap may not have seen this pod
	if len(w.by) == 0 || w.settled != nil {
		if h.holds.pods[w.cycle.pod.UID] == w {
			delete(h.holds.pods, w.cycle.pod.UID)
		}
		if w.settled != nil && !w.settled.allow {
			return w.settled, false
		}
		return nil, false
	}
	w.asked = true
	for name, x := range w.by {
		x.timer = time.AfterFunc(x.timeout, func() {
			h.decide(w.cycle.pod.UID, w, decision{policy: name, reason: fmt.Sprintf("%s: not allowed within %s", name, x.timeout)})
		})
	}
	return nil, true
}

// decide ends a policy's hold on a pod, if it has one. of is nil, or the wait
// that is meant.
func (h *Host) decide(uid types.UID, of *waiting, d decision) {
	h.holds.mu.Lock()
	w := h.holds.pods[uid]
	if w == nil || of != nil && w != of || h.holds.closed {
		h.holds.mu.Unlock()
		return
	}
	if !w.asked {
		w.early[d.policy] = d
		h.holds.mu.Unlock()
		return
	}
	settled := w.end(d.policy, d)
	h.holds.mu.Unlock()
	if settled {
		h.settle(w)
	}
}

// reviewHolds ends the holds of policies that have no say any more: it is called
// when a policy is swapped, gone, turned off or put aside.
func (h *Host) reviewHolds() {
	set, now := h.active.Load(), h.clock()
	var settled []*waiting
	h.holds.mu.Lock()
	for _, w := range h.holds.pods {
		if w.asked && !h.holds.closed && w.review(set, now) {
			settled = append(settled, w)
		}
	}
	h.holds.mu.Unlock()
	for _, w := range settled {
		h.settle(w)
	}
}

// settle tells the framework what became of a pod that waited.
func (h *Host) settle(w *waiting) {
	if d := w.settled; !d.allow {
		h.recordWaiting(w, d.policy)
	}
	h.tell(w, firstRetry)
}

// recordWaiting notes who rejected a pod, before it is queued again.
func (h *Host) recordWaiting(w *waiting, name string) {
	set := h.active.Load()
	if i := slices.IndexFunc(set.entries, func(e *entry) bool { return e.name == name }); i >= 0 {
		e := set.entries[i]
		if h.rejections.add(w.cycle.pod, e) && !h.active.Load().has(e) {
			go h.activate([]*v1.Pod{w.cycle.pod})
		}
	}
}

// tell gives a decision to the framework. Allow and Reject don't block and take
// no lock of the queue's.
func (h *Host) tell(w *waiting, retry time.Duration) {
	wp := w.handle.GetWaitingPod(w.cycle.pod.UID)
	if wp == nil {
		time.AfterFunc(retry, func() {
			h.holds.mu.Lock()
			live := h.holds.pods[w.cycle.pod.UID] == w
			h.holds.mu.Unlock()
			if live {
				h.tell(w, min(2*retry, lastRetry))
			}
		})
		return
	}
	if w.settled.allow {
		wp.Allow(Name)
	} else {
		wp.Reject(Name, w.settled.reason)
	}
}

// closeHolds rejects all pods that wait: the scheduler has stopped, and nobody
// decides any more.
func (h *Host) closeHolds() {
	h.holds.mu.Lock()
	h.holds.closed = true
	all := slices.Collect(maps.Values(h.holds.pods))
	for _, w := range all {
		w.stop()
		if w.settled == nil {
			w.settled = &decision{reason: errClosed.Error()}
		}
	}
	h.holds.mu.Unlock()
	for _, w := range all {
		if wp := w.handle.GetWaitingPod(w.cycle.pod.UID); wp != nil && !w.settled.allow {
			wp.Reject(Name, w.settled.reason)
		}
	}
}
