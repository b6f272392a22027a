// SPDX-License-Identifier: Apache-2.0

package weave

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseInterface(t *testing.T) {
	i32, i64 := ValueType(typeI32), ValueType(typeI64)
	none := []ValueType{}
	v := valid()
	for name, tt := range map[string]struct {
		s    sections
		want Interface
	}{
		"empty": {sections{}, Interface{}},
		"one of each": {
			v.with(secExport, vec(
				str("run")+"\x00\x01", str("f")+"\x00\x00", str("t")+"\x01\x00", str("memory")+"\x02\x00", str("g")+"\x03\x00",
			)).with(secStart, "\x00"),
			Interface{
				Imports: []Import{{"env", "f", none, none}},
				Exports: []Export{
					{"run", KindFunction, []ValueType{i32}, []ValueType{i32}},
					{"f", KindFunction, none, none},
					{"t", KindTable, nil, nil},
					{"memory", KindMemory, nil, nil},
					{"g", KindGlobal, nil, nil},
				},
				Memory:   &Pages{1, 2, true},
				HasStart: true,
			},
		},
		"no maximum": {
			sections{secMemory: vec("\x00\x03")},
			Interface{Memory: &Pages{3, 65536, false}},
		},
		"types": {
			sections{secType: vec("\x60\x02\x7f\x7e\x02\x7d\x7c"), secImport: vec(str("m") + str("n") + "\x00\x00")},
			Interface{Imports: []Import{{"m", "n", []ValueType{i32, i64}, []ValueType{ValueType(typeF32), ValueType(typeF64)}}}},
		},
	} {
		got, err := ParseInterface(tt.s.wasm())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(&tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestSignature(t *testing.T) {
	all := []ValueType{ValueType(typeI32), ValueType(typeI64), ValueType(typeF32), ValueType(typeF64),
		ValueType(typeV128), ValueType(typeFuncref), ValueType(typeExternref), 1}
	if got, want := Signature(all, nil), "(i32 i64 f32 f64 v128 funcref externref 0x1) -> ()"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
	for k, want := range map[Kind]string{KindFunction: "func", KindTable: "table", KindMemory: "memory", KindGlobal: "global", 9: "kind 9"} {
		if k.String() != want {
			t.Errorf("want %q, got %q", want, k)
		}
	}
}

func custom(name, data string) []byte { return appendCustom(nil, name, []byte(data)) }

func TestCustomSections(t *testing.T) {
	wasm := valid().wasm()
	wasm = slices.Concat(wasm[:8], custom("first", "1"), wasm[8:], custom("name", "\x00\x02\x01m"),
		custom(".debug_info", "?"), custom("twice", "a"), custom("twice", "b"), custom("sourceMappingURL", "?"), custom("", "x"))
	for _, tt := range []struct {
		name, want string
		ok         bool
	}{{"first", "1", true}, {"twice", "a", true}, {"", "x", true}, {"none", "", false}, {"firs", "", false}} {
		got, ok, err := CustomSection(wasm, tt.name)
		if string(got) != tt.want || ok != tt.ok || err != nil {
			t.Errorf("%q: want %q, %v, got %q, %v, %v", tt.name, tt.want, tt.ok, got, ok, err)
		}
	}

	more, err := AppendCustomSection(wasm, "twice", []byte("c"))
	if err != nil {
		t.Fatal(err)
	}
	got, ok, err := CustomSection(more, "twice")
	if string(got) != "c" || !ok || err != nil || len(more) != len(wasm)-len(custom("twice", "a")) {
		t.Errorf("want the new section only, got %q, %v, %v in %d bytes of %d", got, ok, err, len(more), len(wasm))
	}
	again, err := AppendCustomSection(more, "twice", []byte("c"))
	if err != nil || !slices.Equal(more, again) {
		t.Errorf("appending the same again changes the module: %v", err)
	}

	// Weaving keeps all but those that speak of code offsets.
	r, err := Weave(wasm, DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"first": true, "name": true, "twice": true, "": true, ".debug_info": false, "sourceMappingURL": false} {
		if _, ok, err := CustomSection(r.Wasm, name); ok != want || err != nil {
			t.Errorf("%q after weaving: want %v, got %v, %v", name, want, ok, err)
		}
	}
}

func TestRemoveExports(t *testing.T) {
	wasm := withKept(t, valid().with(secExport, vec(str("a")+"\x00\x01", str("b")+"\x03\x00", str("c")+"\x02\x00")).wasm())
	for _, tt := range []struct{ remove, want []string }{
		{nil, []string{"a", "b", "c"}},
		{[]string{"b", "none"}, []string{"a", "c"}},
		{[]string{"a", "b", "c"}, nil},
	} {
		less, err := RemoveExports(wasm, tt.remove...)
		if err != nil {
			t.Fatal(err)
		}
		i, err := ParseInterface(less)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range i.Exports {
			got = append(got, e.Name)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("without %q (-want +got):\n%s", tt.remove, diff)
		}
		if _, ok, err := CustomSection(less, "kept"); !ok || err != nil {
			t.Errorf("without %q: lost a custom section, %v", tt.remove, err)
		}
	}
}

// withKept gives a module a custom section named "kept".
func withKept(t *testing.T, wasm []byte) []byte {
	t.Helper()
	wasm, err := AppendCustomSection(wasm, "kept", []byte("data"))
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}
