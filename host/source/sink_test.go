// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/klog/v2/ktesting"
)

// patience is how long a test waits for what must happen. It only ends tests
// that fail.
const patience = 30 * time.Second

// call is one call of a sink.
type call struct {
	deleted string // key; empty for Set
	set     Document
}

// calls is a sink that passes on what it is told.
type calls struct {
	t       *testing.T
	running atomic.Bool
	c       chan call
}

func (s *calls) Set(d Document)    { s.send(call{set: d}) }
func (s *calls) Delete(key string) { s.send(call{deleted: key}) }

func (s *calls) send(c call) {
	if !s.running.CompareAndSwap(false, true) {
		s.t.Error("two calls at once")
	}
	s.c <- c
	s.running.Store(false)
}

// next waits for the next call.
func (s *calls) next() call {
	s.t.Helper()
	select {
	case c := <-s.c:
		return c
	case <-time.After(patience):
		s.t.Fatal("nothing was told")
		return call{}
	}
}

// wantSet waits for a Set of key.
func (s *calls) wantSet(key string) Document {
	s.t.Helper()
	c := s.next()
	if c.deleted != "" || c.set.Key != key {
		s.t.Fatalf("want Set(%s), got Set(%s) or Delete(%s)", key, c.set.Key, c.deleted)
	}
	return c.set
}

// wantDelete waits for a Delete of key.
func (s *calls) wantDelete(key string) {
	s.t.Helper()
	if c := s.next(); c.deleted != key {
		s.t.Fatalf("want Delete(%s), got Set(%s) or Delete(%s)", key, c.set.Key, c.deleted)
	}
}

// until waits for a Set of key that satisfies ok, and lets other calls pass:
// how many there are before depends on how writes and scans fall together.
func (s *calls) until(key string, ok func(Document) bool) Document {
	s.t.Helper()
	for {
		if c := s.next(); c.set.Key == key && ok(c.set) {
			return c.set
		}
	}
}

// run starts a source that stops with the test.
func run(t *testing.T, source Source) *calls {
	t.Helper()
	_, ctx := ktesting.NewTestContext(t)
	ctx, cancel := context.WithCancel(ctx)
	sink := &calls{t: t, c: make(chan call, 100)}
	done := make(chan error, 1)
	go func() { done <- source.Run(ctx, sink) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	wait, stop := context.WithTimeout(ctx, patience)
	defer stop()
	if err := source.WaitForSync(wait); err != nil {
		t.Fatal(err)
	}
	if !source.Synced() {
		t.Error("Synced must hold after WaitForSync")
	}
	return sink
}

const policyHead = "apiVersion: berth.dev/v1alpha1\nkind: Policy\n"

// module is the smallest module with some content to tell it by.
func module(content string) []byte {
	custom := append([]byte{1, 'x'}, content...)
	return append([]byte("\x00asm\x01\x00\x00\x00\x00"+string(rune(len(custom)))), custom...)
}
