// SPDX-License-Identifier: Apache-2.0

// Package evictor makes room for pods: it evicts the victims that a policy
// chose, holds the pod that needs the room until they are gone, and tries it
// again when they are, or when one can't be evicted.
//
//	Start ──► nominations of lower priority are cleared, victims evicted
//	  │         (in memory, or deleted on the API server)
//	  │                 │ all called for        │ a call failed
//	  ▼                 ▼                       ▼
//	Holding ◄── until the last victim is gone,  or a back-off is over
//	                    │                       │
//	                    └───────► activate ◄────┘
//
// Nothing of this survives a restart but what is on the API server: the
// nomination, and the condition that names the preemptor on each victim.
package evictor

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/host/metrics"
)

const (
	// calls is how many victims are evicted at once.
	calls = 16
	// margin is how much longer than their grace period victims may take before
	// the preemptor is tried again all the same.
	margin = 30 * time.Second
	// firstRetry is how long a preemptor waits after an eviction failed; it
	// doubles up to lastRetry.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// Victim is a pod to evict.
type Victim struct {
	Pod  *v1.Pod
	Node string
	// Violates is the disruption budget that the eviction violates.
	Violates string
}

// Preemption is what a policy asked for.
type Preemption struct {
	Policy string
	Handle fwk.Handle
	// Pods need the room. Kind ("pod", "pod group") and UID say on whose behalf
	// the victims go; Object is what its event is about.
	Pods     []*v1.Pod
	Kind     string
	UID      types.UID
	Object   runtime.Object
	Priority int32
	// Nodes are those that the pods are nominated to.
	Nodes   []string
	Victims []Victim
	Logger  klog.Logger
}

// Evictor carries out preemptions. It is safe for concurrent use. Of its methods
// only Holding may be called under the scheduling queue's lock.
type Evictor struct {
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	activate func(pods []*v1.Pod)
	slots    chan struct{}
	budgets  budgets
	retry    time.Duration // firstRetry, but in tests

	mu       sync.Mutex // guards what follows
	records  map[types.UID]*record
	failures map[types.UID]int // in a row, by preemptor
}

// record is a preemption from its start until its pods are bound or gone, or
// have been told that no victim is left.
type record struct {
	*Preemption
	left    map[types.UID]string // victims that aren't gone yet, and their nodes
	seen    map[types.UID]string // the same, but for those that the snapshot may still hold
	working bool                 // evictions are under way
	open    bool                 // its pods may be tried
	failed  string               // why an eviction failed
}

// New returns an Evictor. activate moves pods to the active queue.
func New(activate func(pods []*v1.Pod)) *Evictor {
	ctx, cancel := context.WithCancel(context.Background())
	return &Evictor{
		ctx: ctx, cancel: cancel, activate: activate, slots: make(chan struct{}, calls), retry: firstRetry,
		records: map[types.UID]*record{}, failures: map[types.UID]int{},
	}
}

// Close ends what is under way and waits for it. Preemptors aren't activated
// any more.
func (e *Evictor) Close() {
	e.cancel()
	e.wg.Wait()
}

// Start begins a preemption and returns at once. From now on its pods are held.
func (e *Evictor) Start(p *Preemption) {
	r := &record{Preemption: p, left: map[types.UID]string{}, seen: map[types.UID]string{}, working: true}
	for _, v := range p.Victims {
		r.left[v.Pod.UID], r.seen[v.Pod.UID] = v.Node, v.Node
		if v.Violates != "" {
			metrics.BudgetViolations.WithLabelValues(p.Policy).Inc()
		}
	}
	e.budgets.spend(p)
	e.mu.Lock()
	for _, pod := range p.Pods {
		e.records[pod.UID] = r
	}
	e.mu.Unlock()
	if e.ctx.Err() != nil {
		return
	}
	e.wg.Go(func() { e.run(r) })
}

// run evicts the victims of a preemption.
func (e *Evictor) run(r *record) {
	if err := clearNominations(e.ctx, r.Preemption); err != nil {
		r.Logger.Error(err, "Clear nominations", "policy", r.Policy)
	}
	var (
		wg      sync.WaitGroup
		longest time.Duration
	)
	for _, v := range r.Victims {
		longest = max(longest, grace(v.Pod))
		wg.Go(func() {
			select {
			case e.slots <- struct{}{}:
				defer func() { <-e.slots }()
			case <-e.ctx.Done():
				return
			}
			e.done(r, v, e.evict(e.ctx, r.Preemption, v))
		})
	}
	wg.Wait()
	if e.ctx.Err() != nil {
		return
	}
	e.mu.Lock()
	r.working = false
	failed, none := r.failed != "", len(r.left) == 0
	wait := longest + margin
	if failed {
		wait = min(e.retry<<min(e.failures[r.UID], 10), lastRetry)
		e.failures[r.UID]++
	} else {
		delete(e.failures, r.UID)
	}
	e.mu.Unlock()
	switch {
	case failed:
		r.Handle.EventRecorder().Eventf(r.Object, nil, v1.EventTypeWarning, "PreemptionFailed", "Preempting", "policy %s: %s", r.Policy, r.failed)
		fallthrough
	case !none:
		time.AfterFunc(wait, func() { e.release(r) })
	default:
		e.release(r)
	}
}

// done notes how an eviction ended.
func (e *Evictor) done(r *record, v Victim, result outcome) {
	metrics.Evictions.WithLabelValues(r.Policy, result.String()).Inc()
	e.mu.Lock()
	defer e.mu.Unlock()
	switch result.how {
	case failed:
		r.failed = fmt.Sprintf("evict pod %s: %v", klog.KObj(v.Pod), result.err)
		delete(r.left, v.Pod.UID)
		delete(r.seen, v.Pod.UID) // it is there to stay
	case gone, cancelled:
		delete(r.left, v.Pod.UID)
	}
}

// release lets the pods of a preemption be tried, once.
func (e *Evictor) release(r *record) {
	e.mu.Lock()
	was := r.open
	r.open = true
	e.mu.Unlock()
	if !was && e.ctx.Err() == nil {
		e.activate(r.Pods)
	}
}

// Gone tells that a pod doesn't exist any more: a victim, or one that waited.
func (e *Evictor) Gone(uid types.UID) {
	e.Forget(uid)
	var last []*record
	e.mu.Lock()
	for _, r := range e.distinct() {
		if _, ok := r.left[uid]; !ok {
			continue
		}
		delete(r.left, uid)
		if len(r.left) == 0 && !r.working {
			r.open = true
			last = append(last, r)
		}
	}
	e.mu.Unlock()
	for _, r := range last {
		if e.ctx.Err() == nil {
			e.activate(r.Pods)
		}
	}
}

// distinct lists the records, which a group's pods share. The caller holds mu.
func (e *Evictor) distinct() []*record {
	var list []*record
	known := map[*record]bool{}
	for _, r := range e.records {
		if !known[r] {
			known[r] = true
			list = append(list, r)
		}
	}
	return list
}

// Forget drops what is known about a preemptor that is bound or gone.
func (e *Evictor) Forget(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.records[uid]
	if r == nil {
		return
	}
	delete(e.records, uid)
	for _, pod := range r.Pods {
		if e.records[pod.UID] == r {
			return
		}
	}
	delete(e.failures, r.UID)
}

// Holding says why a pod must not be tried yet.
func (e *Evictor) Holding(uid types.UID) (string, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.records[uid]
	switch {
	case r == nil || r.open:
		return "", false
	case r.failed != "" && !r.working:
		return fmt.Sprintf("%s: %s", r.Policy, r.failed), true
	}
	return fmt.Sprintf("%s: waiting for %d victims to end", r.Policy, len(r.left)), true
}

// Knows says whether a pod has preempted others and hasn't been bound since.
func (e *Evictor) Knows(uid types.UID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.records[uid] != nil
}

// Remaining is the number of a preemptor's victims that a snapshot still holds:
// as long as there are any, it must not choose others.
func (e *Evictor) Remaining(uid types.UID, holds func(node string, victim types.UID) bool) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.records[uid]
	if r == nil {
		return 0
	}
	for victim, node := range r.seen {
		if !holds(node, victim) {
			delete(r.seen, victim)
		}
	}
	if len(r.seen) == 0 && r.open && r.failed == "" {
		delete(e.records, uid)
	}
	return len(r.seen)
}

// grace is how long a pod may take to end.
func grace(pod *v1.Pod) time.Duration {
	seconds := pod.Spec.TerminationGracePeriodSeconds
	if pod.DeletionTimestamp != nil {
		seconds = pod.DeletionGracePeriodSeconds
	}
	if seconds == nil {
		return v1.DefaultTerminationGracePeriodSeconds * time.Second
	}
	return time.Duration(*seconds) * time.Second
}
