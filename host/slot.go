// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/data"
	"github.com/berth-scheduler/berth/host/metrics"
	"github.com/berth-scheduler/berth/host/module"
	"github.com/berth-scheduler/berth/host/policy"
	"github.com/berth-scheduler/berth/host/source"
	"github.com/berth-scheduler/berth/host/store"
)

// slot is a policy as the manager knows it: what its source says, and the
// version that decides. manager.mu guards it.
type slot struct {
	key     string
	name    string // of current; without one, what the source says
	doc     *source.Document
	current *version // the last good one; nil if there never was one
	outcome report   // of the last swap
	aside   string   // why current is in quarantine; empty when it isn't
	changes uint64   // of what there is to report
	shown   report   // what was reported last
	since   time.Time
}

// newSlot makes the slot of a policy that isn't decided on yet. The caller holds
// mu.
func (m *manager) newSlot(d *source.Document) *slot {
	s := &slot{key: d.Key, outcome: report{message: "still loading"}, shown: report{state: stateLoading}}
	s.take(d, m.holder(d.Name, d.Key))
	m.slots[d.Key] = s
	return s
}

// take notes what the source says. While policy.yaml can't be read the policy
// keeps the name that it had, and while it can't be used that of the version
// that decides. holder is the policy that has the name already, "" for none.
func (s *slot) take(d *source.Document, holder string) {
	s.doc = d
	switch {
	case s.current != nil:
		s.name = s.current.name
	case s.name != "" && d.Policy == nil:
	case holder != "":
		s.name = refusedName(d)
	default:
		s.name = d.Name
	}
}

// refusedName is what a policy is called while another one has its name. No
// policy can have given itself this name.
func refusedName(d *source.Document) string {
	name := d.Name + "_" + path.Base(d.Key)
	return name[:min(len(name), validation.DNS1123SubdomainMaxLength)]
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
	e.reason = "no version can run: " + s.outcome.message
	return e
}

// apply brings a policy to a document: a new version if there is something new
// and nothing wrong with it, else the last good one stays.
func (m *manager) apply(d *source.Document) {
	m.mu.Lock()
	s := m.slots[d.Key]
	if s != nil && s.doc.UID != d.UID {
		// Another object of the same name: the news that the one before is gone
		// was overtaken.
		m.mu.Unlock()
		m.remove(d.Key)
		m.mu.Lock()
		s = nil
	}
	if s == nil {
		s = m.newSlot(d)
	}
	current := s.current
	same := d.Err == nil && current != nil && current.module.Digest == d.ModuleDigest && current.policy.Equal(d.Policy)
	holder := m.holder(d.Name, d.Key)
	m.mu.Unlock()

	for _, w := range d.Warnings {
		m.logger.Info("Policy warning", "policy", d.Name, "source", d.Key, "warning", w)
	}
	err := d.Err
	if err == nil && !same && holder != "" {
		err = taken(d.Name, holder)
	}
	var next *version
	if err == nil && !same {
		next, err = m.build(m.ctx, d.Key, d.Module, d.ModuleDigest, d.Policy)
	}
	if m.ctx.Err() != nil {
		if next != nil {
			next.release()
		}
		return // the scheduler's end is no fault of the policy
	}
	if err != nil && current == nil {
		next = m.lastGood(d)
	}
	var q *store.Quarantine
	if next != nil && current == nil {
		q = m.restoreQuarantine(d, next)
	}
	m.swap(s, d, next, err)
	m.retry(d, err)
	if q != nil {
		go m.awaitRelease(next, q.Until.Sub(m.host.clock()), q.Reason)
	}
}

// holder is the key of another policy that has a name; "" if there is none. Of
// two policies without a version the one whose key comes first has it. The
// caller holds mu.
func (m *manager) holder(name, key string) string {
	for other, o := range m.slots {
		if other != key && o.name == name && (o.current != nil || other < key) {
			return other
		}
	}
	return ""
}

func taken(name, holder string) error {
	return fmt.Errorf("name: want one that no other policy has, got %q, which is %s", name, holder)
}

// swap makes next decide, if there is one, and reports how the policy is now.
func (m *manager) swap(s *slot, d *source.Document, next *version, err error) {
	m.mu.Lock()
	if next != nil {
		if holder := m.holder(next.name, s.key); holder != "" { // another loader was quicker
			err = taken(next.name, holder)
			next.release()
			next = nil
		}
	}
	old, before := s.current, s.name
	if next != nil {
		s.current, s.aside = next, ""
	}
	known, outcome := s.doc == d, s.outcome
	s.take(d, m.holder(d.Name, s.key))
	s.outcome = m.outcomeOf(s, err)
	known = known && next == nil && s.outcome == outcome // a retry that changed nothing
	s.changes++
	changes, name := s.changes, s.name
	set := m.host.active.Load()
	m.publish()
	same := set.same(m.host.active.Load(), name)
	m.mu.Unlock()

	switch {
	case known:
	case err != nil:
		metrics.Swaps.WithLabelValues(name, "failed").Inc()
		m.logger.Error(err, "Policy failed", "policy", name, "source", s.key)
	case next != nil:
		metrics.Swaps.WithLabelValues(name, "active").Inc()
		m.logger.Info("Policy active", "policy", name, "source", s.key, "digest", next.module.Digest, "version", next.desc.Version, "policyHash", next.policy.Hash())
		if m.store != nil && d.Ref != nil {
			m.store.Save(store.Copy{Key: s.key, UID: d.UID, Name: name, PolicyYAML: d.PolicyYAML, Module: d.Module, ModuleDigest: d.ModuleDigest})
		}
	}
	if !same {
		m.host.activate(m.host.rejections.ofPolicy(name))
	}
	if makesRoom(old, next) {
		m.host.activate(m.host.pending(next.policy))
	}
	if before != "" && before != name {
		m.host.activate(m.host.rejections.ofPolicy(before))
		m.forget(before)
		m.retryNamed(before, s.key)
	}
	if next != nil && (old == nil || old.name != name) {
		m.retryNamed(name, s.key) // one without a version may have had the name
	}
	if next != nil && old != nil {
		old.release()
		time.AfterFunc(batchAge, func() { m.report(s, changes) })
		return
	}
	m.report(s, changes)
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
	if err := module.CheckPolicy(shared.desc, p); err != nil {
		return nil, err
	}
	config, err := module.EncodeConfig(shared.desc, p.Config)
	if err != nil {
		return nil, err
	}
	v := &version{
		name: p.Name, key: key, policy: p, module: shared.module, desc: shared.desc, config: config,
		reads: map[string]bool{}, stamp: m.nextStamp(),
		onClose: func() {
			if m.live.add(p.Name, -1) == 0 {
				go m.forgetLast(p.Name) // mu may be held
			}
			m.host.aggregates.drop(m.host, shared.desc.Aggregates)
			m.mods.put(shared)
		},
	}
	v.log = m.guestLog(v)
	v.aside.v = v
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
	defer func() {
		if err != nil {
			v.letGo()
		}
	}()
	if err := m.hold(ctx, v); err != nil {
		if errors.As(err, new(*data.Unready)) {
			m.mods.linger(shared)
		}
		return nil, err
	}
	if err := v.newInstance(ctx); err != nil {
		return nil, err
	}
	if err := v.probe(m.host); err != nil {
		_ = v.inst.Close()
		return nil, err
	}
	if v.usesAside() { // the first call would make it under the queue's lock
		if err := v.aside.warm(); err != nil {
			_ = v.inst.Close()
			return nil, err
		}
	}
	if m.host.aggregates.use(m.host, v.desc.Aggregates); len(v.desc.Aggregates) > 0 {
		m.host.aggregates.wait(ctx)
	}
	m.live.add(p.Name, 1)
	return v, nil
}

// hold holds what a version reads beside the scheduler's snapshot.
func (m *manager) hold(ctx context.Context, v *version) error {
	if err := m.holdResources(ctx, v); err != nil {
		return err
	}
	return m.holdDataSets(ctx, v)
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
