// SPDX-License-Identifier: Apache-2.0

package abi

import (
	"math"
	"unicode/utf8"
)

// Value is a value in a checked value record. It refers to the record's bytes,
// which must not change while it is used. The zero Value is null.
type Value struct {
	rec []byte
	at  uint32
}

// OpenValue checks a whole value record and returns its root. It accepts
// exactly what the layout allows: every offset inside, every kind known, texts
// UTF-8, keys ascending, at most MaxValueDepth levels, and no more cells and
// text than fit the record (so that shared parts cannot make it explode).
func OpenValue(rec []byte) (Value, error) {
	if len(rec) < ValueHeadSize || len(rec) > MaxValueBytes {
		return Value{}, ValueError("want " + itoa(ValueHeadSize) + " to " + itoa(MaxValueBytes) + " bytes, got " + itoa(uint64(len(rec))))
	}
	if n := getU32(rec[ValueSizeField:]); uint64(n) != uint64(len(rec)) {
		return Value{}, ValueError("size field: want " + itoa(uint64(len(rec))) + ", got " + itoa(uint64(n)))
	}
	c := valueChecker{rec: rec, cells: len(rec)/CellSize + 1, texts: len(rec)}
	if err := c.cell(ValueRoot, 0); err != nil {
		return Value{}, err
	}
	return Value{rec, ValueRoot}, nil
}

// TrustValue is OpenValue without the checks: for a guest, which reads what its
// host wrote. Of other bytes it makes panics.
func TrustValue(rec []byte) Value { return Value{rec, ValueRoot} }

type valueChecker struct {
	rec   []byte
	cells int // left
	texts int // bytes left
}

// span checks that n elements of stride bytes lie inside the record at off.
func (c *valueChecker) span(off uint64, n uint32, stride uint64) error {
	size := uint64(len(c.rec))
	if off > size || uint64(n)*stride > size-off {
		return ValueError("offset " + itoa(off) + " with " + itoa(uint64(n)) + " elements: want inside " + itoa(size) + " bytes")
	}
	return nil
}

func (c *valueChecker) text(off uint64, n uint32) error {
	if err := c.span(off, n, 1); err != nil {
		return err
	}
	if c.texts -= int(n); c.texts < 0 {
		return ValueError("want no shared parts, got more text than bytes")
	}
	if !utf8.Valid(c.rec[off : off+uint64(n)]) {
		return ValueError("want UTF-8 text, got other bytes")
	}
	return nil
}

func (c *valueChecker) cell(at uint32, depth int) error {
	if depth > MaxValueDepth {
		return ValueError("want at most " + itoa(MaxValueDepth) + " levels, got more")
	}
	if c.cells--; c.cells < 0 {
		return ValueError("want no shared parts, got more cells than bytes")
	}
	v := Value{c.rec, at}
	n, p := v.count(), v.payload()
	switch v.Kind() {
	case Null, Int:
		return nil
	case Bool:
		if p > 1 {
			return ValueError("bool: want 0 or 1, got " + itoa(p))
		}
	case Float:
		if f := math.Float64frombits(p); math.IsNaN(f) || math.IsInf(f, 0) {
			return ValueError("float: want a finite number")
		}
	case String:
		return c.text(p, n)
	case QuantityKind:
		if err := c.span(p, 1, BlockText); err != nil {
			return err
		}
		return c.text(p+BlockText, n)
	case List:
		if err := c.span(p, n, CellSize); err != nil {
			return err
		}
		for i := range n {
			if err := c.cell(uint32(p)+i*CellSize, depth+1); err != nil {
				return err
			}
		}
	case Map:
		if err := c.span(p, n, EntrySize); err != nil {
			return err
		}
		for i := range n {
			e := uint32(p) + i*EntrySize
			koff, klen := getU32(c.rec[e:]), getU32(c.rec[e+4:])
			if err := c.text(uint64(koff), klen); err != nil {
				return err
			}
			if i > 0 && string(v.keyBytes(i-1)) >= string(v.keyBytes(i)) {
				return ValueError("map: want keys in ascending order")
			}
			if err := c.cell(e+EntryCell, depth+1); err != nil {
				return err
			}
		}
	default:
		return ValueError("want a known kind, got " + v.Kind().String())
	}
	return nil
}

func (v Value) u32(off uint32) uint32 { return getU32(v.rec[v.at+off:]) }
func (v Value) count() uint32         { return v.u32(CellLen) }
func (v Value) payload() uint64       { return getU64(v.rec[v.at+CellPayload:]) }

// Kind is the value's kind.
func (v Value) Kind() ValueKind {
	if v.rec == nil {
		return Null
	}
	return ValueKind(v.u32(CellKind))
}

// Bool is the value of a bool, false for other kinds.
func (v Value) Bool() bool { return v.Kind() == Bool && v.payload() == 1 }

// Int is the value of an int, the whole value of a quantity, a float cut to a
// whole number, or 0.
func (v Value) Int() int64 {
	switch v.Kind() {
	case Int:
		return int64(v.payload())
	case Float:
		return int64(math.Float64frombits(v.payload()))
	case QuantityKind:
		return v.Quantity().Value
	}
	return 0
}

// Float is the value of a float or an int, or 0.
func (v Value) Float() float64 {
	switch v.Kind() {
	case Int:
		return float64(int64(v.payload()))
	case Float:
		return math.Float64frombits(v.payload())
	}
	return 0
}

// Text is a copy of a string's or a quantity's text, "" for other kinds.
func (v Value) Text() string {
	switch p := v.payloadOf(String, QuantityKind); v.Kind() {
	case String:
		return string(v.rec[p : p+uint64(v.count())])
	case QuantityKind:
		return string(v.rec[p+BlockText : p+BlockText+uint64(v.count())])
	}
	return ""
}

func (v Value) payloadOf(a, b ValueKind) uint64 {
	if k := v.Kind(); k == a || k == b {
		return v.payload()
	}
	return 0
}

// Quantity is the value of a quantity, the zero Quantity for other kinds.
func (v Value) Quantity() Quantity {
	if v.Kind() != QuantityKind {
		return Quantity{}
	}
	p := v.payload()
	return Quantity{
		Text:  v.Text(),
		Value: int64(getU64(v.rec[p+BlockValue:])),
		Milli: int64(getU64(v.rec[p+BlockMilli:])),
	}
}

// Len is the number of entries of a list or map, 0 for other kinds.
func (v Value) Len() int {
	if k := v.Kind(); k == List || k == Map {
		return int(v.count())
	}
	return 0
}

// At is the entry i of a list or map, in 0..Len()-1.
func (v Value) At(i int) Value {
	p := uint32(v.payload())
	if v.Kind() == Map {
		return Value{v.rec, p + uint32(i)*EntrySize + EntryCell}
	}
	return Value{v.rec, p + uint32(i)*CellSize}
}

// Key is a copy of the key of a map's entry i.
func (v Value) Key(i int) string { return string(v.keyBytes(uint32(i))) }

func (v Value) keyBytes(i uint32) []byte {
	e := uint32(v.payload()) + i*EntrySize
	off, n := getU32(v.rec[e:]), getU32(v.rec[e+4:])
	return v.rec[off : off+n]
}

// Get is a map's value for key; ok is false if there is none or v is no map.
func (v Value) Get(key string) (Value, bool) {
	if v.Kind() != Map {
		return Value{}, false
	}
	lo, hi := uint32(0), v.count()
	for lo < hi {
		mid := (lo + hi) / 2
		switch k := v.keyBytes(mid); {
		case string(k) == key:
			return v.At(int(mid)), true
		case string(k) < key:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return Value{}, false
}

// Tree is the value as EncodeValue takes it.
func (v Value) Tree() any {
	switch v.Kind() {
	case Bool:
		return v.Bool()
	case Int:
		return v.Int()
	case Float:
		return v.Float()
	case String:
		return v.Text()
	case QuantityKind:
		return v.Quantity()
	case List:
		l := make([]any, v.Len())
		for i := range l {
			l[i] = v.At(i).Tree()
		}
		return l
	case Map:
		m := make(map[string]any, v.Len())
		for i := range v.Len() {
			m[v.Key(i)] = v.At(i).Tree()
		}
		return m
	}
	return nil
}
