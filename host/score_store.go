// SPDX-License-Identifier: Apache-2.0

package host

import (
	"sync"

	fwk "k8s.io/kube-scheduler/framework"
)

// scoreStore keeps the score sets that a token may still name.
type scoreStore struct {
	mu     sync.RWMutex
	serial int64
	sets   map[int64]*scoreSet
	oldest int64
	place  []placed // by slot
	index  *nodeIndex
}

// placed says where a node is in the newest set that has it.
type placed struct {
	set int64
	pos int32
}

// add gives a set its id and drops those past their life.
func (s *scoreStore) add(set *scoreSet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	set.id = s.serial
	if s.sets == nil {
		s.sets, s.oldest = map[int64]*scoreSet{}, set.id
	}
	for s.oldest < set.id {
		old, ok := s.sets[s.oldest]
		if ok && set.made.Sub(old.made) < scoreSetLife {
			break
		}
		delete(s.sets, s.oldest)
		s.oldest++
	}
	s.sets[set.id] = set
	for i, ni := range set.nodes {
		slot, ok := s.index.slot(ni.Node().Name)
		if !ok {
			continue
		}
		for int(slot) >= len(s.place) {
			s.place = append(s.place, placed{})
		}
		s.place[slot] = placed{set.id, int32(i)}
	}
}

// pos finds a node's place in a set.
func (s *scoreStore) pos(set *scoreSet, ni fwk.NodeInfo) (int, bool) {
	slot, ok := s.index.slot(ni.Node().Name)
	if !ok {
		return 0, false
	}
	s.mu.RLock()
	p := placed{}
	if int(slot) < len(s.place) {
		p = s.place[slot]
	}
	s.mu.RUnlock()
	if p.set == set.id {
		return int(p.pos), true
	}
	for i, n := range set.nodes { // a newer set has the node too
		if n == ni {
			return i, true
		}
	}
	return 0, false
}

// get finds the set and the place that a token names.
func (s *scoreStore) get(token int64) (*scoreSet, int, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	set, ok := s.sets[token>>tokenBits]
	pos := int(token & (1<<tokenBits - 1))
	if !ok || pos >= len(set.nodes) {
		return nil, 0, false
	}
	return set, pos, true
}

// RawScores are the scores of each policy as it gave them, by its name, for a
// node of which Score returned the token. It is for tests and for debugging: the
// framework gets to see the mix only. There is none when the token is past its
// life.
func (b *Berth) RawScores(token int64) map[string]int64 {
	set, pos, ok := b.host.scores.get(token)
	if !ok {
		return nil
	}
	raw := map[string]int64{}
	for _, ps := range set.policies {
		if v, have := ps.value(pos); have {
			raw[ps.cp.name] = v
		}
	}
	return raw
}
