// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
)

// wakeDelay is how long a wake-up waits for others: one change often comes with
// more. wakeEvery is the least time between two wake-ups for one policy's sake,
// since Activate skips back-off.
const (
	wakeDelay = 100 * time.Millisecond
	wakeEvery = time.Second
)

// maxChanges is how many changes of resources wait to be asked about, by policy.
// More wake every pod that the policy turned down.
const maxChanges = 32

// maxNames is how many pods a policy may name in the time between two wake-ups.
const maxNames = 10_000

// waker brings pods back to the active queue for reasons that no event of the
// framework covers. It gathers wake-ups and calls Activate from a goroutine of
// its own, so callers may hold any lock, the queue's too. Activate has gated
// pods pass PreEnqueue again.
type waker struct {
	activate func([]*v1.Pod)                                           // may take the queue's lock
	rejected func(policy string) []*v1.Pod                             // whom a policy turned down
	find     func(namespace, name string) *v1.Pod                      // nil if there is none, or it has a node
	helps    func(policy string, pod *v1.Pod, c []resourceChange) bool // may one of the changes help the pod?
	kick     chan struct{}                                             // something is due earlier

	mu       sync.Mutex // guards what follows
	pods     map[types.UID]duePod
	policies map[string]*duePolicy
	next     time.Time // when run looks again; zero is never
}

// duePod is when to wake a pod: for one reason soon, for another later. Zero is
// never.
type duePod struct {
	pod         *v1.Pod
	soon, later time.Time
}

// duePolicy is what is to be done for a policy's sake, and when it was done the
// last time.
type duePolicy struct {
	at, last time.Time   // at zero: nothing is due
	later    []time.Time // when to wake all that it turned down, ascending
	all      bool        // wake all that it turned down
	changes  []resourceChange
	names    map[string]struct{} // namespace/name
}

// resourceChange is that of an object of a resource: either may be nil.
type resourceChange struct{ before, after any }

// newWaker makes the waker of a host.
func newWaker(h *Host) *waker {
	return &waker{
		activate: h.activate,
		rejected: h.rejections.ofPolicy,
		find:     h.findPending,
		helps:    h.changeHelps,
		kick:     make(chan struct{}, 1),
		pods:     map[types.UID]duePod{},
		policies: map[string]*duePolicy{},
	}
}

// wake tries pods again, soon.
func (h *Host) wake(pods ...*v1.Pod) { h.waker.wakePods(pods...) }

// wakeAfter tries a pod again when d is over. It takes the place of an earlier
// wakeAfter for the pod.
func (h *Host) wakeAfter(d time.Duration, pod *v1.Pod) { h.waker.wakeLater(d, pod) }

// wakePolicy tries the pods again that a policy turned down, soon.
func (h *Host) wakePolicy(name string) {
	h.waker.forPolicy(name, func(p *duePolicy) { p.all = true })
}

// wakePolicyAfter tries the pods again that a policy has turned down when d is
// over.
func (h *Host) wakePolicyAfter(d time.Duration, name string) {
	h.waker.policyLater(d, name)
}

// resourceChanged tells of an object of a resource that a policy declared: what
// it was and what it is, a runtime.Object, a tree, or nil. A policy that asks for
// the event is asked which pods it helps; else all that it turned down are tried
// again.
func (h *Host) resourceChanged(policyName string, before, after any) {
	h.waker.forPolicy(policyName, func(p *duePolicy) {
		if p.changes = append(p.changes, resourceChange{before, after}); len(p.changes) > maxChanges {
			p.all, p.changes = true, nil
		}
	})
}

func (w *waker) wakePods(pods ...*v1.Pod) {
	at := time.Now().Add(wakeDelay)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range pods {
		due := w.pods[p.UID]
		due.pod, due.soon = p, earliest(due.soon, at)
		w.pods[p.UID] = due
	}
	w.schedule(at)
}

func (w *waker) wakeLater(d time.Duration, pod *v1.Pod) {
	at := time.Now().Add(d)
	w.mu.Lock()
	defer w.mu.Unlock()
	due := w.pods[pod.UID]
	due.pod, due.later = pod, at
	w.pods[pod.UID] = due
	w.schedule(at)
}

// cancelLater takes back a wakeLater.
func (w *waker) cancelLater(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	due, ok := w.pods[uid]
	if due.later = (time.Time{}); ok && due.soon.IsZero() {
		delete(w.pods, uid)
	} else if ok {
		w.pods[uid] = due
	}
}

// policy is what is due for a policy. The caller holds mu.
func (w *waker) policy(name string) *duePolicy {
	p := w.policies[name]
	if p == nil {
		p = &duePolicy{}
		w.policies[name] = p
	}
	return p
}

func (w *waker) forPolicy(name string, note func(*duePolicy)) {
	at := time.Now().Add(wakeDelay)
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.policy(name)
	note(p)
	if soonest := p.last.Add(wakeEvery); at.Before(soonest) {
		at = soonest
	}
	p.at = earliest(p.at, at)
	w.schedule(p.at)
}

func (w *waker) policyLater(d time.Duration, name string) {
	at := time.Now().Add(d).Truncate(wakeEvery).Add(wakeEvery)
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.policy(name)
	if i, found := slices.BinarySearchFunc(p.later, at, time.Time.Compare); !found {
		p.later = slices.Insert(p.later, i, at)
	}
	w.schedule(at)
}

// earliest of two times; zero is never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// isDue says whether a time has come; zero never does.
func isDue(at, now time.Time) bool { return !at.IsZero() && !at.After(now) }

// schedule makes run look at that time. The caller holds mu.
func (w *waker) schedule(at time.Time) {
	if !w.next.IsZero() && !at.Before(w.next) {
		return
	}
	w.next = at
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// run wakes what is due until ctx ends.
func (w *waker) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.kick:
		case <-timer.C:
		}
		next := w.flush(time.Now())
		if next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(next))
		}
	}
}

// flush wakes what is due and returns when to look again, zero if nothing
// waits.
func (w *waker) flush(now time.Time) time.Time {
	set := map[types.UID]*v1.Pod{}
	w.mu.Lock()
	for uid, p := range w.pods {
		if !isDue(p.soon, now) && !isDue(p.later, now) {
			continue
		}
		set[uid] = p.pod
		if p.soon = (time.Time{}); isDue(p.later, now) || p.later.IsZero() {
			delete(w.pods, uid)
		} else {
			w.pods[uid] = p
		}
	}
	due := w.duePolicies(now)
	w.mu.Unlock()

	for name, p := range due {
		for key := range p.names {
			namespace, name, _ := strings.Cut(key, "/")
			if pod := w.find(namespace, name); pod != nil {
				set[pod.UID] = pod
			}
		}
		if !p.all && len(p.changes) == 0 {
			continue
		}
		for _, pod := range w.rejected(name) {
			if set[pod.UID] == nil && (p.all || w.helps(name, pod, p.changes)) {
				set[pod.UID] = pod
			}
		}
	}
	pods := make([]*v1.Pod, 0, len(set))
	for _, p := range set {
		pods = append(pods, p)
	}
	w.activate(pods)

	w.mu.Lock()
	defer w.mu.Unlock()
	w.next = time.Time{}
	for _, p := range w.pods {
		w.next = earliest(w.next, earliest(p.soon, p.later))
	}
	for _, p := range w.policies {
		w.next = earliest(w.next, p.at)
		if len(p.later) > 0 {
			w.next = earliest(w.next, p.later[0])
		}
	}
	return w.next
}

// duePolicies takes out what is due for policies. The caller holds mu.
func (w *waker) duePolicies(now time.Time) map[string]duePolicy {
	due := map[string]duePolicy{}
	for name, p := range w.policies {
		for len(p.later) > 0 && isDue(p.later[0], now) {
			p.later, p.all, p.at = p.later[1:], true, now
		}
		switch {
		case isDue(p.at, now):
			due[name] = *p
			*p = duePolicy{last: now, later: p.later}
		case p.at.IsZero() && len(p.later) == 0 && now.Sub(p.last) >= wakeEvery:
			delete(w.policies, name)
		}
	}
	return due
}

// findPending looks a pod up that has no node yet.
func (h *Host) findPending(namespace, name string) *v1.Pod {
	f := h.first.handle.SharedInformerFactory()
	if f == nil {
		return nil
	}
	pod, err := f.Core().V1().Pods().Lister().Pods(namespace).Get(name)
	if err != nil || pod.Spec.NodeName != "" {
		return nil
	}
	return pod
}

// carryActivate carries out the intent activate. It is bounded as every wake-up
// for a policy's sake is.
func carryActivate(a *asking, v abi.Value) {
	list, _ := v.Get("pods")
	a.host.waker.forPolicy(a.version.name, func(p *duePolicy) {
		if p.names == nil {
			p.names = map[string]struct{}{}
		}
		for i := range list.Len() {
			if len(p.names) < maxNames {
				p.names[list.At(i).Text()] = struct{}{}
			}
		}
	})
}
