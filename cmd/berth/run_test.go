// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/host/policy"
)

// TestMain lets all command lines share what they compile.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "berth-cache-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		if err := os.Setenv(cacheVariable, dir); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

// policyHead begins every policy.yaml of these tests.
const policyHead = "apiVersion: " + policy.APIVersion + "\nkind: " + policy.Kind + "\n"

// result is what a command line did.
type result struct {
	code     int
	out, err string
}

// berth runs a command line with input.
func berth(t *testing.T, input string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), args, streams{strings.NewReader(input), &out, &errs})
	return result{code, out.String(), errs.String()}
}

// want checks an exit code.
func (r result) want(t *testing.T, code int) result {
	t.Helper()
	if r.code != code {
		t.Fatalf("want exit code %d, got %d\nstdout: %s\nstderr: %s", code, r.code, r.out, r.err)
	}
	return r
}

// variable is what differs with the version of Go or the SDK.
var variable = regexp.MustCompile(`sha256:[0-9a-f]{64}|\d+ kB`)

// wantOut checks stdout, with DIGEST and SIZE in place of these.
func (r result) wantOut(t *testing.T, want string) {
	t.Helper()
	got := variable.ReplaceAllStringFunc(r.out, func(s string) string {
		if strings.HasPrefix(s, "sha256:") {
			return "DIGEST"
		}
		return "SIZE"
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stdout (-want +got):\n%s", diff)
	}
}

// wantErr checks that stderr is one line and contains text.
func (r result) wantErr(t *testing.T, text string) {
	t.Helper()
	if !strings.Contains(r.err, text) || strings.Count(r.err, "\n") != 1 {
		t.Errorf("want one line on stderr with %q, got %q", text, r.err)
	}
}

// labels is testdata/labels as berth build makes it, built once.
var labels = sync.OnceValues(func() ([]byte, string) {
	var out, errs bytes.Buffer
	code := run(context.Background(), []string{"build", "-o", "-", "testdata/labels"}, streams{strings.NewReader(""), &out, &errs})
	if code != exitOK {
		return nil, errs.String()
	}
	return out.Bytes(), ""
})

// labelsModule writes the module of testdata/labels and returns its path.
func labelsModule(t *testing.T) string {
	t.Helper()
	wasm, problem := labels()
	if wasm == nil {
		t.Fatalf("build testdata/labels: %s", problem)
	}
	return writeTemp(t, "labels.wasm", wasm)
}

func writeTemp(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCommandLine(t *testing.T) {
	for _, test := range []struct {
		args []string
		code int
		err  string
	}{
		{[]string{"frobnicate"}, exitUsage, `berth: unknown command "frobnicate"; see berth --help`},
		{[]string{"check", "--frobnicate"}, exitUsage, "berth check: unknown flag: --frobnicate; see berth check --help"},
		{[]string{"inspect"}, exitUsage, "berth inspect: want one FILE, got 0 arguments"},
		{[]string{"inspect", "-o", "xml", "x.wasm"}, exitUsage, `--output: want text, wide, json or yaml, got "xml"`},
		{[]string{"inspect", "no-such-file"}, exitProblem, "berth inspect: open no-such-file: no such file or directory"},
		{[]string{"version", "-o", "xml"}, exitUsage, `--output: want text or json, got "xml"`},
		{[]string{"build", "a", "b"}, exitUsage, "want at most one DIR, got 2 arguments"},
		{[]string{"build", "--version", "a b"}, exitUsage, `--version: want letters, digits and any of -+.~:/@_, got "a b"`},
		{[]string{"build", "command.go"}, exitUsage, "want a DIR with Go source, got the file command.go"},
		{[]string{"build", "no-such-dir"}, exitProblem, "stat no-such-dir: no such file or directory"},
		{[]string{"pack", "command.go"}, exitUsage, "want DIR, or POLICY.YAML and MODULE, got the file command.go alone"},
		{[]string{"check"}, exitUsage, "want at least one FILE or DIR, got 0 arguments"},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			r := berth(t, "", test.args...).want(t, test.code)
			r.err = strings.TrimPrefix(r.err, "compiling no-such-dir (GOOS=wasip1 GOARCH=wasm)\n")
			r.err = strings.TrimPrefix(r.err, "compiling command.go (GOOS=wasip1 GOARCH=wasm)\n")
			r.wantErr(t, test.err)
			if r.out != "" {
				t.Errorf("want nothing on stdout, got %q", r.out)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	for _, name := range []string{"build", "inspect", "pack", "check", "version"} {
		r := berth(t, "", name, "--help").want(t, exitOK)
		for _, want := range []string{"Examples:\n  ", "Usage:\n  berth " + name} {
			if !strings.Contains(r.out, want) {
				t.Errorf("%s: want %q in its help, got %s", name, want, r.out)
			}
		}
		for _, line := range strings.Split(r.out, "\n") {
			if len(line) > 140 {
				t.Errorf("%s: want lines that fit a terminal, got %q", name, line)
			}
		}
	}
	r := berth(t, "").want(t, exitOK)
	if !strings.Contains(r.out, "Exit codes: 0 ") {
		t.Errorf("want the exit codes in the help, got %s", r.out)
	}
	if r := berth(t, "", "completion", "bash").want(t, exitOK); !strings.Contains(r.out, "__start_berth") {
		t.Error("want a completion script")
	}
}
