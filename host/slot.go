// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/guest"
	"github.com/berth-scheduler/berth/host/metrics"
	"github.com/berth-scheduler/berth/host/module"
	"github.com/berth-scheduler/berth/host/policy"
	"github.com/berth-scheduler/berth/host/source"
	"github.com/berth-scheduler/berth/host/store"
)

// stateLoading is a policy of the first list that isn't decided on yet; the
// other states are the store's.
const stateLoading = "Loading"

var states = []string{stateLoading, store.Active, store.Failed, store.Quarantined, store.Suspended}

// slot is a policy as the manager knows it: what its source says, and the
// version that decides. manager.mu guards it.
type slot struct {
	key     string
	name    string
	doc     *source.Document
	current *version // the last good one; nil if there never was one
	state   string
	reason  string // CamelCase, why; empty for the state itself
	message string
	since   time.Time
}

func newSlot(key string) *slot { return &slot{key: key, state: stateLoading} }

// take notes what the source says. While policy.yaml can't be read the policy
// keeps the name that it had.
func (s *slot) take(d *source.Document) {
	s.doc = d
	if s.name == "" || d.Policy != nil {
		s.name = d.Name
	}
}

// suspended says whether the operator turned the policy off.
func (s *slot) suspended() bool {
	return s.doc.Suspend || s.doc.Policy != nil && s.doc.Policy.Suspend || s.doc.Policy == nil && s.current != nil && s.current.policy.Suspend
}

// entry is the policy's part of the active set, nil if it has none.
func (s *slot) entry(suspendAll bool) *entry {
	e := &entry{name: s.name, order: policy.DefaultOrder, suspend: suspendAll || s.suspended(), version: s.current}
	switch {
	case s.current != nil:
		e.name, e.policy, e.order = s.current.name, s.current.policy, s.current.policy.Order
		return e
	case s.doc.Policy != nil:
		e.policy, e.order = s.doc.Policy, s.doc.Policy.Order
		e.fail = e.policy.OnLoadFailure() == policy.Fail
	default:
		e.fail = s.doc.FailurePolicy == policy.Fail
		e.selector = s.doc.Match
	}
	if !e.fail {
		return nil
	}
	e.reason = "no version can run: " + s.message
	return e
}

// apply brings a policy to a document: a new version if there is something new
// and nothing wrong with it, else the last good one stays.
func (m *manager) apply(d *source.Document) {
	m.mu.Lock()
	s := m.slots[d.Key]
	if s == nil {
		s = newSlot(d.Key)
		m.slots[d.Key] = s
	}
	current := s.current
	same := d.Err == nil && current != nil && current.module.Digest == d.ModuleDigest && current.policy.Equal(d.Policy)
	taken := m.nameTaken(d)
	before := s.name
	s.take(d)
	renamed := before != "" && before != s.name
	m.mu.Unlock()

	if renamed {
		m.forget(before)
	}
	for _, w := range d.Warnings {
		m.logger.Info("Policy warning", "policy", d.Name, "source", d.Key, "warning", w)
	}
	err := d.Err
	if taken != "" {
		err = fmt.Errorf("name: want one that no other policy has, got %q, which is %s", d.Name, taken)
	}
	var next *version
	if err == nil && !same {
		next, err = m.build(m.ctx, d.Key, d.Module, d.ModuleDigest, d.Policy)
	}
	if err != nil && current == nil {
		next = m.lastGood(d)
	}
	if next != nil && current == nil {
		m.restoreQuarantine(d, next)
	}
	m.swap(s, next, err)
}

// nameTaken is the key of another policy that has the document's name; "" if
// there is none. The caller holds mu.
func (m *manager) nameTaken(d *source.Document) string {
	for key, o := range m.slots {
		if key != d.Key && o.current != nil && o.current.name == d.Name {
			return key
		}
	}
	return ""
}

// swap makes next decide, if there is one, and reports how the policy is now.
func (m *manager) swap(s *slot, next *version, err error) {
	m.mu.Lock()
	old := s.current
	if next != nil {
		s.current = next
	}
	state, reason, message := store.Active, "", ""
	switch {
	case err != nil:
		state, message = store.Failed, err.Error()
		if s.current != nil {
			reason = store.RolledBack
			message += "; version " + describeVersion(s.current) + " stays in force"
		}
	case m.host.options.SuspendAll:
		state, message = store.Suspended, "all policies are off (--berth-suspend-all)"
	case s.suspended():
		state, message = store.Suspended, "turned off by its operator"
	}
	s.message = message
	m.publish()
	doc, current := s.doc, s.current
	m.mu.Unlock()

	switch {
	case err != nil:
		metrics.Swaps.WithLabelValues(s.name, "failed").Inc()
		m.logger.Error(err, "Policy failed", "policy", s.name, "source", s.key)
	case next != nil:
		metrics.Swaps.WithLabelValues(s.name, "active").Inc()
		m.logger.Info("Policy active", "policy", s.name, "source", s.key, "digest", next.module.Digest, "version", next.desc.Version, "policyHash", next.policy.Hash())
		if m.store != nil && doc.Ref != nil {
			m.store.Save(store.Copy{Key: s.key, UID: doc.UID, Name: s.name, PolicyYAML: doc.PolicyYAML, Module: doc.Module, ModuleDigest: doc.ModuleDigest})
		}
	}
	m.host.activate(m.host.rejections.ofPolicy(s.name))
	report := func() { m.setState(s, current, state, reason, message) }
	if next != nil && old != nil {
		old.release()
		time.AfterFunc(batchAge, report)
		return
	}
	report()
}

// setState records and reports a policy's state, unless another version came
// in between.
func (m *manager) setState(s *slot, of *version, state, reason, message string) {
	m.mu.Lock()
	if s.current != of || m.slots[s.key] != s {
		m.mu.Unlock()
		return
	}
	if s.state != state || s.since.IsZero() {
		s.since = m.host.clock()
	}
	s.state, s.reason, s.message = state, reason, message
	status := m.status(s)
	m.mu.Unlock()
	for _, x := range states {
		value := 0.0
		if x == state {
			value = 1
		}
		metrics.State.WithLabelValues(s.name, x).Set(value)
	}
	if m.store != nil {
		m.store.SetStatus(status)
		m.refreshWeights(s)
	}
}

// refreshWeights reports the other scoring policies again: what their weights
// amount to depends on all of them.
func (m *manager) refreshWeights(changed *slot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.slots {
		if s != changed && s.state != stateLoading && s.current != nil && s.current.points[abi.Score] {
			m.store.SetStatus(m.status(s))
		}
	}
}

// status is the policy's status document. The caller holds mu.
func (m *manager) status(s *slot) store.Status {
	st := store.Status{Name: s.name, Source: s.key, State: s.state, Reason: s.reason, Message: s.message, Since: s.since, Ref: s.doc.Ref}
	if v := s.current; v != nil {
		st.Mode = string(v.policy.Mode)
		st.Digest, st.Version, st.PolicyHash = v.module.Digest, v.desc.Version, v.policy.Hash()
		st.Points = v.desc.Points
		st.Weight = v.policy.Weight
		if v.points[abi.Score] {
			st.EffectiveWeights = m.host.effectiveWeights(v.policy)
		}
	}
	return st
}

// build makes a version: load, describe, configure, probe. Nothing of it is on
// the scheduling path.
func (m *manager) build(ctx context.Context, key string, wasm []byte, digest string, p *policy.Policy) (_ *version, err error) {
	shared, err := m.mods.get(ctx, wasm, digest, p)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			m.mods.put(shared)
		}
	}()
	for _, w := range shared.module.Warnings {
		m.logger.Info("Policy warning", "policy", p.Name, "source", key, "warning", w)
	}
	config, err := module.EncodeConfig(shared.desc, p.Config)
	if err != nil {
		return nil, err
	}
	v := &version{
		name: p.Name, key: key, policy: p, module: shared.module, desc: shared.desc, config: config,
		reads: map[string]bool{}, stamp: m.nextStamp(),
		onClose: func() {
			metrics.LiveInstances.WithLabelValues(p.Name).Dec()
			m.mods.put(shared)
		},
	}
	v.log = m.guestLog(v)
	for _, name := range shared.desc.Points {
		point, _ := abi.PointByName(name)
		v.points[point] = true
	}
	for _, name := range shared.desc.Chunked {
		point, _ := abi.PointByName(name)
		v.chunked[point] = true
	}
	for _, name := range shared.desc.Reads {
		v.reads[name] = true
	}
	v.refs.Store(1)
	if err := v.newInstance(ctx); err != nil {
		return nil, err
	}
	if err := v.probe(); err != nil {
		_ = v.inst.Close()
		return nil, err
	}
	metrics.LiveInstances.WithLabelValues(p.Name).Inc()
	return v, nil
}

// lastGood brings back the version that was in force before a restart, if its
// copy stands and still works.
func (m *manager) lastGood(d *source.Document) *version {
	good, err := m.storedCopy(d)
	if good == nil && err == nil {
		return nil
	}
	var v *version
	if err == nil {
		v, err = m.build(m.ctx, d.Key, good.Module, good.ModuleDigest, good.Policy)
	}
	if err != nil {
		m.logger.Error(err, "Use last-good copy", "policy", d.Name, "source", d.Key)
	}
	return v
}

// restoreQuarantine puts a version back into the quarantine that it was in
// before a restart.
func (m *manager) restoreQuarantine(d *source.Document, v *version) {
	c, err := m.storedCopy(d)
	if err != nil || c == nil || c.Quarantine == nil {
		return
	}
	q := c.Quarantine
	if q.ModuleDigest != v.module.Digest || q.PolicyHash != v.policy.Hash() || !m.host.clock().Before(q.Until) {
		return
	}
	v.health.restore(q.Times, q.Until)
	go m.awaitRelease(v, q.Until.Sub(m.host.clock()), q.Reason)
}

// faulted reports a fault in a cycle and quarantines the policy if it has had
// too many in a row. It is called with the version's lock held.
func (h *Host) faulted(v *version, f *guest.Fault, pod *v1.Pod) {
	h.logger.Error(f.Err, "Policy fault", "policy", v.name, "digest", v.module.Digest, "point", f.Point, "cause", f.Cause, "pod", pod.Namespace+"/"+pod.Name, "output", f.Output)
	d, times := v.health.fault(h.clock())
	if d == 0 {
		return
	}
	reason := fmt.Sprintf("faults in %d attempts in a row, the last one %v", quarantineAfter, f)
	go h.manager.quarantine(v, d, times, reason)
}

// quarantine records a policy's quarantine and waits until it is over.
func (m *manager) quarantine(v *version, d time.Duration, times int, reason string) {
	if m.store != nil {
		m.store.SetQuarantine(v.key, &store.Quarantine{ModuleDigest: v.module.Digest, PolicyHash: v.policy.Hash(), Times: times, Until: m.host.clock().Add(d), Reason: reason})
	}
	m.awaitRelease(v, d, reason)
}

// awaitRelease reports a policy as quarantined and, when the time is over, frees
// its pods: the policy is on probation.
func (m *manager) awaitRelease(v *version, d time.Duration, reason string) {
	if s := m.slotOf(v); s != nil {
		m.setState(s, v, store.Quarantined, "", fmt.Sprintf("%s; tried again in %s", reason, d.Round(time.Second)))
	}
	select {
	case <-m.ctx.Done():
		return
	case <-time.After(d):
	}
	s := m.slotOf(v)
	if s == nil || v.health.quarantined(m.host.clock()) {
		return // replaced, or quarantined again by a cycle that was under way
	}
	m.setState(s, v, store.Active, "", "on probation after a quarantine")
	if m.store != nil {
		m.store.SetQuarantine(v.key, nil)
	}
	m.host.activate(m.host.rejections.ofPolicy(v.name))
}

func (m *manager) slotOf(v *version) *slot {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.slots[v.key]; s != nil && s.current == v {
		return s
	}
	return nil
}

// guestLog writes what a guest says to the scheduler's log.
func (m *manager) guestLog(v *version) func(level uint32, line string) {
	logger := m.logger.WithValues("policy", v.name)
	return func(level uint32, line string) {
		switch level {
		case abi.LogError:
			logger.Error(errors.New(line), "Policy says")
		case abi.LogWarning, abi.LogInfo:
			logger.Info("Policy says", "line", line)
		default:
			logger.V(4).Info("Policy says", "line", line)
		}
	}
}
