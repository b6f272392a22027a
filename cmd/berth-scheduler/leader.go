// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// watchedLock tells whether this process holds the lease, by watching what the
// leader elector reads and writes. The elector's callbacks can't be used:
// upstream's Run sets its own.
//
// A hold begins with a successful write of our identity. It ends with a
// release, with another holder read from the API server, or when the lease's
// duration has passed since the last successful write was begun, counted on
// this process's clock: nobody may take the lease before that.
type watchedLock struct {
	resourcelock.Interface

	mu         sync.Mutex // also orders the calls of setLeading
	setLeading func(bool)
	leading    bool
	deadline   time.Time   // of the hold
	expiry     *time.Timer // nil until the first hold
}

var _ resourcelock.Interface = (*watchedLock)(nil)

// watchLock returns a lock that does what the given one does and calls
// setLeading at each change, one call at a time, the first one with true.
// setLeading must not block: the elector waits for it.
func watchLock(lock resourcelock.Interface, setLeading func(bool)) resourcelock.Interface {
	return &watchedLock{Interface: lock, setLeading: setLeading}
}

// Get reads the record; another holder in it ends our hold.
func (l *watchedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != l.Identity() {
		l.lose()
	}
	return record, raw, err
}

// Create writes the first record; success begins our hold.
func (l *watchedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	begun := time.Now()
	err := l.Interface.Create(ctx, record)
	if err == nil && record.HolderIdentity == l.Identity() {
		l.hold(begun, record)
	}
	return err
}

// Update writes the record; success begins or extends our hold. A release ends
// it before it is sent, so that we have stopped when the next holder starts.
func (l *watchedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity != l.Identity() {
		l.lose()
		return l.Interface.Update(ctx, record)
	}
	begun := time.Now()
	err := l.Interface.Update(ctx, record)
	if err == nil {
		l.hold(begun, record)
	}
	return err
}

// hold notes a write of our identity that was begun at the given time.
func (l *watchedLock) hold(begun time.Time, record resourcelock.LeaderElectionRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deadline = begun.Add(time.Duration(record.LeaseDurationSeconds) * time.Second)
	left := time.Until(l.deadline)
	if l.expiry == nil {
		l.expiry = time.AfterFunc(left, l.expire)
	} else {
		l.expiry.Reset(left)
	}
	l.change(left > 0)
}

// lose ends our hold, if there is one.
func (l *watchedLock) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.expiry != nil {
		l.expiry.Stop()
	}
	l.change(false)
}

// expire runs when the timer fires, which may be just as a renewal moves the
// deadline.
func (l *watchedLock) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Until(l.deadline) <= 0 {
		l.change(false)
	}
}

// change reports a change; l.mu is held.
func (l *watchedLock) change(leading bool) {
	if l.leading != leading {
		l.leading = leading
		l.setLeading(leading)
	}
}
