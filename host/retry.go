// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"sync"
	"time"

	"github.com/berth-scheduler/berth/host/data"
	"github.com/berth-scheduler/berth/host/source"
)

// A policy whose resources can't be read is tried again by itself, ever more
// rarely: someone may grant the right, or apply the CustomResourceDefinition.
const (
	firstReload = time.Second
	lastReload  = 30 * time.Second
)

// reloads counts the tries of policies by key. It is safe for concurrent use.
type reloads struct {
	mu sync.Mutex
	by map[string]int
}

// next is how long to wait before the next try, or with none forgets the key.
func (r *reloads) next(key string, none bool) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if none {
		delete(r.by, key)
		return 0
	}
	if r.by == nil {
		r.by = map[string]int{}
	}
	n := r.by[key]
	r.by[key] = n + 1
	return min(firstReload<<min(n, 10), lastReload)
}

// retry loads a document again later if what was wrong with it may pass.
func (m *manager) retry(d *source.Document, err error) {
	wait := m.reloads.next(d.Key, !errors.As(err, new(*data.Unready)))
	if wait == 0 {
		return
	}
	time.AfterFunc(wait, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		s := m.slots[d.Key]
		if s == nil || s.doc != d || m.ctx.Err() != nil {
			return // there is something newer, or nothing
		}
		if _, newer := m.pending[d.Key]; !newer {
			m.pending[d.Key] = d
		}
		m.queue.Add(d.Key)
	})
}
