// SPDX-License-Identifier: Apache-2.0

package abi

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// source parses this package without its tests.
func source(t *testing.T) []*ast.File {
	t.Helper()
	pkgs, err := parser.ParseDir(token.NewFileSet(), ".", func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, f := range pkgs["abi"].Files {
		files = append(files, f)
	}
	return files
}

var (
	acronyms  = strings.NewReplacer("PVCs", "Pvcs", "QoS", "Qos", "UIDs", "Uids")
	wordStart = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)
)

// snake is the wire name of a Go name.
func snake(name string) string {
	return strings.ToLower(wordStart.ReplaceAllString(acronyms.Replace(name), "${1}${3}_${2}${4}"))
}

func TestSnake(t *testing.T) {
	for name, want := range map[string]string{"PreFilter": "pre_filter", "OwnerAPIVersion": "owner_api_version", "NodePVCs": "node_pvcs", "PodMetaUID": "pod_meta_uid", "PodMetaQoS": "pod_meta_qos", "IP": "ip"} {
		if got := snake(name); got != want {
			t.Errorf("%s: want %s, got %s", name, want, got)
		}
	}
}

// rows calls f for every composite literal in source that begins with a string
// and an identifier or the other way round: the rows of the tables.
func rows(files []*ast.File, f func(name, ident string)) {
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok || len(lit.Elts) < 2 {
				return true
			}
			name, ident := lit.Elts[0], lit.Elts[1]
			if _, ok := name.(*ast.Ident); ok {
				name, ident = ident, name
			}
			text, ok1 := name.(*ast.BasicLit)
			id, ok2 := ident.(*ast.Ident)
			if ok1 && ok2 && text.Kind == token.STRING {
				f(strings.Trim(text.Value, `"`), id.Name)
			}
			return true
		})
	}
}

// The wire names of the tables' rows are those of their Go constants: a point's
// and a section's exactly, a field's up to words that only the wire name has,
// as the unit in now_ns.
func TestWireNames(t *testing.T) {
	exceptions := map[string]string{"ScoreValue": "score", "BlockText": "quantity_block", "ListEntries": "list_head"}
	seen := 0
	rows(source(t), func(name, ident string) {
		if strings.Contains(name, " ") {
			return // a doc, beside a name that is a constant
		}
		seen++
		wire, long := strings.ReplaceAll(name, ".", "_"), snake(ident)
		if structByName(name) != nil && strings.HasSuffix(long, "_size") || name == exceptions[ident] || name == "reserved" {
			return // a struct with its size
		}
		if strings.Contains(name, ".") || pointNamed(name) {
			if wire != long {
				t.Errorf("%q: want %q, from %s", name, long, ident)
			}
			return
		}
		long = strings.TrimSuffix(long, "_field") // RecordSizeField: RecordSize is the stride
		words := strings.Split(long, "_")
		for len(words) > 0 && !subsequence(words, strings.Split(wire, "_")) {
			words = words[1:]
		}
		if len(words) == 0 {
			t.Errorf("field %q: want a name with words of %s", name, ident)
		}
	})
	if seen < 150 {
		t.Errorf("rows with names in source: want at least 150, got %d", seen)
	}
}

func pointNamed(name string) bool {
	_, ok := PointByName(name)
	return ok
}

func subsequence(words, of []string) bool {
	for _, w := range of {
		if len(words) > 0 && w == words[0] {
			words = words[1:]
		}
	}
	return len(words) == 0
}

// Codes, phases and kinds, whose names are lists beside the constants.
func TestListedNames(t *testing.T) {
	lists := map[string][]string{"Code": CodeNames, "Phase": PhaseNames, "ValueKind": ValueKindNames}
	index := map[string]int{}
	for _, f := range source(t) {
		for _, d := range f.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.CONST {
				continue
			}
			typ := ""
			for _, s := range decl.Specs {
				spec := s.(*ast.ValueSpec)
				if id, ok := spec.Type.(*ast.Ident); ok {
					typ = id.Name
				}
				list, ok := lists[typ]
				if name := spec.Names[0].Name; ok && name != "Unset" {
					if i := index[typ]; i >= len(list) || list[i] != strings.TrimSuffix(snake(name), "_kind") {
						t.Errorf("%s %d: want the wire name of %s, got %v", typ, i, name, list)
					}
					index[typ]++
				}
			}
		}
	}
	for typ, list := range lists {
		if index[typ] != len(list) {
			t.Errorf("%s: want as many constants as names, %d, got %d", typ, len(list), index[typ])
		}
	}
}
