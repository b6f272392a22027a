// SPDX-License-Identifier: Apache-2.0

package host

import (
	"sync"
	"time"
)

// A policy is quarantined after this many cycles with a fault in a row, first
// for quarantineBase, then twice as long each time, at most quarantineMax.
const (
	quarantineAfter = 5
	quarantineBase  = 10 * time.Second
	quarantineMax   = 5 * time.Minute
)

// health counts the faults of a version. It is safe for concurrent use.
type health struct {
	mu     sync.Mutex
	row    int // cycles with a fault in a row
	rounds int // quarantines in a row
	until  time.Time
}

// fault notes a cycle that had a fault. It returns how long the policy is
// quarantined from now, 0 if it is not, and for which time in a row.
func (h *health) fault(now time.Time) (d time.Duration, times int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.row++
	if h.row < quarantineAfter && h.rounds == 0 {
		return 0, 0
	}
	d = min(quarantineBase<<min(h.rounds, 10), quarantineMax)
	h.rounds++
	h.row = 0
	h.until = now.Add(d)
	return d, h.rounds
}

// restore sets a quarantine from before a restart.
func (h *health) restore(times int, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rounds, h.until = times, until
}

// ok notes a cycle without a fault.
func (h *health) ok() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.row, h.rounds = 0, 0
}

// quarantined says whether the policy is out at this time. After its time is
// over the policy is on probation: one more fault quarantines it again.
func (h *health) quarantined(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return now.Before(h.until)
}
