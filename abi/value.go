// SPDX-License-Identifier: Apache-2.0

package abi

import (
	"math"
	"unicode/utf8"
)

// ValueKind is the kind of a value in a value record.
type ValueKind uint32

// Kinds of values.
const (
	Null ValueKind = iota
	Bool
	Int
	Float
	String
	List
	Map
	QuantityKind
)

// ValueKindNames are the wire names of the kinds, indexed by ValueKind.
var ValueKindNames = []string{"null", "bool", "int", "float", "string", "list", "map", "quantity"}

func (k ValueKind) String() string {
	if int(k) < len(ValueKindNames) {
		return ValueKindNames[k]
	}
	return "kind " + itoa(uint64(k))
}

// Offsets and sizes in a value record.
const (
	ValueSizeField = 0
	ValueReserved  = 4
	ValueRoot      = 8
	ValueHeadSize  = 24 // size, reserved, root cell

	CellKind    = 0
	CellLen     = 4
	CellPayload = 8
	CellSize    = 16

	EntryKey  = 0
	EntryCell = 8
	EntrySize = 24

	BlockValue = 0
	BlockMilli = 8
	BlockText  = 16
)

// ValueStructs are the structures of value records.
var ValueStructs = []*Struct{
	{"value_head", ValueHeadSize, []Field{
		{"size", ValueSizeField, U32, "bytes of the record, a multiple of 8"},
		{"reserved", ValueReserved, U32, "0"},
		{"root_kind", ValueRoot + CellKind, U32, "the root cell"},
		{"root_len", ValueRoot + CellLen, U32, ""},
		{"root_payload", ValueRoot + CellPayload, U64, ""},
	}},
	{"cell", CellSize, []Field{
		{"kind", CellKind, U32, "null 0, bool 1, int 2, float 3, string 4, list 5, map 6, quantity 7"},
		{"len", CellLen, U32, "string, quantity: bytes of the text; list, map: number of entries; else 0"},
		{"payload", CellPayload, U64, "bool 0 or 1; int as i64; float as IEEE 754 bits; else an offset: string's bytes, list's cells, map's entries, quantity's block"},
	}},
	{"entry", EntrySize, []Field{
		{"key", EntryKey, Str, "keys of a map ascend bytewise and are unique"},
		{"kind", EntryCell + CellKind, U32, "the entry's cell"},
		{"len", EntryCell + CellLen, U32, ""},
		{"payload", EntryCell + CellPayload, U64, ""},
	}},
	{"quantity_block", BlockText, []Field{
		{"value", BlockValue, S64, "rounded up to a whole number, clamped to the range of i64"},
		{"milli", BlockMilli, S64, "in thousandths, rounded up, clamped"},
	}},
}

// Quantity is a resource quantity as text and as numbers.
type Quantity struct {
	Text  string
	Value int64 // rounded up, clamped
	Milli int64 // thousandths, rounded up, clamped
}

// ValueError says why bytes are not a value record, or a tree can't become one.
type ValueError string

func (e ValueError) Error() string { return "value record: " + string(e) }

// EncodeValue writes a tree of nil, bool, int64, int, float64, string, Quantity,
// []any, []string and map[string]any as a value record. It refuses other types,
// NaN and infinities, text that isn't UTF-8, and trees over MaxValueDepth or
// MaxValueBytes.
func EncodeValue(v any) ([]byte, error) {
	w := &valueWriter{b: make([]byte, ValueHeadSize, 256)}
	if err := w.cell(ValueRoot, v, 0); err != nil {
		return nil, err
	}
	w.align()
	if len(w.b) > MaxValueBytes {
		return nil, ValueError("want at most " + itoa(MaxValueBytes) + " bytes, got " + itoa(uint64(len(w.b))))
	}
	putU32(w.b[ValueSizeField:], uint32(len(w.b)))
	return w.b, nil
}

type valueWriter struct{ b []byte }

func (w *valueWriter) align() {
	for len(w.b)%8 != 0 {
		w.b = append(w.b, 0)
	}
}

// reserve adds n zero bytes, 8-aligned, and returns their offset.
func (w *valueWriter) reserve(n int) int {
	w.align()
	off := len(w.b)
	w.b = append(w.b, make([]byte, n)...)
	return off
}

func (w *valueWriter) put(at int, k ValueKind, n int, payload uint64) {
	putU32(w.b[at+CellKind:], uint32(k))
	putU32(w.b[at+CellLen:], uint32(n))
	putU64(w.b[at+CellPayload:], payload)
}

func (w *valueWriter) text(s string) (int, error) {
	if !utf8.ValidString(s) {
		return 0, ValueError("want UTF-8 text, got other bytes")
	}
	off := len(w.b)
	w.b = append(w.b, s...)
	return off, nil
}

func (w *valueWriter) cell(at int, v any, depth int) error {
	if depth > MaxValueDepth {
		return ValueError("want at most " + itoa(MaxValueDepth) + " levels, got more")
	}
	if len(w.b) > MaxValueBytes {
		return ValueError("want at most " + itoa(MaxValueBytes) + " bytes, got more")
	}
	switch v := v.(type) {
	case nil:
		w.put(at, Null, 0, 0)
	case bool:
		var n uint64
		if v {
			n = 1
		}
		w.put(at, Bool, 0, n)
	case int:
		w.put(at, Int, 0, uint64(v))
	case int64:
		w.put(at, Int, 0, uint64(v))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return ValueError("want a finite number, got NaN or infinity")
		}
		w.put(at, Float, 0, math.Float64bits(v))
	case string:
		off, err := w.text(v)
		if err != nil {
			return err
		}
		w.put(at, String, len(v), uint64(off))
	case Quantity:
		off := w.reserve(BlockText)
		putU64(w.b[off+BlockValue:], uint64(v.Value))
		putU64(w.b[off+BlockMilli:], uint64(v.Milli))
		if _, err := w.text(v.Text); err != nil {
			return err
		}
		w.put(at, QuantityKind, len(v.Text), uint64(off))
	case []string:
		off := w.reserve(len(v) * CellSize)
		w.put(at, List, len(v), uint64(off))
		for i := range v {
			if err := w.cell(off+i*CellSize, v[i], depth+1); err != nil {
				return err
			}
		}
	case []any:
		off := w.reserve(len(v) * CellSize)
		w.put(at, List, len(v), uint64(off))
		for i := range v {
			if err := w.cell(off+i*CellSize, v[i], depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sortStrings(keys)
		off := w.reserve(len(v) * EntrySize)
		w.put(at, Map, len(v), uint64(off))
		for i, k := range keys {
			e := off + i*EntrySize
			t, err := w.text(k)
			if err != nil {
				return err
			}
			putU32(w.b[e+EntryKey:], uint32(t))
			putU32(w.b[e+EntryKey+4:], uint32(len(k)))
			if err := w.cell(e+EntryCell, v[k], depth+1); err != nil {
				return err
			}
		}
	default:
		return ValueError("want a tree of JSON-like values, got another type")
	}
	return nil
}
