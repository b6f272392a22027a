// SPDX-License-Identifier: Apache-2.0

package host

import (
	"sync"
	"time"

	"github.com/berth-scheduler/berth/abi"
)

// A policy is quarantined after this many attempts with a fault in a row, first
// for quarantineBase, then twice as long each time, at most quarantineMax.
const (
	quarantineAfter = 5
	quarantineBase  = 10 * time.Second
	quarantineMax   = 5 * time.Minute
)

// inCycles stands for the points of a cycle, which count together. Each point
// beside the cycles counts for itself: what works at one point doesn't make up
// for what is broken at another.
const inCycles = abi.Describe

// health counts the faults of a version. It is safe for concurrent use.
type health struct {
	mu     sync.Mutex
	rows   [64]int   // by point: attempts with a fault in a row
	rounds int       // quarantines in a row
	cause  abi.Point // of the last one
	loaded bool      // it is from before a restart: cause isn't known
	until  time.Time
}

// fault notes a cycle that had a fault. It returns how long the policy is
// quarantined from now, 0 if it is not, and for which time in a row.
func (h *health) fault(now time.Time) (d time.Duration, times int) { return h.faultAt(inCycles, now) }

// faultAt is fault for a call beside the cycles.
func (h *health) faultAt(p abi.Point, now time.Time) (d time.Duration, times int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rows[p]++
	if h.rows[p] < quarantineAfter && h.rounds == 0 {
		return 0, 0
	}
	d = min(quarantineBase<<min(h.rounds, 10), quarantineMax)
	h.rounds++
	h.rows[p] = 0
	h.cause, h.loaded = p, false
	h.until = now.Add(d)
	return d, h.rounds
}

// restore sets a quarantine from before a restart.
func (h *health) restore(times int, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rounds, h.until, h.loaded = times, until, true
}

// ok notes a cycle without a fault.
func (h *health) ok() { h.okAt(inCycles) }

// okAt is ok for a call beside the cycles.
func (h *health) okAt(p abi.Point) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rows[p] = 0
	if h.cause == p || h.loaded {
		h.rounds = 0
	}
}

// quarantined says whether the policy is out at this time. After its time is
// over the policy is on probation: one more fault quarantines it again.
func (h *health) quarantined(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return now.Before(h.until)
}
