// SPDX-License-Identifier: Apache-2.0

package abi

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func deep(levels int) any {
	var v any = "leaf"
	for range levels {
		v = []any{v}
	}
	return v
}

// sampleTree has every kind.
func sampleTree() any {
	return map[string]any{
		"null": nil, "true": true, "false": false, "int": int64(-7), "min": int64(math.MinInt64), "float": 0.25, "zero": math.Copysign(0, -1),
		"text": "Größe: 3 × 4", "empty": "", "list": []any{int64(1), "a", []any{}, nil}, "map": map[string]any{}, "": "empty key",
		"quantity": Quantity{"1500m", 2, 1500}, "nested": map[string]any{"a": map[string]any{"b": []any{Quantity{"1Gi", 1 << 30, 1000 << 30}}}},
	}
}

// checkTree compares trees. (The time that cmp takes for equal lists doubles
// with each level.)
func checkTree(t *testing.T, want, got any) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Errorf("tree: want %v, got %v", want, got)
	}
}

func TestValueRoundTrip(t *testing.T) {
	for _, tree := range []any{
		nil, true, int64(0), int64(math.MaxInt64), 1.5, math.MaxFloat64, math.SmallestNonzeroFloat64, "", "a", strings.Repeat("x", 100_000),
		[]any{}, []any{nil}, map[string]any{}, sampleTree(), deep(MaxValueDepth), Quantity{},
	} {
		rec, err := EncodeValue(tree)
		if err != nil {
			t.Fatalf("%.40v: %v", tree, err)
		}
		if len(rec)%8 != 0 {
			t.Errorf("%.40v: want a multiple of 8 bytes, got %d", tree, len(rec))
		}
		v, err := OpenValue(rec)
		if err != nil {
			t.Fatalf("%.40v: %v", tree, err)
		}
		checkTree(t, tree, v.Tree())
		again, err := EncodeValue(v.Tree())
		if err != nil || !bytes.Equal(rec, again) {
			t.Errorf("%.40v encoded again: want the same bytes, got %v", tree, err)
		}
	}
}

// What EncodeValue takes besides what Tree gives.
func TestEncodeValueShorthands(t *testing.T) {
	a, err := EncodeValue(map[string]any{"n": 3, "l": []string{"x", "y"}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := EncodeValue(map[string]any{"n": int64(3), "l": []any{"x", "y"}})
	if err != nil || !bytes.Equal(a, b) {
		t.Errorf("int and []string: want the bytes of int64 and []any, got %v", err)
	}
}

func TestEncodeValueErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		tree any
		err  string
	}{
		"type":            {int8(1), "want a tree of JSON-like values"},
		"type inside":     {map[string]any{"a": []any{struct{}{}}}, "want a tree of JSON-like values"},
		"NaN":             {math.NaN(), "want a finite number"},
		"infinity":        {[]any{math.Inf(-1)}, "want a finite number"},
		"text":            {"a\xff", "want UTF-8"},
		"key":             {map[string]any{"\xff": nil}, "want UTF-8"},
		"strings":         {[]string{"\xff"}, "want UTF-8"},
		"quantity":        {Quantity{Text: "\xff"}, "want UTF-8"},
		"depth":           {deep(MaxValueDepth + 1), "want at most 64 levels"},
		"depth of map":    {map[string]any{"a": deep(MaxValueDepth)}, "want at most 64 levels"},
		"size":            {strings.Repeat("x", MaxValueBytes), "want at most 1048576 bytes, got 1048600"},
		"size of a list":  {make([]any, MaxValueBytes/CellSize+1), "want at most 1048576 bytes"},
		"size of strings": {[]string{strings.Repeat("x", MaxValueBytes), "a"}, "want at most 1048576 bytes"},
	} {
		if _, err := EncodeValue(tc.tree); err == nil || !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: want error %q, got %v", name, tc.err, err)
		}
	}
}

// record makes a value record by hand: a head whose root is {kind, len,
// payload}, then tail.
func handmade(kind ValueKind, n uint32, payload uint64, tail ...byte) []byte {
	b := make([]byte, ValueHeadSize, ValueHeadSize+len(tail))
	b = append(b, tail...)
	binary.LittleEndian.PutUint32(b[ValueSizeField:], uint32(len(b)))
	binary.LittleEndian.PutUint32(b[ValueRoot+CellKind:], uint32(kind))
	binary.LittleEndian.PutUint32(b[ValueRoot+CellLen:], n)
	binary.LittleEndian.PutUint64(b[ValueRoot+CellPayload:], payload)
	return b
}

func twoKeys(a, b string) []byte {
	rec, err := EncodeValue(map[string]any{"aa": int64(1), "bb": int64(2)})
	if err != nil {
		panic(err)
	}
	copy(rec[bytes.Index(rec, []byte("aa")):], a)
	copy(rec[bytes.Index(rec, []byte("bb")):], b)
	return rec
}

func TestOpenValueErrors(t *testing.T) {
	wrongSize := handmade(Null, 0, 0)
	wrongSize[0]++
	self := make([]byte, CellSize)
	binary.LittleEndian.PutUint32(self, uint32(List))
	binary.LittleEndian.PutUint32(self[CellLen:], 1)
	binary.LittleEndian.PutUint64(self[CellPayload:], ValueHeadSize)
	// A list of cells whose texts are all the same bytes.
	var shared []byte
	for range 64 {
		shared = binary.LittleEndian.AppendUint32(shared, uint32(String))
		shared = binary.LittleEndian.AppendUint32(shared, 64)
		shared = binary.LittleEndian.AppendUint64(shared, ValueHeadSize)
	}
	for name, tc := range map[string]struct {
		rec []byte
		err string
	}{
		"empty":             {nil, "want 24 to 1048576 bytes, got 0"},
		"short":             {make([]byte, ValueHeadSize-1), "want 24 to 1048576 bytes, got 23"},
		"long":              {make([]byte, MaxValueBytes+1), "want 24 to 1048576 bytes, got 1048577"},
		"size field":        {wrongSize, "size field: want 24, got 25"},
		"kind":              {handmade(8, 0, 0), "want a known kind, got kind 8"},
		"bool":              {handmade(Bool, 0, 2), "bool: want 0 or 1, got 2"},
		"NaN":               {handmade(Float, 0, math.Float64bits(math.NaN())), "float: want a finite number"},
		"infinity":          {handmade(Float, 0, math.Float64bits(math.Inf(1))), "float: want a finite number"},
		"text outside":      {handmade(String, 1, 24), "offset 24 with 1 elements: want inside 24 bytes"},
		"text far outside":  {handmade(String, 1, math.MaxUint64), "want inside 24 bytes"},
		"text not UTF-8":    {handmade(String, 1, 24, 0xff), "want UTF-8"},
		"quantity outside":  {handmade(QuantityKind, 0, 16), "want inside 24 bytes"},
		"quantity text":     {handmade(QuantityKind, 9, 0), "want inside 24 bytes"},
		"list outside":      {handmade(List, 1<<31, 24), "want inside 24 bytes"},
		"map outside":       {handmade(Map, 1<<32-1, 8), "want inside 24 bytes"},
		"key outside":       {handmade(Map, 1, 24, append([]byte{0, 0, 0, 0, 200, 0, 0, 0}, make([]byte, 16)...)...), "want inside 48 bytes"},
		"keys descending":   {twoKeys("cc", "bb"), "map: want keys in ascending order"},
		"keys equal":        {twoKeys("bb", "bb"), "map: want keys in ascending order"},
		"list in itself":    {handmade(List, 1, 24, self...), "want no shared parts, got more cells than bytes"},
		"text of all cells": {handmade(List, 64, 24, shared...), "want no shared parts, got more text than bytes"},
	} {
		if _, err := OpenValue(tc.rec); err == nil || !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: want error %q, got %v", name, tc.err, err)
		}
	}
	// Nothing of a record can be left out.
	rec, err := EncodeValue(sampleTree())
	if err != nil {
		t.Fatal(err)
	}
	for n := range rec {
		if _, err := OpenValue(rec[:n]); err == nil {
			t.Fatalf("first %d bytes: want an error", n)
		}
	}
}

// Depth is bounded before the stack is: here by the number of cells.
func TestOpenValueDepth(t *testing.T) {
	rec := handmade(List, 1, ValueHeadSize)
	for i := range 100 {
		cell := handmade(List, 1, uint64(ValueHeadSize+(i+1)*CellSize))
		rec = append(rec, cell[ValueRoot:]...)
	}
	rec = append(rec, make([]byte, CellSize)...)
	binary.LittleEndian.PutUint32(rec, uint32(len(rec)))
	if _, err := OpenValue(rec); err == nil || !strings.Contains(err.Error(), "want at most 64 levels") {
		t.Errorf("want an error about levels, got %v", err)
	}
}

// Accessors of another kind give a zero, never a panic.
func TestValueAccessors(t *testing.T) {
	rec, err := EncodeValue(sampleTree())
	if err != nil {
		t.Fatal(err)
	}
	root, err := OpenValue(rec)
	if err != nil {
		t.Fatal(err)
	}
	get := func(key string) Value {
		v, ok := root.Get(key)
		if !ok {
			t.Errorf("Get(%q): want a value", key)
		}
		return v
	}
	type row struct {
		Bool  bool
		Int   int64
		Float float64
		Text  string
		Len   int
		Q     Quantity
	}
	for key, want := range map[string]row{
		"null": {}, "true": {Bool: true}, "false": {}, "int": {Int: -7, Float: -7}, "float": {Float: 0.25}, "text": {Text: "Größe: 3 × 4"},
		"list": {Len: 4}, "map": {}, "nested": {Len: 1}, "quantity": {Int: 2, Text: "1500m", Q: Quantity{"1500m", 2, 1500}},
	} {
		v := get(key)
		if got := (row{v.Bool(), v.Int(), v.Float(), v.Text(), v.Len(), v.Quantity()}); got != want {
			t.Errorf("%s: want %+v, got %+v", key, want, got)
		}
	}
	if _, ok := root.Get("none"); ok {
		t.Error("Get(none): want none")
	}
	if _, ok := get("list").Get("a"); ok {
		t.Error("Get of a list: want none")
	}
	var zero Value
	if zero.Kind() != Null || zero.Tree() != nil || zero.Len() != 0 || zero.Text() != "" {
		t.Error("zero Value: want null")
	}
	if _, ok := zero.Get("a"); ok {
		t.Error("Get of null: want none")
	}
	if got := ValueKind(9).String(); got != "kind 9" {
		t.Errorf("unknown kind: got %q", got)
	}
}

func FuzzOpenValue(f *testing.F) {
	paths, _ := filepath.Glob("testdata/vectors/value-*.bin")
	for _, path := range paths {
		rec, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(rec)
	}
	if rec, err := EncodeValue(sampleTree()); err == nil {
		f.Add(rec)
	}
	f.Fuzz(func(t *testing.T, rec []byte) {
		v, err := OpenValue(rec)
		if err != nil {
			return
		}
		tree := v.Tree()
		again, err := EncodeValue(tree)
		if err != nil {
			t.Fatalf("accepted record, encoded again: %v", err)
		}
		w, err := OpenValue(again)
		if err != nil {
			t.Fatal(err)
		}
		checkTree(t, tree, w.Tree())
		_, _ = ParseDescription(rec)
	})
}
