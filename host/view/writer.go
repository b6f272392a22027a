// SPDX-License-Identifier: Apache-2.0

package view

import (
	"encoding/binary"
	"slices"

	"github.com/berth-scheduler/berth/host/intern"
)

// writer appends one record to b. Offsets count from base, the record's start;
// they stay right when b grows.
type writer struct {
	b    []byte
	base int
}

// reserve adds n zero bytes, 8-aligned, and returns their offset.
func (w *writer) reserve(n int) uint32 {
	size := len(w.b) - w.base
	pad := -size & 7
	w.b = slices.Grow(w.b, pad+n)
	end := len(w.b)
	w.b = w.b[:end+pad+n]
	clear(w.b[end:])
	return uint32(size + pad)
}

func (w *writer) u32(at, v uint32) {
	binary.LittleEndian.PutUint32(w.b[w.base+int(at):], v)
}

func (w *writer) i32(at uint32, v int32) { w.u32(at, uint32(v)) }

func (w *writer) i64(at uint32, v int64) {
	binary.LittleEndian.PutUint64(w.b[w.base+int(at):], uint64(v))
}

// text writes an inline string: {offset, length} at, the bytes at the end. The
// empty string is {0, 0}.
func (w *writer) text(at uint32, s string) {
	if s == "" {
		return
	}
	s = intern.UTF8(s)
	w.u32(at, uint32(len(w.b)-w.base))
	w.u32(at+4, uint32(len(s)))
	w.b = append(w.b, s...)
}

// list reserves n entries for the list {offset, count} at, and returns the
// offset of the first. The empty list is {0, 0}.
func (w *writer) list(at uint32, n int, stride uint32) uint32 {
	if n == 0 {
		return 0
	}
	off := w.reserve(n * int(stride))
	w.u32(at, off)
	w.u32(at+4, uint32(n))
	return off
}
