// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
)

// Reserve tells the policies in order that the pod was given a node, until one
// doesn't agree. From now on the cycle goes on beside the next one. A pod-group
// simulation reserves and reverts.
func (b *Berth) Reserve(_ context.Context, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	b.host.aggregates.assume(pod)
	cs := stateOf(state)
	if cs == nil {
		return nil
	}
	if cs.done.Load() {
		return fwk.AsStatus(errClosed)
	}
	cs.reserved.Store(true)
	cs.assumed.Store(true)
	for i, cp := range cs.policies {
		if cp.version != nil {
			cp.passReserve(cs.states[i])
		}
	}
	if !cs.implements(abi.Reserve) {
		return nil
	}
	at, err := b.placeOf(abi.Reserve, node)
	if err != nil {
		return fwk.AsStatus(err)
	}
	for i, cp := range cs.policies {
		status := cp.reserve(cs, i, at)
		if status.IsRejected() {
			return b.reject(cs.cycle, cp, status)
		}
		if status != nil {
			return status
		}
	}
	return nil
}

// passReserve notes that a policy without reserve is to hear of an Unreserve, and
// that the instance holds a state which is needed beyond the serial cycle.
func (cp *cyclePolicy) passReserve(state uint32) {
	v := cp.version
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.points[abi.Unreserve] && !v.points[abi.Reserve] {
		cp.undo = true
	}
	if state != 0 && !cp.keeps && slices.ContainsFunc(stateful, func(p abi.Point) bool { return v.points[p] }) {
		cp.keeps = true
		v.kept++
	}
}

func (cp *cyclePolicy) reserve(cs *cycleState, i int, at *place) *fwk.Status {
	if cp.version == nil || !cp.points[abi.Reserve] {
		return nil
	}
	cp.version.mu.Lock()
	defer cp.version.mu.Unlock()
	cp.undo = cp.points[abi.Unreserve] // also after a fault: what it did before that is to be undone
	if f := cp.ask(cs, i, abi.Reserve, at); f != nil {
		return cp.onFault(abi.Reserve, f)
	}
	return cp.judge(abi.Reserve)
}

// Unreserve tells the policies, the last first, that the pod loses its node:
// each that was asked to reserve, once. It ends the cycle; in a simulation it
// only takes Reserve back.
func (b *Berth) Unreserve(_ context.Context, state fwk.CycleState, pod *v1.Pod, node string) {
	b.host.aggregates.unassume(pod.UID)
	cs := stateOf(state)
	if cs == nil {
		return
	}
	if !cs.done.Load() && cs.implements(abi.Unreserve) {
		if at, err := b.placeOf(abi.Unreserve, node); err != nil {
			b.host.logger.Error(err, "Unreserve")
		} else {
			for i := len(cs.policies) - 1; i >= 0; i-- {
				cs.policies[i].unreserve(cs, i, at)
			}
		}
	}
	if state.IsPodGroupSchedulingCycle() {
		cs.reserved.Store(false)
		return
	}
	cs.end()
}

// unreserve can't fail: a fault is counted and reported.
func (cp *cyclePolicy) unreserve(cs *cycleState, i int, at *place) {
	if cp.version == nil || !cp.points[abi.Unreserve] {
		return
	}
	cp.version.mu.Lock()
	defer cp.version.mu.Unlock()
	if cp.undo {
		cp.undo = false
		_ = cp.ask(cs, i, abi.Unreserve, at)
	}
}
