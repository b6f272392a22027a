// SPDX-License-Identifier: Apache-2.0

// Package intern holds the table by which host and guest agree on strings: a
// label costs its two numbers to copy and to compare.
package intern

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/berth-scheduler/berth/abi"
)

// Bounds of a policy's table.
const (
	MaxBytes = 32 << 20 // of text
	MaxCount = 1 << 20  // strings
)

// Table is an append-only table of interned strings: id 0 is "", others
// count from 1 and are never reused. It is safe for concurrent use.
//
// Its texts are UTF-8 and at most abi.MaxInternBytes long: invalid bytes become
// U+FFFD and what is longer is cut, so that no object can make it unusable.
type Table struct {
	maxBytes int
	maxCount int

	mu    sync.RWMutex
	ids   map[string]uint32
	texts []string
	bytes int
}

// New makes a table that refuses new strings past maxBytes of text or
// maxCount entries, the empty string included.
func New(maxBytes, maxCount int) *Table {
	return &Table{maxBytes: maxBytes, maxCount: maxCount, ids: map[string]uint32{}, texts: []string{""}}
}

// ID is the id of s, which is added if it is new. It is false when the table is
// full: the caller starts a new epoch, with a new table and new instances.
func (t *Table) ID(s string) (uint32, bool) {
	if s == "" {
		return 0, true
	}
	t.mu.RLock()
	id, ok := t.ids[s]
	t.mu.RUnlock()
	if ok {
		return id, true
	}
	return t.add(s)
}

// IDBytes is ID of a string in b, which is copied only if it is new.
func (t *Table) IDBytes(b []byte) (uint32, bool) {
	if len(b) == 0 {
		return 0, true
	}
	t.mu.RLock()
	id, ok := t.ids[string(b)]
	t.mu.RUnlock()
	if ok {
		return id, true
	}
	return t.add(string(b))
}

func (t *Table) add(s string) (uint32, bool) {
	s = strings.Clone(internable(s)) // not the object that it is a part of
	t.mu.Lock()
	defer t.mu.Unlock()
	if id, ok := t.ids[s]; ok {
		return id, true
	}
	if len(t.texts) >= t.maxCount || t.bytes+len(s) > t.maxBytes {
		return 0, false
	}
	id := uint32(len(t.texts))
	t.ids[s] = id
	t.texts = append(t.texts, s)
	t.bytes += len(s)
	return id, true
}

// RLock and RUnlock stand around many calls of Known, for the price of one lock.
// Between them the table's other methods must not be called.
func (t *Table) RLock() { t.mu.RLock() }

// RUnlock ends what RLock began.
func (t *Table) RUnlock() { t.mu.RUnlock() }

// Known is the id of a string that the table holds already. The caller holds
// RLock.
func (t *Table) Known(s string) (uint32, bool) {
	if s == "" {
		return 0, true
	}
	id, ok := t.ids[s]
	return id, ok
}

// Len is the number of ids, that of the empty string included.
func (t *Table) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.texts)
}

// Crowded says whether three quarters of the table are used: time for a new
// epoch while there is still room for what a call may add.
func (t *Table) Crowded() bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.bytes > t.maxBytes/4*3 || len(t.texts) > t.maxCount/4*3
}

// Text is the string of an id, "" for one that was never given out.
func (t *Table) Text(id uint32) string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if int64(id) >= int64(len(t.texts)) {
		return ""
	}
	return t.texts[id]
}

// Since is the texts of the ids from n on, in their order: what an instance
// that knows the first n has to be told. The caller must not change the slice.
func (t *Table) Since(n uint32) []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if int64(n) >= int64(len(t.texts)) {
		return nil
	}
	return t.texts[n:len(t.texts):len(t.texts)]
}

// internable is s as the table holds it.
func internable(s string) string {
	s = UTF8(s)
	if len(s) <= abi.MaxInternBytes {
		return s
	}
	n := abi.MaxInternBytes
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// UTF8 is s with U+FFFD for what isn't UTF-8. The API server doesn't check
// every field of what clients send as protobuf.
func UTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, string(utf8.RuneError))
}
