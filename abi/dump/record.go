// SPDX-License-Identifier: Apache-2.0

// Package dump reads records by walking the tables of package abi, and prints
// them: for tests, golden vectors and commands. It knows no section by name, so
// that what it reads is what the tables say.
package dump

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/berth-scheduler/berth/abi"
)

// Record is a view record.
type Record struct {
	Kind     string // "node", "pod"
	Size     int
	Sections []Section // those that are present, by index
}

// Section is a section of a record.
type Section struct {
	Name    string
	List    bool
	Entries []Entry // one where List is false
}

// Entry is a structure: its fields in the order of the table.
type Entry []Field

// Field is a field of an Entry. Its value is an int64, a uint64, a string (of
// type str), an ID, an []ID or an []Entry.
type Field struct {
	Name  string
	Value any
}

// ID is an interned string.
type ID struct {
	ID   uint32
	Text string
}

// Section finds a section by its name.
func (r *Record) Section(name string) (Section, bool) {
	for _, s := range r.Sections {
		if s.Name == name {
			return s, true
		}
	}
	return Section{}, false
}

// Field is the value of a field, nil where the entry has none of that name.
func (e Entry) Field(name string) any {
	for _, f := range e {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// View reads a view record, whose ids index texts. It checks every bound,
// alignment and id; sections that the tables don't know are skipped.
func View(rec []byte, texts []string) (*Record, error) {
	v := viewer{rec: rec, texts: texts, budget: 4 * len(rec)}
	head := v.entry(&abi.RecordHead, 0)
	if v.err != nil {
		return nil, v.err
	}
	kind, _ := head.Field("kind").(uint64)
	size, _ := head.Field("size").(uint64)
	count, _ := head.Field("sections").(uint64)
	if size != uint64(len(rec)) || size%8 != 0 {
		return nil, fmt.Errorf("view record: size: want %d and a multiple of 8, got %d", len(rec), size)
	}
	r := &Record{Kind: "node", Size: len(rec)}
	sections := abi.NodeSections
	switch kind {
	case abi.NodeRecord:
	case abi.PodRecord:
		r.Kind, sections = "pod", abi.PodSections
	default:
		return nil, fmt.Errorf("view record: want kind 1 or 2, got %d", kind)
	}
	v.span(abi.RecordTable, count, 4)
	for _, s := range sections {
		if v.err != nil {
			return nil, v.err
		}
		if uint64(s.Index) >= count {
			continue
		}
		if off := v.u32(abi.RecordTable + 4*s.Index); off != 0 {
			r.Sections = append(r.Sections, v.section(s, off))
		}
	}
	return r, v.err
}

type viewer struct {
	rec    []byte
	texts  []string
	budget int // entries left: shared parts must not explode
	err    error
}

func (v *viewer) fail(format string, args ...any) {
	if v.err == nil {
		v.err = fmt.Errorf("view record: "+format, args...)
	}
}

// span checks that n elements of stride bytes lie at off.
func (v *viewer) span(off uint32, n uint64, stride uint32) bool {
	if size := uint64(len(v.rec)); uint64(off) > size || n > size || n*uint64(stride) > size-uint64(off) {
		v.fail("%d elements of %d bytes at %d: want inside %d bytes", n, stride, off, size)
	}
	if v.budget -= int(n); v.budget < 0 {
		v.fail("want no shared parts, got more entries than bytes")
	}
	return v.err == nil
}

func (v *viewer) u32(off uint32) uint32 { return binary.LittleEndian.Uint32(v.rec[off:]) }

func (v *viewer) section(s abi.Section, off uint32) Section {
	out := Section{Name: s.Name, List: s.List}
	n, stride := uint64(1), s.Entry.Size
	if off%8 != 0 {
		v.fail("%s: want an offset that is a multiple of 8, got %d", s.Name, off)
	}
	if s.List {
		if !v.span(off, 1, abi.ListEntries) {
			return out
		}
		n, stride = uint64(v.u32(off+abi.ListCount)), v.u32(off+abi.ListStride)
		off += abi.ListEntries
		if stride < s.Entry.Size || stride%8 != 0 {
			v.fail("%s: want a stride of at least %d, got %d", s.Name, s.Entry.Size, stride)
		}
	}
	if v.span(off, n, stride) {
		for i := range uint32(n) {
			out.Entries = append(out.Entries, v.entry(s.Entry, off+i*stride))
		}
	}
	return out
}

func (v *viewer) entry(s *abi.Struct, off uint32) Entry {
	if !v.span(off, 1, s.Size) {
		return nil
	}
	e := make(Entry, 0, len(s.Fields))
	for _, f := range s.Fields {
		e = append(e, Field{f.Name, v.field(f.Type, off+f.Offset)})
	}
	return e
}

func (v *viewer) field(t abi.FieldType, off uint32) any {
	switch t {
	case abi.U16:
		return uint64(binary.LittleEndian.Uint16(v.rec[off:]))
	case abi.U32, abi.Ptr, abi.Flags:
		return uint64(v.u32(off))
	case abi.U64:
		return binary.LittleEndian.Uint64(v.rec[off:])
	case abi.S32:
		return int64(int32(v.u32(off)))
	case abi.S64:
		return int64(binary.LittleEndian.Uint64(v.rec[off:]))
	case abi.ID:
		return v.id(off)
	case abi.Str:
		at, n := v.u32(off), v.u32(off+4)
		if !v.span(at, uint64(n), 1) {
			return ""
		}
		if !utf8.Valid(v.rec[at : at+n]) {
			v.fail("text at %d: want UTF-8", at)
		}
		return string(v.rec[at : at+n])
	}
	return v.list(strings.TrimSuffix(strings.TrimPrefix(string(t), "list<"), ">"), v.u32(off), v.u32(off+4))
}

func (v *viewer) id(off uint32) ID {
	id := v.u32(off)
	if int64(id) >= int64(len(v.texts)) {
		v.fail("id at %d: want less than %d, got %d", off, len(v.texts), id)
		return ID{ID: id}
	}
	return ID{id, v.texts[id]}
}

func (v *viewer) list(name string, off, n uint32) any {
	if name == "id" {
		ids := []ID{}
		if v.span(off, uint64(n), 4) {
			for i := range n {
				ids = append(ids, v.id(off+4*i))
			}
		}
		return ids
	}
	entries := []Entry{}
	s := structs[name]
	if s == nil {
		v.fail("want a known structure, got %q", name)
		return entries
	}
	if off%8 != 0 {
		v.fail("list of %s: want an offset that is a multiple of 8, got %d", name, off)
	}
	if v.span(off, uint64(n), s.Size) {
		for i := range n {
			entries = append(entries, v.entry(s, off+i*s.Size))
		}
	}
	return entries
}

// structs are the structures that lists name.
var structs = func() map[string]*abi.Struct {
	m := map[string]*abi.Struct{}
	for _, t := range [][]*abi.Struct{abi.SharedStructs, abi.NodeStructs, abi.PodStructs} {
		for _, s := range t {
			m[s.Name] = s
		}
	}
	return m
}()
