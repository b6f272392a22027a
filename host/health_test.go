// SPDX-License-Identifier: Apache-2.0

package host

import (
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
)

var testNow = time.Unix(1000, 0)

// Faults in a row quarantine; each quarantine is longer than the one before it;
// one good cycle forgives all.
func TestHealth(t *testing.T) {
	var h health
	now := testNow
	fault := func(want time.Duration) {
		t.Helper()
		got, _ := h.fault(now)
		if got != want {
			t.Fatalf("want a quarantine of %s, got %s", want, got)
		}
		if h.quarantined(now) != (want > 0) || h.quarantined(now.Add(want)) {
			t.Fatalf("want it out for %s", want)
		}
		now = now.Add(want)
	}
	for range 2 {
		for range quarantineAfter - 1 {
			fault(0)
		}
		h.ok() // a row is broken
	}
	for range quarantineAfter - 1 {
		fault(0)
	}
	for _, want := range []time.Duration{10, 20, 40, 80, 160, 300, 300, 300} { // on probation one is enough
		fault(want * time.Second)
	}
	for range 100 {
		fault(quarantineMax)
	}
	h.ok()
	for range quarantineAfter - 1 {
		fault(0)
	}
	fault(quarantineBase)

	var restored health
	restored.restore(2, now.Add(time.Minute))
	if !restored.quarantined(now) || restored.quarantined(now.Add(time.Minute)) {
		t.Error("want the quarantine from before")
	}
	if d, times := restored.fault(now); d != 40*time.Second || times != 3 {
		t.Errorf("want the next one in the row, got %s, %d", d, times)
	}
}

// What works at one point doesn't make up for another.
func TestHealthByPoint(t *testing.T) {
	var h health
	for i := range quarantineAfter {
		h.ok()
		h.okAt(abi.QueueKey)
		d, _ := h.faultAt(abi.PreEnqueue, testNow)
		if (d > 0) != (i == quarantineAfter-1) {
			t.Errorf("fault %d: want quarantine after %d, got %s", i, quarantineAfter, d)
		}
	}
	if h.ok(); h.rounds != 1 {
		t.Error("want the probation to last until its cause works")
	}
	if h.okAt(abi.PreEnqueue); h.rounds != 0 {
		t.Error("want the probation over")
	}
	h.restore(2, testNow)
	if h.ok(); h.rounds != 0 {
		t.Error("want any success to end a probation from before a restart")
	}
}
