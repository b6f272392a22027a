// SPDX-License-Identifier: Apache-2.0

package layering

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the repository, seen from this package's folder.
var root = filepath.Join("..", "..")

const (
	spdx        = "SPDX-License-Identifier: Apache-2.0"
	maxMakefile = 80      // lines; the Makefile is an index, not a program
	maxWasm     = 4 << 10 // bytes; a larger guest is built by its test
	longFile    = 300     // lines of Go, from which on a file is reported
)

// tracked is every file that git knows, with slashes, relative to root, less
// those deleted in the work tree.
func tracked(t *testing.T) []string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		t.Skip("not a git work tree: only git knows which files belong to the repository")
	}
	// The go command reuses a test's result while the files that it looked at
	// stay the same; git's look doesn't count, this one does.
	_, _ = os.Stat(filepath.Join(root, ".git", "index"))
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-z")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	var files []string
	for file := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if _, err := os.Lstat(filepath.Join(root, file)); err == nil {
			files = append(files, file)
		}
	}
	return files
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// comments is how a line comment begins, by a file's extension or, without
// one, its name.
var comments = map[string]string{
	".go": "//", ".c": "//", ".h": "//", ".rs": "//", ".ts": "//", ".js": "//", ".s": "//", ".proto": "//",
	".yaml": "#", ".yml": "#", ".toml": "#", ".sh": "#", ".py": "#", ".mk": "#",
	"Makefile": "#", "Dockerfile": "#", ".gitignore": "#", ".dockerignore": "#", ".gitattributes": "#", "run": "#",
	".wat": ";;", ".md": "<!--",
}

// uncommented are kinds of file that hold no code of ours or no comment.
var uncommented = []string{"LICENSE", "NOTICE", "go.mod", "go.sum", ".wasm", ".json", ".txt", ".golden", ".hex"}

// commentOf is the comment marker of a file, and whether its kind is known.
func commentOf(file string) (marker string, known bool) {
	for _, kind := range []string{path.Base(file), path.Ext(file)} {
		if slices.Contains(uncommented, kind) {
			return "", true
		}
		if marker, ok := comments[kind]; ok {
			return marker, true
		}
	}
	return "", false
}

func TestLicenceLine(t *testing.T) {
	for _, file := range tracked(t) {
		marker, known := commentOf(file)
		if !known && !strings.Contains("/"+file, "/testdata/") {
			t.Errorf("%s: a kind of file without a rule: add it to comments or uncommented", file)
		}
		if marker == "" {
			continue
		}
		lines := bytes.SplitN(read(t, file), []byte("\n"), 3)
		if bytes.HasPrefix(lines[0], []byte("#!")) && len(lines) > 1 {
			lines = lines[1:]
		}
		if want := marker + " " + spdx; !bytes.HasPrefix(lines[0], []byte(want)) {
			t.Errorf("%s: got first line %q, want %q", file, lines[0], want)
		}
	}
	if !bytes.Contains(read(t, "LICENSE"), []byte("Apache License\n                           Version 2.0")) {
		t.Error("LICENSE isn't the Apache License 2.0")
	}
}

func TestOneModuleWithoutReplace(t *testing.T) {
	var modules []string
	for _, file := range tracked(t) {
		if path.Base(file) == "go.mod" {
			modules = append(modules, file)
		}
	}
	if !slices.Equal(modules, []string{"go.mod"}) {
		t.Errorf("got modules %q, want go.mod only", modules)
	}
	if found := regexp.MustCompile(`(?m)^replace\b.*`).Find(read(t, "go.mod")); found != nil {
		t.Errorf("go.mod: got %q, want no replace: with one, others can't import the module", found)
	}
}

func TestMakefileIsShort(t *testing.T) {
	if lines := bytes.Count(read(t, "Makefile"), []byte("\n")); lines > maxMakefile {
		t.Errorf("Makefile: got %d lines, want at most %d", lines, maxMakefile)
	}
}

func TestNoLargeWasm(t *testing.T) {
	for _, file := range tracked(t) {
		if path.Ext(file) != ".wasm" {
			continue
		}
		if size := len(read(t, file)); size > maxWasm {
			t.Errorf("%s: got %d bytes, want at most %d: build it in the test that needs it", file, size, maxWasm)
		}
	}
}

// A report, not a rule: go test -v shows it.
func TestReportLongFiles(t *testing.T) {
	for _, file := range tracked(t) {
		if path.Ext(file) != ".go" {
			continue
		}
		if lines := bytes.Count(read(t, file), []byte("\n")); lines > longFile {
			t.Logf("%4d lines: %s", lines, file)
		}
	}
}
