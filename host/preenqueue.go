// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/guest"
	"github.com/berth-scheduler/berth/host/policy"
)

// PreEnqueue holds pods until the policies are known, and then as long as a
// policy gates them: the first that does is recorded, so that what concerns it
// and its swap bring the pod here again. It runs under the queue's lock.
func (b *Berth) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
	h := b.host
	if h.gate.hold(pod) {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, gateReason)
	}
	if why, held := h.preempting(pod.UID); held {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, why)
	}
	for {
		set := h.active.Load()
		g, ok := b.gateOf(set, pod)
		switch {
		case !ok: // the set is no longer the active one
		case g == nil:
			h.rejections.ungate(pod.UID)
			h.retries.passed(h, pod.UID)
			return nil
		default:
			h.holdBack(set, g, pod)
			return g.status
		}
	}
}

// gating is why a pod isn't queued.
type gating struct {
	by          *entry
	quarantined bool // by isn't asked
	status      *fwk.Status
}

// quarantineGate is the gate of a policy in quarantine that must not be ignored.
func quarantineGate(e *entry, blocked *fwk.Status) *gating {
	return &gating{e, true, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, blocked.Reasons()...)}
}

// gateOf asks the policies in their order. It returns the gate of the first that
// has one, nil if none does, and false if a version is closed already.
func (b *Berth) gateOf(set *activeSet, pod *v1.Pod) (*gating, bool) {
	h := b.host
	for _, e := range set.entries {
		if e.version == nil || !e.version.points[abi.PreEnqueue] || !e.matches(b.profile, pod) {
			continue
		}
		v, blocked := e.available(h.clock())
		switch {
		case blocked != nil:
			return quarantineGate(e, blocked), true
		case v == nil:
			continue
		case !v.retain():
			return nil, false
		}
		status := b.askPreEnqueue(v, pod)
		h.giveBack(v)
		if status != nil {
			return &gating{by: e, status: status}, true
		}
	}
	return nil, true
}

// askPreEnqueue asks one policy: nil if the pod passes.
func (b *Berth) askPreEnqueue(v *version, pod *v1.Pod) *fwk.Status {
	var said guest.Verdict
	f := b.host.beside(v, b.profile, abi.PreEnqueue, pod, nil, func(r *guest.Result) { said = r.Verdict })
	if f == nil && said.Code != abi.Error {
		return status(said)
	}
	if v.policy.OnFailure(abi.PreEnqueue) == policy.Ignore {
		return nil
	}
	return b.host.holdForFault(&b.host.retries, v, abi.PreEnqueue, pod, said, f)
}

// holdForFault gates a pod because a policy failed, or answered error, and has
// it tried again with growing back-off: nothing else might.
func (h *Host) holdForFault(r *retries, v *version, p abi.Point, pod *v1.Pod, said guest.Verdict, f *guest.Fault) *fwk.Status {
	h.wakeAfter(r.next(pod.UID), pod)
	if f != nil {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, faultReason(v.name, p, f))
	}
	reason := fmt.Sprintf("%s: %s: error", v.name, p)
	if len(said.Reasons) > 0 {
		reason = said.Reasons[0]
	}
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason)
}

// holdBack records who gates a pod. If the policy is another one by now, or no
// longer in quarantine, whoever changed it has looked for its pods before this
// one was recorded.
func (h *Host) holdBack(set *activeSet, g *gating, pod *v1.Pod) {
	h.rejections.gate(pod, g.by)
	current := h.active.Load()
	if current != set && !current.has(g.by) || g.quarantined && !g.by.version.health.quarantined(h.clock()) {
		h.wake(pod)
	}
}

// A pod that a fault gates is tried again after retryBase, then after twice as
// long each time, at most retryMax.
const (
	retryBase = time.Second
	retryMax  = time.Minute
)

// retries counts how often in a row faults gated a pod. It is safe for concurrent
// use.
type retries struct {
	mu   sync.Mutex
	rows map[types.UID]int
}

// next is how long to wait before the pod is tried again.
func (r *retries) next(uid types.UID) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rows == nil {
		r.rows = map[types.UID]int{}
	}
	n := r.rows[uid]
	r.rows[uid] = n + 1
	return min(retryBase<<min(n, 10), retryMax)
}

// forget begins anew. It says whether there was anything to forget.
func (r *retries) forget(uid types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.rows[uid]
	delete(r.rows, uid)
	return ok
}

// passed begins anew for a pod that is no longer gated: nothing has to wake it.
func (r *retries) passed(h *Host, uid types.UID) {
	if r.forget(uid) {
		h.waker.cancelLater(uid)
	}
}
