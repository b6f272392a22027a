// SPDX-License-Identifier: Apache-2.0

package abi

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var snakeCase = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// allStructs are all structures of the contract.
func allStructs() []*Struct {
	return slices.Concat(CallStructs, SharedStructs, NodeStructs, PodStructs, ValueStructs)
}

func structByName(name string) *Struct {
	for _, s := range allStructs() {
		if s.Name == name {
			return s
		}
	}
	return nil
}

func TestStructs(t *testing.T) {
	names := map[string]bool{}
	for _, s := range allStructs() {
		if !snakeCase.MatchString(s.Name) || names[s.Name] {
			t.Errorf("struct %q: want a snake_case name of its own", s.Name)
		}
		names[s.Name] = true
		if s.Size == 0 || s.Size%8 != 0 {
			t.Errorf("struct %s: want a size that is a multiple of 8, got %d", s.Name, s.Size)
		}
		fields, end := map[string]bool{}, uint32(0)
		for _, f := range s.Fields {
			if !snakeCase.MatchString(f.Name) || fields[f.Name] {
				t.Errorf("%s.%s: want a snake_case name of its own", s.Name, f.Name)
			}
			fields[f.Name] = true
			if f.Offset < end {
				t.Errorf("%s.%s: want it behind the field before, from %d, got %d", s.Name, f.Name, end, f.Offset)
			}
			if gap := f.Offset - end; gap >= 8 && !strings.HasSuffix(f.Name, "_kind") {
				t.Errorf("%s.%s: want no hole before it, got %d bytes", s.Name, f.Name, gap)
			}
			if f.Offset%f.Type.Align() != 0 {
				t.Errorf("%s.%s: want a multiple of %d, got %d", s.Name, f.Name, f.Type.Align(), f.Offset)
			}
			end = f.Offset + f.Type.Size()
			checkType(t, s, f)
		}
		if end > s.Size || s.Size-end >= 8 && s != FrameStruct {
			t.Errorf("struct %s: want its size just behind the last field, %d, got %d", s.Name, end, s.Size)
		}
	}
}

func checkType(t *testing.T, s *Struct, f Field) {
	switch f.Type {
	case U16, U32, S32, U64, S64, ID, Str, Ptr, Flags:
		return
	}
	name, ok := strings.CutPrefix(strings.TrimSuffix(string(f.Type), ">"), "list<")
	if ok && name != "id" && structByName(name) == nil || !ok {
		t.Errorf("%s.%s: want a known type, got %s", s.Name, f.Name, f.Type)
	}
}

func TestSections(t *testing.T) {
	for prefix, table := range map[string][]Section{"node.": NodeSections, "pod.": PodSections} {
		if len(table) > 32 {
			t.Errorf("%ssections: want at most 32, the bits of a mask, got %d", prefix, len(table))
		}
		for i, s := range table {
			name, ok := strings.CutPrefix(s.Name, prefix)
			if !ok || !snakeCase.MatchString(name) {
				t.Errorf("section %q: want %s and a snake_case name", s.Name, prefix)
			}
			if s.Index != uint32(i) {
				t.Errorf("section %s: want index %d, its place in the table, got %d", s.Name, i, s.Index)
			}
			if s.Since > Minor || i > 0 && s.Since < table[i-1].Since {
				t.Errorf("section %s: want since between that of the section before and %d, got %d", s.Name, Minor, s.Since)
			}
			if s.Entry == nil || structByName(s.Entry.Name) != s.Entry || s.Doc == "" {
				t.Errorf("section %s: want an entry that is in the tables, and a doc", s.Name)
			}
			if got, ok := SectionByName(s.Name); !ok || got.Index != s.Index || got.Entry != s.Entry {
				t.Errorf("SectionByName(%s): want that section, got %v, %t", s.Name, got.Name, ok)
			}
		}
		if table[0].Name != prefix+"meta" || table[0].List {
			t.Errorf("first section: want %smeta, no list, got %s", prefix, table[0].Name)
		}
	}
	if _, ok := SectionByName("node.none"); ok {
		t.Error("SectionByName(node.none): want none")
	}
}

func TestSectionMasks(t *testing.T) {
	node, pod := SectionMasks([]string{"node.labels", "pod.tolerations", "node.features", "pod.meta"})
	if want := uint32(1<<NodeMeta | 1<<NodeLabels | 1<<NodeFeatures); node != want {
		t.Errorf("node: want %b, got %b", want, node)
	}
	if want := uint32(1<<PodMeta | 1<<PodTolerations); pod != want {
		t.Errorf("pod: want %b, got %b", want, pod)
	}
	if node, pod = SectionMasks(nil); node != 1 || pod != 1 {
		t.Errorf("no reads: want the meta sections, got %b, %b", node, pod)
	}
}

func TestPoints(t *testing.T) {
	names := map[string]bool{}
	for i := range Points {
		p := &Points[i]
		if p.Point != Point(i) {
			t.Errorf("point %s: want number %d, its place in the table, got %d", p.Name, i, p.Point)
		}
		if !snakeCase.MatchString(p.Name) || names[p.Name] || p.Doc == "" {
			t.Errorf("point %q: want a snake_case name of its own and a doc", p.Name)
		}
		names[p.Name] = true
		if got, ok := PointByName(p.Name); !ok || got != p.Point || got.String() != p.Name {
			t.Errorf("PointByName(%s): want %d, got %d, %t", p.Name, i, got, ok)
		}
		if len(p.Phases) == 0 || !slices.IsSorted(p.Phases) || len(slices.Compact(slices.Clone(p.Phases))) != len(p.Phases) {
			t.Errorf("point %s: want phases in ascending order, got %v", p.Name, p.Phases)
		}
		if !slices.Contains(p.Codes, Success) {
			t.Errorf("point %s: want success among its codes, got %v", p.Name, p.Codes)
		}
		for j, c := range p.Codes {
			if int(c) >= len(CodeNames) || slices.Contains(p.Codes[:j], c) {
				t.Errorf("point %s: want known codes, each once, got %v", p.Name, p.Codes)
			}
		}
	}
	if got := Point(99).String(); got != "point 99" {
		t.Errorf("unknown point: got %q", got)
	}
	if _, ok := PointByName("none"); ok {
		t.Error("PointByName(none): want none")
	}
	for i, name := range PhaseNames {
		if !snakeCase.MatchString(name) || Phase(i).String() != name {
			t.Errorf("phase %d: want a snake_case name, got %q", i, name)
		}
	}
	if got := Phase(9).String(); got != "phase 9" {
		t.Errorf("unknown phase: got %q", got)
	}
	if VerdictItem.ItemSize() != VerdictStruct.Size || ScoreItem.ItemSize() != ScoreStruct.Size || NoItem.ItemSize() != 0 {
		t.Error("ItemSize: want the sizes of the structures")
	}
}

func TestFunctions(t *testing.T) {
	for _, table := range [][]Function{Imports, Exports()} {
		names := map[string]bool{}
		for _, f := range table {
			if !snakeCase.MatchString(f.Name) || names[f.Name] || f.Doc == "" {
				t.Errorf("function %q: want a snake_case name of its own and a doc", f.Name)
			}
			names[f.Name] = true
			if len(f.Results) > 1 {
				t.Errorf("function %s: want at most one result, got %s", f.Name, f.Signature())
			}
			if f.Frame && f.Signature() != "(i32) -> (i32)" {
				t.Errorf("function %s: want a frame's signature, got %s", f.Name, f.Signature())
			}
		}
	}
	for i := range Points {
		f, ok := ExportByName(Points[i].Name)
		if !ok || f.Point != Points[i].Point || !f.Frame || f.Required != (f.Point == Describe) {
			t.Errorf("export %s: want the point's function, got %+v, %t", Points[i].Name, f, ok)
		}
	}
	if _, ok := ExportByName("none"); ok {
		t.Error("ExportByName(none): want none")
	}
	if got := Signature([]ValueType{I32, I64}, nil); got != "(i32 i64) -> ()" {
		t.Errorf("Signature: got %q", got)
	}
	if got := ValueType(0x7d).String(); got != "type 125" {
		t.Errorf("unknown type: got %q", got)
	}
}

func TestCodes(t *testing.T) {
	for i, name := range CodeNames {
		if !snakeCase.MatchString(name) || Code(i).String() != name {
			t.Errorf("code %d: want a snake_case name, got %q", i, name)
		}
	}
	for c, want := range map[Code]string{Unset: "unset", 7: "code 7", 1 << 31: "code 2147483648"} {
		if got := c.String(); got != want {
			t.Errorf("code %d: want %q, got %q", uint32(c), want, got)
		}
	}
}

func TestCheckVersion(t *testing.T) {
	for _, tc := range []struct {
		major, minor uint16
		err          string
	}{
		{Major, Minor, ""},
		{Major, 0, ""},
		{Major, Minor + 1, "abi version: want 1.0 to 1.0, got 1.1"},
		{Major + 1, 0, "abi version: want 1.0 to 1.0, got 2.0"},
		{0, 0, "abi version: want 1.0 to 1.0, got 0.0"},
		{65535, 65535, "abi version: want 1.0 to 1.0, got 65535.65535"},
	} {
		err := CheckVersion(PackVersion(tc.major, tc.minor))
		if got := errorText(err); got != tc.err {
			t.Errorf("%d.%d: want %q, got %q", tc.major, tc.minor, tc.err, got)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
