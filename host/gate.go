// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/host/metrics"
)

// gateReason is why a pod waits before the first policies are decided on.
const gateReason = "waiting for the first list of policies"

// gate holds the pods of Berth's profiles at PreEnqueue until every policy of
// the first list is Active or Failed, or a deadline is over. Scheduling starts
// when upstream's informers are synced, which says nothing about ours.
type gate struct {
	mu   sync.Mutex
	open bool
	held map[types.UID]*v1.Pod
}

// hold says whether a pod must wait, and remembers it.
func (g *gate) hold(pod *v1.Pod) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open {
		return false
	}
	if g.held == nil {
		g.held = map[types.UID]*v1.Pod{}
	}
	g.held[pod.UID] = pod
	metrics.Waiting.WithLabelValues().Set(float64(len(g.held)))
	return true
}

// isOpen says whether pods pass.
func (g *gate) isOpen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

// release opens the gate for good and returns the pods that waited. opened is
// false if it was open already.
func (g *gate) release() (pods []*v1.Pod, opened bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open {
		return nil, false
	}
	g.open = true
	for _, p := range g.held {
		pods = append(pods, p)
	}
	g.held = nil
	metrics.Waiting.WithLabelValues().Set(0)
	return pods, true
}

// openGate releases the pods that waited. Activate takes the queue's lock,
// which PreEnqueue's caller holds, so it runs elsewhere.
func (h *Host) openGate(why string) {
	pods, opened := h.gate.release()
	if !opened {
		return
	}
	h.logger.Info("Start gate open", "why", why, "pods", len(pods))
	h.activate(pods)
}

// gateDeadline opens the gate when its time is over.
func (h *Host) gateDeadline(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
		h.openGate("deadline")
	}
}
