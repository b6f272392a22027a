// SPDX-License-Identifier: Apache-2.0

package layering

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/berth-scheduler/berth"

// within says whether an import path or a slash-separated file path is the
// given one or below it.
func within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, dir+"/")
}

func withinAny(p string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return within(p, dir) })
}

// command is the folder of the command that a folder in cmd belongs to.
func command(dir string) string {
	parts := strings.SplitN(dir, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// forbidden says why the package in folder from may not import the path, or
// nothing. Both folders are relative to the module. Tests may import the lab and
// any third party's package that their own folder's code may not.
func forbidden(from, imported string, test bool) string {
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") {
		return "" // the standard library
	}
	if !within(imported, module) {
		if test && imported == "github.com/google/go-cmp/cmp" {
			return ""
		}
		if withinAny(from, "abi", "guest-sdk", "examples") {
			return "what is compiled into guests is built on the standard library only"
		}
		return ""
	}
	to := strings.TrimPrefix(strings.TrimPrefix(imported, module), "/")
	switch {
	case within(to, from) || within(from, to) && to != "":
		return "" // one's own tree
	case within(to, "cmd") && command(from) == command(to):
		return "" // one command's packages
	case withinAny(to, "cmd", "examples"):
		return "nobody imports cmd or examples"
	case within(to, "test"):
		if !within(to, "test/lab") {
			return "of test, only test/lab may be imported"
		}
		if test || withinAny(from, "cmd/berth-lab", "test") {
			return ""
		}
		return "test/lab is for cmd/berth-lab and tests"
	case to == "config" && (test || withinAny(from, "cmd/berth-lab", "test")):
		return "" // the files that an admin applies
	}

	allowed := map[string][]string{
		"abi":       nil,
		"guest-sdk": {"abi", "guest-sdk"},
		"host":      {"abi", "host"},
		"examples":  {"guest-sdk"},
		"cmd":       {"abi", "host"},
		"test":      {"abi", "host", "guest-sdk"}, // the two last never meet: see TestTransitiveImports
		"config":    {"host"},
	}
	top, _, _ := strings.Cut(from, "/")
	dirs, known := allowed[top]
	switch {
	case !known:
		return fmt.Sprintf("folder %q has no rule: add it to the table", top)
	case withinAny(to, dirs...):
		return ""
	case len(dirs) == 0:
		return top + " imports the standard library only"
	}
	return fmt.Sprintf("%s imports only %s", top, strings.Join(dirs, ", "))
}

// layer is the folder that says what a file may import: its own, but a guest in
// testdata is a program by itself, and under the rule of the examples.
func layer(file string) string {
	if strings.Contains("/"+file, "/testdata/") {
		return "examples/testdata"
	}
	return path.Dir(file)
}

// The rule holds for every file, whatever its build constraints say, so the
// files are parsed and not asked of the go command.
func TestImportRule(t *testing.T) {
	for _, file := range tracked(t) {
		if path.Ext(file) != ".go" {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(file)), nil, parser.ImportsOnly)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			if why := forbidden(layer(file), imported, strings.HasSuffix(file, "_test.go")); why != "" {
				t.Errorf("%s imports %s: %s", file, imported, why)
			}
		}
	}
}

func TestForbidden(t *testing.T) {
	if got, want := layer("cmd/berth/testdata/labels/main.go"), "examples/testdata"; got != want {
		t.Errorf("a guest in testdata: got layer %q, want %q", got, want)
	}
	tests := []struct {
		from, imported string
		test           bool
		allowed        bool
	}{
		{from: "abi", imported: "encoding/binary", allowed: true},
		{from: "abi", imported: "k8s.io/api/core/v1"},
		{from: "abi", imported: "github.com/google/go-cmp/cmp"},
		{from: "abi", imported: "github.com/google/go-cmp/cmp", test: true, allowed: true},
		{from: "abi", imported: module + "/host"},
		{from: "guest-sdk/go", imported: module + "/abi", allowed: true},
		{from: "guest-sdk/go", imported: module + "/guest-sdk/go/internal/native", allowed: true},
		{from: "guest-sdk/go", imported: module + "/host"},
		{from: "guest-sdk/go", imported: module + "/host", test: true},
		{from: "guest-sdk/go", imported: "k8s.io/api/core/v1"},
		{from: "host/view", imported: module + "/abi", allowed: true},
		{from: "host/view", imported: module + "/host/policy", allowed: true},
		{from: "host", imported: "k8s.io/api/core/v1", allowed: true},
		{from: "host", imported: module + "/guest-sdk/go"},
		{from: "host", imported: module + "/test/lab"},
		{from: "host", imported: module + "/test/lab", test: true, allowed: true},
		{from: "host", imported: module + "/test/e2e", test: true},
		{from: "cmd/berth", imported: module + "/host/policy", allowed: true},
		{from: "cmd/berth", imported: module + "/guest-sdk/go"},
		{from: "cmd/berth", imported: module + "/test/lab"},
		{from: "cmd/berth", imported: module + "/cmd/berth/scaffold", allowed: true},
		{from: "cmd/berth", imported: module + "/cmd/berth-lab"},
		{from: "cmd/berth-lab/demo", imported: module + "/cmd/berth-lab/install", allowed: true},
		{from: "cmd/berth-lab/demo", imported: module + "/cmd/berth/scaffold"},
		{from: "cmd/berth-lab", imported: module + "/test/lab", allowed: true},
		{from: "cmd/berth-lab/install", imported: module + "/config", allowed: true},
		{from: "cmd/berth-scheduler", imported: module + "/config"},
		{from: "test/e2e", imported: module + "/config", allowed: true},
		{from: "examples/binpack", imported: module + "/guest-sdk/go", allowed: true},
		{from: "examples/binpack", imported: module + "/abi"},
		{from: "examples/binpack", imported: module + "/examples/team-pools"},
		{from: "test/e2e", imported: module + "/examples/binpack"},
		{from: "test/e2e", imported: module + "/test/lab", allowed: true},
		{from: "tools", imported: module + "/abi"},
	}
	for _, test := range tests {
		if why := forbidden(test.from, test.imported, test.test); (why == "") != test.allowed {
			t.Errorf("%s imports %s (test %t): got %q, want allowed %t", test.from, test.imported, test.test, why, test.allowed)
		}
	}
}

// goPackage is what one entry of go list says.
type goPackage struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// packages is the import graph of the module and all that it is built from, by
// import path.
func packages(t *testing.T) map[string]goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-deps", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	graph := map[string]goPackage{}
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return graph
		} else if err != nil {
			t.Fatal(err)
		}
		graph[p.ImportPath] = p
	}
}

// reach is the way from a package to the first one found for which stop says
// true, or nothing.
func reach(graph map[string]goPackage, from string, stop func(string) bool) []string {
	came := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		if at := queue[0]; stop(at) {
			var way []string
			for ; at != ""; at = came[at] {
				way = append(way, at)
			}
			slices.Reverse(way)
			return way
		}
		next := graph[queue[0]].Imports
		if queue[0] == from {
			next = slices.Concat(next, graph[from].TestImports, graph[from].XTestImports)
		}
		for _, p := range next {
			if _, seen := came[p]; !seen {
				came[p] = queue[0]
				queue = append(queue, p)
			}
		}
	}
	return nil
}

func TestTransitiveImports(t *testing.T) {
	graph := packages(t)

	// What these commands are built from, tests left out: their own tests may
	// start a lab.
	for _, command := range []string{module + "/cmd/berth-scheduler", module + "/cmd/berth"} {
		p, ok := graph[command]
		if !ok {
			continue // not yet there; the next check catches a command that was moved
		}
		p.TestImports, p.XTestImports = nil, nil
		graph[command] = p
		way := reach(graph, command, func(p string) bool {
			return withinAny(p, "go.etcd.io/etcd/server/v3", "k8s.io/kubernetes/cmd/kube-apiserver",
				"k8s.io/kubernetes/pkg/controlplane", module+"/test")
		})
		if way != nil {
			t.Errorf("%s must not contain an API server, etcd or the lab: %s", command, strings.Join(way, " → "))
		}
	}
	if _, ok := graph[module+"/cmd/berth-scheduler"]; !ok {
		t.Error("cmd/berth-scheduler isn't there: the check above checks nothing")
	}

	// A package that has both would hide a mistake that each makes in the same way.
	for name := range graph {
		if !within(name, module) {
			continue
		}
		host := reach(graph, name, func(p string) bool { return within(p, module+"/host") })
		sdk := reach(graph, name, func(p string) bool { return within(p, module+"/guest-sdk") })
		if host != nil && sdk != nil {
			t.Errorf("host and guest-sdk meet in %s: %s; %s", name, strings.Join(host, " → "), strings.Join(sdk, " → "))
		}
	}
}
