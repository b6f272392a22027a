// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/guest"
	"github.com/berth-scheduler/berth/host/source"
	"github.com/berth-scheduler/berth/host/store"
)

// restoreQuarantine puts a version back into the quarantine that it was in
// before a restart; nil if it was in none.
func (m *manager) restoreQuarantine(d *source.Document, v *version) *store.Quarantine {
	c, err := m.storedCopy(d)
	if err != nil || c == nil || c.Quarantine == nil {
		return nil
	}
	q := c.Quarantine
	if q.ModuleDigest != v.module.Digest || q.PolicyHash != v.policy.Hash() || !m.host.clock().Before(q.Until) {
		return nil
	}
	v.health.restore(q.Times, q.Until)
	return q
}

// faulted reports a fault in a cycle and quarantines the policy if it has had
// too many in a row. It is called with the version's lock held.
func (h *Host) faulted(v *version, f *guest.Fault, pod *v1.Pod) { h.faultedAt(v, inCycles, f, pod) }

// faultedAt is faulted for a fault that counts at a point.
func (h *Host) faultedAt(v *version, at abi.Point, f *guest.Fault, pod *v1.Pod) {
	h.logger.Error(f.Err, "Policy fault", "policy", v.name, "digest", v.module.Digest, "point", f.Point, "cause", f.Cause, "pod", podName(pod), "output", f.Output)
	d, times := v.health.faultAt(at, h.clock())
	if d == 0 {
		return
	}
	reason := fmt.Sprintf("faults in %d attempts in a row, the last one %v", quarantineAfter, f)
	go h.manager.quarantine(v, d, times, reason)
}

// podName names a pod in the log, "" where there is none.
func podName(pod *v1.Pod) string {
	if pod == nil {
		return ""
	}
	return pod.Namespace + "/" + pod.Name
}

// quarantine records a policy's quarantine and waits until it is over.
func (m *manager) quarantine(v *version, d time.Duration, times int, reason string) {
	m.host.reviewHolds()
	if m.store != nil {
		m.store.SetQuarantine(v.key, &store.Quarantine{ModuleDigest: v.module.Digest, PolicyHash: v.policy.Hash(), Times: times, Until: m.host.clock().Add(d), Reason: reason})
	}
	m.awaitRelease(v, d, reason)
}

// awaitRelease reports a policy as quarantined and, when the time is over, frees
// its pods: the policy is on probation.
func (m *manager) awaitRelease(v *version, d time.Duration, reason string) {
	m.setAside(v, fmt.Sprintf("%s; tried again in %s", reason, d.Round(time.Second)))
	select {
	case <-m.ctx.Done():
		return
	case <-time.After(d):
	}
	if v.health.quarantined(m.host.clock()) {
		return // again, by a cycle that was under way
	}
	if !m.setAside(v, "") {
		return // replaced
	}
	if m.store != nil {
		m.store.SetQuarantine(v.key, nil)
	}
	m.host.activate(m.host.rejections.ofPolicy(v.name))
}

// setAside notes why a version is in quarantine, or with "" that it no longer
// is, and reports it. It returns false if the version doesn't decide any more.
func (m *manager) setAside(v *version, why string) bool {
	m.mu.Lock()
	s := m.slots[v.key]
	if s == nil || s.current != v {
		m.mu.Unlock()
		return false
	}
	if s.aside != "" && why == "" && s.outcome == (report{state: store.Active}) {
		s.outcome.message = "on probation after a quarantine"
	}
	s.aside = why
	s.changes++
	changes := s.changes
	m.mu.Unlock()
	m.report(s, changes)
	return true
}
