// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"sync"
	"time"

	"github.com/berth-scheduler/berth/abi"
)

// policyState is what policies keep in the host, by policy: it survives swaps and
// goes with the policy. It isn't kept over a restart, nor shared by replicas: a
// policy must be able to build it anew. It is safe for concurrent use.
type policyState struct {
	expired func(policy string) // without locks, after values went by themselves

	mu sync.Mutex
	by map[string]*keptState
}

// keptState is the state of one policy.
type keptState struct {
	keys    map[string]keptValue
	bytes   int
	version uint64    // of all keys: counts changes
	full    bool      // the last value was refused: the log knows
	next    time.Time // none expires before; zero: none expires
	timer   *time.Timer
}

type keptValue struct {
	record  []byte
	expires time.Time // zero: never
}

// get is the record that a key has at a time, nil if it has none.
func (s *policyState) get(policy, key string, now time.Time) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.by[policy]; k != nil {
		if v, ok := k.keys[key]; ok && !v.gone(now) {
			return v.record
		}
	}
	return nil
}

func (v keptValue) gone(now time.Time) bool { return !v.expires.IsZero() && !now.Before(v.expires) }

// put gives a key a record, or with nil none. It says whether anything changed.
// The error is for the log, once until a value is taken again.
func (s *policyState) put(policy, key string, record []byte, ttl time.Duration, now time.Time) (changed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.by[policy]
	if k == nil {
		if record == nil {
			return false, nil
		}
		if s.by == nil {
			s.by = map[string]*keptState{}
		}
		k = &keptState{keys: map[string]keptValue{}}
		s.by[policy] = k
	}
	k.sweep(now)
	old, known := k.keys[key]
	if record == nil {
		if known {
			k.remove(key)
		}
		return known, nil
	}
	size := k.bytes + len(key) + len(record)
	if known {
		size -= len(key) + len(old.record)
	}
	if size > abi.MaxStateBytes {
		if k.full {
			return false, nil
		}
		k.full = true
		return false, fmt.Errorf("intent state: want at most %d bytes in all, got %d: %q is not kept", abi.MaxStateBytes, size, key)
	}
	v := keptValue{record: record}
	if ttl > 0 {
		v.expires = now.Add(ttl)
	}
	k.keys[key], k.bytes, k.full = v, size, false
	k.version++
	if !v.expires.IsZero() && (k.next.IsZero() || v.expires.Before(k.next)) {
		k.next = v.expires
		s.wind(policy, k, now)
	}
	return !known || string(old.record) != string(record), nil
}

func (k *keptState) remove(key string) {
	k.bytes -= len(key) + len(k.keys[key].record)
	delete(k.keys, key)
	k.version++
}

// sweep drops what has expired, and says whether there was any.
func (k *keptState) sweep(now time.Time) bool {
	if k.next.IsZero() || now.Before(k.next) {
		return false
	}
	before := k.version
	k.next = time.Time{}
	for key, v := range k.keys {
		switch {
		case v.gone(now):
			k.remove(key)
		case !v.expires.IsZero() && (k.next.IsZero() || v.expires.Before(k.next)):
			k.next = v.expires
		}
	}
	return k.version != before
}

// wind sets the timer to the next expiry. The caller holds mu.
func (s *policyState) wind(policy string, k *keptState, now time.Time) {
	if k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
	if next := k.next; !next.IsZero() {
		k.timer = time.AfterFunc(next.Sub(now), func() { s.expire(policy, k, next) })
	}
}

// expire drops what has expired by itself and tells of it.
func (s *policyState) expire(policy string, k *keptState, now time.Time) {
	s.mu.Lock()
	if s.by[policy] != k {
		s.mu.Unlock()
		return
	}
	gone := k.sweep(now)
	s.wind(policy, k, now)
	s.mu.Unlock()
	if gone && s.expired != nil {
		s.expired(policy)
	}
}

// drop forgets a policy that is gone.
func (s *policyState) drop(policy string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.by[policy]; k != nil {
		if k.timer != nil {
			k.timer.Stop()
		}
		delete(s.by, policy)
	}
}

// version counts the changes of a policy's state.
func (s *policyState) version(policy string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.by[policy]; k != nil {
		return k.version
	}
	return 0
}

// carryState keeps what an intent state asks for. A version that doesn't decide
// any more because its policy is gone leaves nothing behind. What is kept while
// a pod is being decided on wakes no other pod: two that turn each other's state
// over would never rest. When a pod was bound, the others are tried again.
func carryState(a *asking, v abi.Value) {
	key, _ := v.Get("key")
	if n := len(key.Text()); n == 0 || n > abi.MaxStateKeyBytes {
		a.version.log(abi.LogError, fmt.Sprintf("intent state: key: want 1 to %d bytes, got %d", abi.MaxStateKeyBytes, n))
		return
	}
	if !a.host.has(a.version.name) {
		return
	}
	var record []byte
	if value, ok := v.Get("value"); ok && value.Kind() != abi.Null {
		var err error
		if record, err = abi.EncodeValue(value.Tree()); err != nil {
			a.version.log(abi.LogError, "intent state: "+err.Error())
			return
		}
	}
	ttl, _ := v.Get("ttl_ns")
	changed, err := a.host.state.put(a.version.name, key.Text(), record, time.Duration(ttl.Int()), a.host.clock())
	if err != nil {
		a.version.log(abi.LogError, err.Error())
	}
	if changed && a.point == abi.PostBind {
		a.host.resourceChanged(a.version.name, nil, nil)
	}
}

// has says whether a policy of this name decides.
func (h *Host) has(name string) bool {
	for _, e := range h.active.Load().entries {
		if e.name == name {
			return true
		}
	}
	return false
}

// readState is what an intent state kept.
func readState(r *reading) readAnswer {
	record := r.host.state.get(r.version.name, r.part(0), time.Unix(0, r.now()))
	if record == nil {
		return absent
	}
	return readAnswer{record: record}
}
