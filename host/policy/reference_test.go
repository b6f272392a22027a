// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var update = flag.Bool("update", false, "write the table of fields to docs/policy-yaml.md")

const (
	referenceFile  = "../../docs/policy-yaml.md"
	referenceBegin = "<!-- fields:begin -->\n"
	referenceEnd   = "<!-- fields:end -->\n"
)

// TestReference compares the table in the documentation to the structs, their
// doc comments and the defaults that Parse fills in.
func TestReference(t *testing.T) {
	p, err := Parse([]byte(head))
	if err != nil {
		t.Fatal(err)
	}
	var defaults map[string]any
	decoder := json.NewDecoder(bytes.NewReader(p.Effective()))
	decoder.UseNumber()
	if err := decoder.Decode(&defaults); err != nil {
		t.Fatal(err)
	}
	delete(defaults, "apiVersion") // required
	delete(defaults, "kind")

	var want strings.Builder
	want.WriteString("| Field | Type | Default | Meaning |\n|---|---|---|---|\n")
	referenceRows(t, &want, "", reflect.TypeFor[Policy](), fieldComments(t, "policy.go"), defaults)

	file, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(file), referenceBegin)
	got, after, ok2 := strings.Cut(rest, referenceEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no %q and %q", referenceFile, referenceBegin, referenceEnd)
	}
	if *update {
		text := before + referenceBegin + want.String() + referenceEnd + after
		if err := os.WriteFile(referenceFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), got); diff != "" {
		t.Errorf("run with -update to write the table again; -want +got\n%s", diff)
	}
}

func referenceRows(t *testing.T, out *strings.Builder, prefix string, typ reflect.Type, comments map[string]string, defaults map[string]any) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		name := fieldName(f)
		if name == "" {
			continue
		}
		comment := comments[typ.Name()+"."+f.Name]
		if comment == "" {
			t.Errorf("%s.%s has no doc comment", typ.Name(), f.Name)
		}
		value, kind := "", ""
		if v, ok := defaults[name]; ok && f.Type.Kind() != reflect.Struct {
			value = fmt.Sprintf("`%v`", v)
		}
		ft := f.Type
		if ft.Kind() == reflect.Pointer && ft != reflect.TypeFor[*metav1.LabelSelector]() {
			ft = ft.Elem()
		}
		switch {
		case ft == bytesType:
			kind = "quantity"
		case ft == configType, ft.Kind() == reflect.Struct:
			kind = "object"
		case ft == reflect.TypeFor[*metav1.LabelSelector]():
			kind = "label selector"
		case ft.Kind() == reflect.Slice && ft.Elem().Kind() == reflect.Struct:
			kind = "list of objects"
		case ft.Kind() == reflect.Slice:
			kind = "list of strings"
		case ft.Kind() == reflect.Map:
			kind = "object of strings"
		case ft.Kind() == reflect.Int64:
			kind = "integer"
		default:
			kind = ft.Kind().String()
		}
		fmt.Fprintf(out, "| `%s%s` | %s | %s | %s |\n", prefix, name, kind, value, strings.ReplaceAll(comment, "|", `\|`))
		switch {
		case ft.Kind() == reflect.Struct:
			inner, _ := defaults[name].(map[string]any)
			referenceRows(t, out, prefix+name+".", ft, comments, inner)
		case ft.Kind() == reflect.Slice && ft.Elem().Kind() == reflect.Struct:
			referenceRows(t, out, prefix+name+"[].", ft.Elem(), comments, nil)
		}
	}
}

// fieldComments reads the doc comments of a file's struct fields, by
// "Type.Field".
func fieldComments(t *testing.T, name string) map[string]string {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	comments := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if s, ok := spec.Type.(*ast.StructType); ok {
			for _, f := range s.Fields.List {
				for _, id := range f.Names {
					comments[spec.Name.Name+"."+id.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
				}
			}
		}
		return true
	})
	return comments
}
