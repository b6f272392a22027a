// SPDX-License-Identifier: Apache-2.0

package abi

import "math"

// ValueWriter writes a value record cell by cell, for those who have no tree of
// Go values: a guest that describes itself, for one, saves 50 KB. A cell is
// named by its offset; the root's is ValueRoot. A cell that isn't written is
// null. What is written isn't checked: texts must be UTF-8, floats finite, keys
// ascending, and the whole within MaxValueBytes.
type ValueWriter struct{ b []byte }

// NewValueWriter returns a writer of a record whose root is null.
func NewValueWriter() *ValueWriter { return &ValueWriter{make([]byte, ValueHeadSize, 256)} }

// Bytes is the record.
func (w *ValueWriter) Bytes() []byte {
	w.align()
	putU32(w.b[ValueSizeField:], uint32(len(w.b)))
	return w.b
}

// Null writes null.
func (w *ValueWriter) Null(at int) { w.put(at, Null, 0, 0) }

// Bool writes a bool.
func (w *ValueWriter) Bool(at int, v bool) {
	n := uint64(0)
	if v {
		n = 1
	}
	w.put(at, Bool, 0, n)
}

// Int writes an int.
func (w *ValueWriter) Int(at int, v int64) { w.put(at, Int, 0, uint64(v)) }

// Float writes a float.
func (w *ValueWriter) Float(at int, v float64) { w.put(at, Float, 0, math.Float64bits(v)) }

// String writes a string.
func (w *ValueWriter) String(at int, v string) { w.put(at, String, len(v), uint64(w.text(v))) }

// Quantity writes a quantity.
func (w *ValueWriter) Quantity(at int, v Quantity) {
	off := w.reserve(BlockText)
	putU64(w.b[off+BlockValue:], uint64(v.Value))
	putU64(w.b[off+BlockMilli:], uint64(v.Milli))
	w.text(v.Text)
	w.put(at, QuantityKind, len(v.Text), uint64(off))
}

// List writes a list of n nulls and returns the cell of the first; the others
// follow every CellSize bytes.
func (w *ValueWriter) List(at, n int) int {
	off := w.reserve(n * CellSize)
	w.put(at, List, n, uint64(off))
	return off
}

// Strings writes a list of strings.
func (w *ValueWriter) Strings(at int, l []string) {
	first := w.List(at, len(l))
	for i, s := range l {
		w.String(first+i*CellSize, s)
	}
}

// Map writes a map of n entries and returns the first; the others follow every
// EntrySize bytes. Each needs its Key, in ascending order.
func (w *ValueWriter) Map(at, n int) int {
	off := w.reserve(n * EntrySize)
	w.put(at, Map, n, uint64(off))
	return off
}

// Key gives an entry of a map its key and returns its cell.
func (w *ValueWriter) Key(entry int, key string) int {
	off := w.text(key) // before w.b is read: it may move
	putU32(w.b[entry+EntryKey:], uint32(off))
	putU32(w.b[entry+EntryKey+4:], uint32(len(key)))
	return entry + EntryCell
}

func (w *ValueWriter) align() {
	for len(w.b)%8 != 0 {
		w.b = append(w.b, 0)
	}
}

// reserve adds n zero bytes, 8-aligned, and returns their offset.
func (w *ValueWriter) reserve(n int) int {
	w.align()
	off := len(w.b)
	w.b = append(w.b, make([]byte, n)...)
	return off
}

//go:noinline
func (w *ValueWriter) put(at int, k ValueKind, n int, payload uint64) {
	putU32(w.b[at+CellKind:], uint32(k))
	putU32(w.b[at+CellLen:], uint32(n))
	putU64(w.b[at+CellPayload:], payload)
}

//go:noinline
func (w *ValueWriter) text(s string) int {
	off := len(w.b)
	w.b = append(w.b, s...)
	return off
}
