// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/guest"
)

// graceOfPermit is how much later than the last hold's timeout the framework's
// comes: it would reject the pod without a policy's name.
const graceOfPermit = time.Second

// Permit asks the policies in order whether the pod may be bound now. One that
// says wait holds the pod until it allows or rejects it, or until its time is
// over; the pod goes on when nobody holds it any more.
func (b *Berth) Permit(_ context.Context, state fwk.CycleState, _ *v1.Pod, node string) (*fwk.Status, time.Duration) {
	cs := stateOf(state)
	if cs == nil || !cs.implements(abi.Permit) {
		return nil, 0
	}
	if cs.done.Load() {
		return fwk.AsStatus(errClosed), 0
	}
	at, err := b.placeOf(abi.Permit, node)
	if err != nil {
		return fwk.AsStatus(err), 0
	}
	h := b.host
	w := h.holds.begin(cs.cycle, b.handle, node, h.clock())
	var reasons []string
	var longest time.Duration
	for i, cp := range cs.policies {
		status, timeout := cp.permit(cs, i, at)
		switch {
		case status == nil:
		case status.IsWait():
			h.holds.add(w, cp.entry, timeout)
			reasons = append(reasons, status.Reasons()...)
			longest = max(longest, timeout)
		case status.IsRejected():
			h.holds.drop(cs.cycle)
			return b.reject(cs.cycle, cp, status), 0
		default:
			h.holds.drop(cs.cycle)
			return status, 0
		}
	}
	rejected, wait := h.waits(w)
	switch {
	case rejected != nil:
		h.recordWaiting(w, rejected.policy)
		return fwk.NewStatus(fwk.Unschedulable, rejected.reason), 0
	case wait:
		return fwk.NewStatus(fwk.Wait, reasons...), longest + graceOfPermit
	}
	return nil, 0
}

// permit asks one policy. With Wait it is for how long at most.
func (cp *cyclePolicy) permit(cs *cycleState, i int, at *place) (*fwk.Status, time.Duration) {
	if cp.version == nil || !cp.points[abi.Permit] {
		return nil, 0
	}
	cp.version.mu.Lock()
	defer cp.version.mu.Unlock()
	if f := cp.ask(cs, i, abi.Permit, at); f != nil {
		return cp.onFault(abi.Permit, f), 0
	}
	if cp.result.Code != abi.Wait {
		return cp.judge(abi.Permit), 0
	}
	v, _ := cp.result.Reply.Get("timeout_ns")
	timeout := time.Duration(v.Int())
	if timeout < 0 {
		f := &guest.Fault{Cause: guest.BadResult, Err: fmt.Errorf("timeout_ns: want 0 or more, got %d", timeout)}
		return cp.onFault(abi.Permit, cp.fail(cs.cycle, abi.Permit, f)), 0
	}
	most := cs.host.args.maxPermitWait()
	if timeout == 0 || timeout > most {
		timeout = most
	}
	return cp.judge(abi.Permit), timeout
}

func init() {
	carriers[abi.IntentAllow] = func(a *asking, v abi.Value) {
		a.decide(v, decision{allow: true})
	}
	checkers[abi.IntentReject] = func(_ *asking, v abi.Value) error {
		why, _ := v.Get("reason")
		if err := guest.CheckText(why.Text()); err != nil {
			return fmt.Errorf("reason: %w", err)
		}
		return nil
	}
	carriers[abi.IntentReject] = func(a *asking, v abi.Value) {
		why, _ := v.Get("reason")
		reason := why.Text()
		if reason == "" {
			reason = "rejected while it waited"
		}
		a.decide(v, decision{reason: a.version.name + ": " + reason})
	}
}

// decide ends the policy's hold on a pod. What a version that doesn't decide any
// more says beside the serial cycle, maybe long after the swap, doesn't count.
func (a *asking) decide(v abi.Value, d decision) {
	if slices.Contains(bindingPoints, a.point) && !a.host.decides(a.version) {
		return
	}
	uid, _ := v.Get("pod")
	d.policy = a.version.name
	a.host.decide(types.UID(uid.Text()), nil, d)
}

// decides says whether a version is the one of the active set.
func (h *Host) decides(v *version) bool {
	return slices.ContainsFunc(h.active.Load().entries, func(e *entry) bool { return e.version == v && !e.suspend })
}
