// SPDX-License-Identifier: Apache-2.0

package buildtags

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// write makes a module of files in a folder of its own.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module example.com/policy\n\ngo 1.26\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// without are the tags of all families but some.
func without(families ...string) string {
	var tags []string
	for _, f := range Families {
		if !slices.Contains(families, f.Name) {
			tags = append(tags, Prefix+f.Name)
		}
	}
	return strings.Join(tags, ",")
}

func TestFor(t *testing.T) {
	const empty = "package main\n\nfunc main() {}\n"
	method := func(name string) string { return empty + "\ntype policy struct{}\n\nfunc (policy) " + name + "() {}\n" }
	for name, c := range map[string]struct {
		files map[string]string
		tags  string
		want  string
	}{
		"nothing":         {map[string]string{"a.go": empty}, "", without()},
		"a function":      {map[string]string{"a.go": empty + "func PostFilter() {}\n"}, "", without()},
		"in an interface": {map[string]string{"a.go": empty + "type i interface{ PostFilter() }\n"}, "", without()},
		"another method":  {map[string]string{"a.go": method("Filter")}, "", without()},
		"in another package": {map[string]string{
			"a.go":     "package main\n\nimport _ \"example.com/policy/b\"\n\nfunc main() {}\n",
			"b/b.go":   "package b\n\ntype t struct{}\n\nfunc (t) SignPod() {}\n",
			"c/not.go": "package c\n\ntype t struct{}\n\nfunc (t) Bind() {}\n",
		}, "", without("queue")},
		"in a test":            {map[string]string{"a.go": empty, "a_test.go": method("Bind")}, "", without()},
		"for another platform": {map[string]string{"a.go": empty, "b_linux.go": "package main\n\ntype t struct{}\n\nfunc (t) Bind() {}\n"}, "", without()},
		"behind a tag":         {map[string]string{"a.go": empty, "b.go": "//go:build extra\n\npackage main\n\ntype t struct{}\n\nfunc (t) Bind() {}\n"}, "other,extra", "other,extra," + without("binding")},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := For(t.Context(), write(t, c.files), ".", c.tags)
			if err != nil || got != c.want {
				t.Errorf("want %s, got %s, %v", c.want, got, err)
			}
		})
	}
	for _, f := range Families {
		for _, m := range f.Methods {
			got, err := For(t.Context(), write(t, map[string]string{"a.go": method(m)}), ".", "")
			if want := without(f.Name); err != nil || got != want {
				t.Errorf("%s: want %s, got %s, %v", m, want, got, err)
			}
		}
	}
}

func TestForErrors(t *testing.T) {
	dir := write(t, map[string]string{"a.go": "package main\n\nfunc main() { what }}\n"})
	if _, err := For(t.Context(), dir, ".", ""); err == nil {
		t.Error("broken source: want an error")
	}
	if _, err := For(t.Context(), dir, "./none", ""); err == nil || !strings.Contains(err.Error(), "go list") {
		t.Errorf("no package: want an error of go list, got %v", err)
	}
}

// The SDK has a file with and without each family, and each of its interfaces
// of a family is found by one of the methods.
func TestFamiliesOfTheSDK(t *testing.T) {
	dir := filepath.Join("..", "..", "guest-sdk", "go")
	for _, f := range Families {
		for _, file := range []string{f.Name + "_with.go", f.Name + "_without.go"} {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			want := "//go:build " + Prefix + f.Name + "\n"
			if strings.HasSuffix(file, "_with.go") {
				want = "//go:build !" + Prefix + f.Name + "\n"
			}
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: want %q", file, want)
			}
		}
	}
}
