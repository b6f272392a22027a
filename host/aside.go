// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/guest"
	"github.com/berth-scheduler/berth/host/intern"
	"github.com/berth-scheduler/berth/host/metrics"
	"github.com/berth-scheduler/berth/host/view"
)

// asideFuel is the most that a call under the queue's lock may use: it holds up
// everyone who wants the queue.
const asideFuel = 2_000_000

// asidePoints are the points that run under or near the queue's lock. They have
// an instance of their own: with that of the cycles, which calls Activate and
// nominates, they could deadlock.
var asidePoints = []abi.Point{abi.PreEnqueue, abi.QueueingHint, abi.QueueKey, abi.SignPod}

// aside is the instance of a version for the points beside the cycles. It holds
// no views of nodes and no cycle state. It is made when it is first needed, and
// anew after a fault.
type aside struct {
	v *version

	mu      sync.Mutex // guards what follows: one call at a time
	inst    *guest.Instance
	strings *intern.Table
	encoder *view.Encoder
	podBuf  []byte
	calls   int
	reading reading
	result  guest.Result
	closed  bool
}

// usesAside says whether a version has any of the points.
func (v *version) usesAside() bool {
	for _, p := range asidePoints {
		if v.points[p] {
			return true
		}
	}
	return false
}

// live makes sure that there is an instance. The caller holds mu.
func (a *aside) live() error {
	if a.closed {
		return fmt.Errorf("the version is closed")
	}
	if a.inst != nil && !a.inst.Dead() && !a.strings.Crowded() {
		return nil
	}
	if a.inst != nil {
		_ = a.inst.Close()
		a.inst = nil
	}
	v := a.v
	metrics.Instances.WithLabelValues(v.name).Inc()
	a.strings = intern.New(intern.MaxBytes, intern.MaxCount)
	a.encoder = view.NewEncoder(a.strings, v.desc.Reads)
	b := budgets(v.policy)
	b.Call = min(b.Call, asideFuel)
	inst, err := v.module.NewInstance(context.Background(), guest.Options{
		Strings: a.strings, Budgets: b, ReasonPrefix: v.name + ": ", Log: v.log, LogBytes: int(v.policy.Limits.Log),
		Read: a.reading.read,
	})
	if err != nil {
		return err
	}
	if err := inst.Configure(v.config); err != nil {
		_ = inst.Close()
		return err
	}
	a.inst, a.calls = inst, 0
	return nil
}

// warm makes the instance before it is needed.
func (a *aside) warm() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.live()
}

// ask makes one call about a pod and hands the result, which is the instance's
// own, to use. The error is a *guest.Fault, or says why there is no instance.
func (a *aside) ask(h *Host, profile string, p abi.Point, pod *v1.Pod, arg []byte, use func(r *guest.Result) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.live(); err != nil {
		return err
	}
	if a.calls++; a.calls%gcEvery == 0 {
		if err := a.inst.GC(); err != nil {
			a.v.log(abi.LogError, "gc: "+err.Error())
			if err := a.live(); err != nil {
				return err
			}
		}
	}
	record, err := a.encoder.Pod(a.podBuf[:0], pod)
	if err != nil {
		_ = a.inst.Close()
		a.inst = nil
		return &guest.Fault{Cause: guest.Memory, Point: p, Err: err}
	}
	a.podBuf = record
	if err := a.inst.SetPod(record); err != nil {
		return err
	}
	a.reading = reading{host: h, version: a.v, point: p, pod: pod}
	call := guest.Call{Point: p, Arg: arg}
	if !a.v.desc.Pure {
		call.Now = h.clock().UnixNano()
	}
	start := time.Now()
	err = a.inst.Call(&call, &a.result)
	a.v.account(p, start, a.inst.LastFuel())
	if err != nil {
		return err
	}
	asks := asking{host: h, version: a.v, profile: profile, point: p, pod: pod}
	if err := asks.carryOut(&a.result); err != nil {
		return err
	}
	return use(&a.result)
}

// beside asks a version about a pod at a point beside the cycles and accounts
// for what goes wrong. The caller holds the version.
func (h *Host) beside(v *version, profile string, p abi.Point, pod *v1.Pod, arg []byte, use func(r *guest.Result)) *guest.Fault {
	err := v.aside.ask(h, profile, p, pod, arg, func(r *guest.Result) error {
		use(r)
		return nil
	})
	if err == nil {
		v.health.okAt(p)
		return nil
	}
	f, ok := guest.AsFault(err)
	if !ok {
		f = &guest.Fault{Cause: guest.Trap, Err: err}
	}
	f.Point = p
	metrics.Faults.WithLabelValues(v.name, p.String(), string(f.Cause)).Inc()
	h.faultedAt(v, p, f, pod)
	return f
}

// giveBack releases a version where the queue's lock is held: what it costs to
// close the last instance isn't paid there.
func (h *Host) giveBack(v *version) {
	if v.refs.Add(-1) > 0 {
		return
	}
	h.closing.Go(v.end)
}

// close ends the instance.
func (a *aside) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	if a.inst != nil {
		_ = a.inst.Close()
		a.inst = nil
	}
	a.strings, a.encoder, a.podBuf = nil, nil, nil
}
