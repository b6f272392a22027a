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
	w := NewValueWriter()
	if err := w.Tree(ValueRoot, v); err != nil {
		return nil, err
	}
	b := w.Bytes()
	if len(b) > MaxValueBytes {
		return nil, ValueError("want at most " + itoa(MaxValueBytes) + " bytes, got " + itoa(uint64(len(b))))
	}
	return b, nil
}

// Tree writes a tree as EncodeValue takes it into the cell at an offset.
func (w *ValueWriter) Tree(at int, v any) error { return w.tree(at, v, 0) }

func (w *ValueWriter) tree(at int, v any, depth int) error {
	if depth > MaxValueDepth {
		return ValueError("want at most " + itoa(MaxValueDepth) + " levels, got more")
	}
	if len(w.b) > MaxValueBytes {
		return ValueError("want at most " + itoa(MaxValueBytes) + " bytes, got more")
	}
	switch v := v.(type) {
	case nil:
		w.Null(at)
	case bool:
		w.Bool(at, v)
	case int:
		w.Int(at, int64(v))
	case int64:
		w.Int(at, v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return ValueError("want a finite number, got NaN or infinity")
		}
		w.Float(at, v)
	case string:
		if err := utf8Text(v); err != nil {
			return err
		}
		w.String(at, v)
	case Quantity:
		if err := utf8Text(v.Text); err != nil {
			return err
		}
		w.Quantity(at, v)
	case []string:
		first := w.List(at, len(v))
		for i := range v {
			if err := w.tree(first+i*CellSize, v[i], depth+1); err != nil {
				return err
			}
		}
	case []any:
		first := w.List(at, len(v))
		for i := range v {
			if err := w.tree(first+i*CellSize, v[i], depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			if err := utf8Text(k); err != nil {
				return err
			}
			keys = append(keys, k)
		}
		sortStrings(keys)
		first := w.Map(at, len(keys))
		for i, k := range keys {
			if err := w.tree(w.Key(first+i*EntrySize, k), v[k], depth+1); err != nil {
				return err
			}
		}
	default:
		return ValueError("want a tree of JSON-like values, got another type")
	}
	return nil
}

func utf8Text(s string) error {
	if !utf8.ValidString(s) {
		return ValueError("want UTF-8 text, got other bytes")
	}
	return nil
}
