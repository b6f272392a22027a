// SPDX-License-Identifier: Apache-2.0

package host

import (
	"strings"
	"sync"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/metrics"
	"github.com/berth-scheduler/berth/host/store"
)

// stateLoading is a policy of the first list that isn't decided on yet; the
// other states are the store's.
const stateLoading = "Loading"

var states = []string{stateLoading, store.Active, store.Failed, store.Quarantined, store.Suspended}

// report is how a policy is.
type report struct {
	state   string
	reason  string // CamelCase, why; empty for the state itself
	message string
}

// outcomeOf is how a policy is after a swap that ended with err. The caller
// holds mu.
func (m *manager) outcomeOf(s *slot, err error) report {
	var r report
	var said []string
	switch {
	case m.host.options.SuspendAll:
		r.state = store.Suspended
		said = append(said, "all policies are off (--berth-suspend-all)")
	case s.suspended():
		r.state = store.Suspended
		said = append(said, "turned off by its operator")
	case err != nil:
		r.state = store.Failed
	default:
		r.state = store.Active
	}
	if err != nil {
		said = append(said, err.Error())
		if s.current != nil && r.state == store.Failed {
			r.reason = store.RolledBack
			said = append(said, "version "+describeVersion(s.current)+" stays in force")
		}
	}
	r.message = strings.Join(append(said, s.doc.Warnings...), "; ")
	return r
}

// report records and reports how a policy is, unless there is something newer
// to report.
func (m *manager) report(s *slot, changes uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.changes != changes || m.slots[s.key] != s {
		return
	}
	r := s.outcome
	if s.aside != "" && r.state != store.Suspended {
		r = report{store.Quarantined, "", s.aside}
		if s.outcome.state == store.Failed {
			r.message += "; " + s.outcome.message
		}
	}
	if s.shown.state != r.state || s.since.IsZero() {
		s.since = m.host.clock()
	}
	s.shown = r
	for _, x := range states {
		value := 0.0
		if x == r.state {
			value = 1
		}
		metrics.State.WithLabelValues(s.name, x).Set(value)
	}
	if m.store != nil {
		m.store.SetStatus(m.status(s))
		m.refresh(s)
	}
}

// refresh reports the other policies again whose status depends on all of them:
// what a scoring policy's weight amounts to, and who gives the sort keys. The
// caller holds mu.
func (m *manager) refresh(changed *slot) {
	if m.store == nil {
		return
	}
	for _, s := range m.slots {
		if s != changed && s.shown.state != "" && s.shown.state != stateLoading && s.current != nil && (s.current.points[abi.Score] || s.current.points[abi.QueueKey]) {
			m.store.SetStatus(m.status(s))
		}
	}
}

// keysSaid is what a policy's status says of its sort keys: why it isn't asked
// for them, if it isn't.
func (m *manager) keysSaid(v *version) string {
	if !v.points[abi.QueueKey] {
		return ""
	}
	if !m.host.keys.enabled.Load() {
		return "queue_key: not asked: " + SortName + " doesn't order the scheduler's queue"
	}
	if e := m.host.active.Load().keyGiver(); e != nil && e.version != v {
		return "queue_key: not asked: policy " + e.name + " gives the keys"
	}
	return ""
}

// status is the policy's status document. The caller holds mu.
func (m *manager) status(s *slot) store.Status {
	st := store.Status{Name: s.name, Source: s.key, State: s.shown.state, Reason: s.shown.reason, Message: s.shown.message, Since: s.since, Ref: s.doc.Ref}
	if v := s.current; v != nil {
		st.Mode = string(v.policy.Mode)
		st.Digest, st.Version, st.PolicyHash = v.module.Digest, v.desc.Version, v.policy.Hash()
		st.Points = v.desc.Points
		st.Weight = v.policy.Weight
		if said := m.keysSaid(v); said != "" {
			if st.Message != "" {
				said = st.Message + "; " + said
			}
			st.Message = said
		}
		if v.points[abi.Score] {
			st.EffectiveWeights = m.host.effectiveWeights(v.policy)
		}
	}
	return st
}

// liveCount counts the versions that hold an instance, by policy. It is safe for
// concurrent use.
type liveCount struct {
	mu sync.Mutex
	by map[string]int
}

// add changes a policy's count, which it returns. A policy without any leaves no series behind,
// also when its last cycle ends after it was removed.
func (c *liveCount) add(policy string, delta int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[string]int{}
	}
	if c.by[policy] += delta; c.by[policy] != 0 {
		metrics.LiveInstances.WithLabelValues(policy).Set(float64(c.by[policy]))
		return c.by[policy]
	}
	delete(c.by, policy)
	metrics.LiveInstances.DeleteLabelValues(policy)
	return 0
}
