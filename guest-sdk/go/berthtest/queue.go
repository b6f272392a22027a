// SPDX-License-Identifier: Apache-2.0

package berthtest

import "github.com/berth-scheduler/berth/abi"

// outside is a call beside the cycles.
func (h *Host) outside(point abi.Point, pod *PodBuilder, arg any) response {
	h.t.Helper()
	c := &Cycle{h: h, now: h.now, pod: pod}
	return c.call(point, abi.Whole, nil, arg)
}

// PreEnqueue runs PreEnqueue.
func (h *Host) PreEnqueue(pod *PodBuilder) Verdict {
	h.t.Helper()
	return h.outside(abi.PreEnqueue, pod, nil).verdict
}

// QueueingHint runs QueueingHint for an event: its name, and the object before
// and after it, nil where there is none. True is that the pod is tried again.
func (h *Host) QueueingHint(pod *PodBuilder, event string, old, new map[string]any) bool {
	h.t.Helper()
	arg := map[string]any{"event": event, "old": orNil(old), "new": orNil(new)}
	v := h.outside(abi.QueueingHint, pod, arg).verdict
	if v.Code == Error {
		h.t.Fatalf("berthtest: queueing_hint: %v", v)
	}
	return v.Code == Success
}

// QueueKey runs QueueKey.
func (h *Host) QueueKey(pod *PodBuilder) int64 {
	h.t.Helper()
	r := h.outside(abi.QueueKey, pod, nil)
	key, _ := r.reply.Get("key")
	return key.Int()
}

// SignPod runs SignPod.
func (h *Host) SignPod(pod *PodBuilder) (key string, v Verdict) {
	h.t.Helper()
	r := h.outside(abi.SignPod, pod, nil)
	k, _ := r.reply.Get("key")
	return k.Text(), r.verdict
}
