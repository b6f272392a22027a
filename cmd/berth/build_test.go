// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/module"
	"github.com/berth-scheduler/berth/host/weave"
)

func TestBuild(t *testing.T) {
	if _, problem := labels(); problem != "" {
		t.Fatal(problem)
	}
	dir := t.TempDir()
	policyDir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	r := berth(t, "", "build", policyDir+"/testdata/labels").want(t, exitOK)
	r.wantOut(t, "labels v1.0.0: points filter; SIZE, SIZE gzipped; DIGEST\n")
	if !strings.HasPrefix(r.err, "compiling ") {
		t.Errorf("want progress on stderr, got %q", r.err)
	}
	again, err := os.ReadFile("labels.wasm")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(".")
	if err != nil || len(entries) != 1 {
		t.Errorf("want the module alone in the folder, got %v and %v", entries, err)
	}
	wasm, _ := labels()
	if !bytes.Equal(wasm, again) {
		t.Errorf("want the same bytes from a second build in another folder, got %d and %d that differ", len(wasm), len(again))
	}
}

func TestBuildAnnotates(t *testing.T) {
	wasm, problem := labels()
	if problem != "" {
		t.Fatal(problem)
	}
	info, err := module.Inspect(wasm, weave.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Problems) > 0 || len(info.Warnings) > 0 {
		t.Errorf("want nothing to complain of, got %q and %q", info.Problems, info.Warnings)
	}
	if diff := cmp.Diff([]abi.Point{abi.Describe, abi.Configure, abi.Filter}, info.Points); diff != "" {
		t.Errorf("exported points (-want +got):\n%s", diff)
	}
	e, err := newEngine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	m, err := module.Load(t.Context(), wasm, module.Options{Engine: e})
	if err != nil {
		t.Fatal(err)
	}
	if _, raw, err := m.Describe(t.Context()); err != nil || !bytes.Equal(raw, info.Section) {
		t.Errorf("want the section to be what describe says, got %v", err)
	}
	// What was built may be annotated again to the same bytes.
	again, err := annotate(t.Context(), wasm)
	if err != nil || !bytes.Equal(wasm, again) {
		t.Errorf("want the same bytes, got %v", err)
	}
}

func TestBuildVersion(t *testing.T) {
	r := berth(t, "", "build", "--version", "v2.0.0+abc", "-o", "-", "testdata/labels").want(t, exitOK)
	if !strings.Contains(r.err, "\nlabels v2.0.0+abc: points filter; ") {
		t.Errorf("want the stamp in the summary, got %q", r.err)
	}
	wasm, _ := labels()
	if bytes.Equal([]byte(r.out), wasm) {
		t.Error("want another module")
	}
}

func TestBuildProblems(t *testing.T) {
	out := t.TempDir() + "/out.wasm"
	r := berth(t, "", "build", "-o", out, "testdata/panics").want(t, exitProblem)
	last := r.err[strings.LastIndex(strings.TrimSpace(r.err), "\n")+1:]
	for _, want := range []string{"berth build: ", "trap", "it printed: ", "the moon is in the wrong place"} {
		if !strings.Contains(last, want) {
			t.Errorf("want %q in the last line, got %q", want, last)
		}
	}
	r = berth(t, "", "build", "-o", out, "--tags", "broken", "testdata/labels").want(t, exitProblem)
	if !strings.Contains(r.err, "undefined: nothing") || !strings.HasSuffix(r.err, "berth build: go build: exit status 1\n") {
		t.Errorf("want the compiler's words and ours, got %q", r.err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("want no file after a failed build")
	}
}
