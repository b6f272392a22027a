// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"go/ast"
	"go/parser"
	"go/token"
	gotypes "go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
)

// wasmTypes are how parameters of Go's directives cross.
var wasmTypes = map[string][]abi.ValueType{
	"uint32": {abi.I32}, "int32": {abi.I32}, "uint64": {abi.I64}, "int64": {abi.I64},
	"string":         {abi.I32, abi.I32}, // address and length
	"unsafe.Pointer": {abi.I32},
}

// directives are the signatures by name behind //go:wasmimport (of package abi's
// module) or //go:wasmexport in the SDK's sources.
func directives(t *testing.T, prefix string) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Doc == nil {
				continue
			}
			for _, c := range f.Doc.List {
				if name, ok := strings.CutPrefix(c.Text, prefix); ok {
					found[name] = abi.Signature(types(t, f.Type.Params), types(t, f.Type.Results))
				}
			}
		}
	}
	return found
}

func types(t *testing.T, fields *ast.FieldList) (out []abi.ValueType) {
	t.Helper()
	if fields == nil {
		return nil
	}
	for _, f := range fields.List {
		name := gotypes.ExprString(f.Type)
		if wasmTypes[name] == nil {
			t.Fatalf("type %s: want one of wasmTypes", name)
		}
		for range max(1, len(f.Names)) {
			out = append(out, wasmTypes[name]...)
		}
	}
	return out
}

func TestDirectives(t *testing.T) {
	signatures := func(fs []abi.Function) map[string]string {
		m := map[string]string{}
		for _, f := range fs {
			m[f.Name] = f.Signature()
		}
		return m
	}
	if diff := cmp.Diff(signatures(abi.Imports), directives(t, "//go:wasmimport "+abi.Module+" ")); diff != "" {
		t.Errorf("imports: want those of abi (-), got (+):\n%s", diff)
	}
	if diff := cmp.Diff(signatures(abi.Exports()), directives(t, "//go:wasmexport ")); diff != "" {
		t.Errorf("exports: want those of abi (-), got (+):\n%s", diff)
	}
	if all := directives(t, "//go:wasmimport "); len(all) != len(abi.Imports) {
		t.Errorf("imports: want only those of module %q, got %v", abi.Module, all)
	}
}

// The SDK's own tables are what the linker can leave out; abi's are the truth.
func TestTables(t *testing.T) {
	for _, table := range []struct {
		want []abi.Section
		got  []Section
	}{{abi.NodeSections, nodeSections}, {abi.PodSections, podSections}} {
		var want []Section
		for _, s := range table.want {
			want = append(want, Section(s.Name))
		}
		if diff := cmp.Diff(want, table.got); diff != "" {
			t.Errorf("sections: want those of abi (-), got (+):\n%s", diff)
		}
	}
	for _, s := range served {
		if s.name != s.point.String() {
			t.Errorf("point %d: want the name %q, got %q", s.point, s.point, s.name)
		}
	}
	var reads []string
	for _, s := range slices.Concat(nodeSections, podSections) {
		reads = append(reads, string(s))
		node, pod := masks([]Section{s})
		wantNode, wantPod := abi.SectionMasks([]string{string(s)})
		if node != wantNode || pod != wantPod {
			t.Errorf("masks of %s: want %b and %b, got %b and %b", s, wantNode, wantPod, node, pod)
		}
	}
	if node, pod := abi.SectionMasks(reads); node != 1<<len(nodeSections)-1 || pod != 1<<len(podSections)-1 {
		t.Errorf("masks of all sections: got %b and %b", node, pod)
	}
}
