// SPDX-License-Identifier: Apache-2.0

package view

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/berth-scheduler/berth/abi"
)

// Strings is an append-only table of interned strings: id 0 is "", others
// count from 1 and are never reused. It is safe for concurrent use.
//
// Its texts are UTF-8 and at most abi.MaxInternBytes long: invalid bytes become
// U+FFFD and what is longer is cut, so that no object can make it unusable.
type Strings struct {
	maxBytes int
	maxCount int

	mu    sync.RWMutex
	ids   map[string]uint32
	texts []string
	bytes int
}

// NewStrings makes a table that refuses new strings past maxBytes of text or
// maxCount entries, the empty string included.
func NewStrings(maxBytes, maxCount int) *Strings {
	return &Strings{maxBytes: maxBytes, maxCount: maxCount, ids: map[string]uint32{}, texts: []string{""}}
}

// ID is the id of s, which is added if it is new. It is false when the table is
// full: the caller starts a new epoch, with a new table and new instances.
func (t *Strings) ID(s string) (uint32, bool) {
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
func (t *Strings) IDBytes(b []byte) (uint32, bool) {
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

func (t *Strings) add(s string) (uint32, bool) {
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

// Len is the number of ids, that of the empty string included.
func (t *Strings) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.texts)
}

// Text is the string of an id, "" for one that was never given out.
func (t *Strings) Text(id uint32) string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if int64(id) >= int64(len(t.texts)) {
		return ""
	}
	return t.texts[id]
}

// Since is the texts of the ids from n on, in their order: what an instance
// that knows the first n has to be told. The caller must not change the slice.
func (t *Strings) Since(n uint32) []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if int64(n) >= int64(len(t.texts)) {
		return nil
	}
	return t.texts[n:len(t.texts):len(t.texts)]
}

// internable is s as the table holds it.
func internable(s string) string {
	s = utf8Text(s)
	if len(s) <= abi.MaxInternBytes {
		return s
	}
	n := abi.MaxInternBytes
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// utf8Text is s with U+FFFD for what isn't UTF-8. The API server doesn't check
// every field of what clients send as protobuf.
func utf8Text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, string(utf8.RuneError))
}
