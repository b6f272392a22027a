// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/test/lab"
)

func TestMain(m *testing.M) {
	lab.MainHook()
	os.Exit(m.Run())
}

func TestExitCodes(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	tests := []struct {
		args []string
		code int
		text string // on either output
	}{
		{[]string{"--help"}, exitOK, "Exit codes:"},
		{[]string{"up", "--help"}, exitOK, "Examples:"},
		{[]string{"version"}, exitOK, "Kubernetes"},
		{[]string{"completion", "bash"}, exitOK, "bash completion"},
		{[]string{"down"}, exitUsage, "unknown command"},
		{[]string{"up", "--node=3"}, exitUsage, "unknown flag"},
		{[]string{"up", "--nodes=-1"}, exitUsage, "want --nodes of 0 or more"},
		{[]string{"up", "here"}, exitUsage, "unknown command \"here\""},
		{[]string{"demo", "-o", "yaml"}, exitUsage, "want text or json, got \"yaml\""},
		{[]string{"up", "--scheduler-binary", missing}, exitError, "make build"},
		{[]string{"demo", "--scheduler-binary", missing}, exitError, "make build"},
	}
	for _, test := range tests {
		var stdout, stderr bytes.Buffer
		code := run(test.args, &stdout, &stderr)
		if code != test.code || !strings.Contains(stdout.String()+stderr.String(), test.text) {
			t.Errorf("%v: got exit code %d and\n%s%s\nwant %d and %q", test.args, code, &stdout, &stderr, test.code, test.text)
		}
		if code != exitOK && stdout.Len() > 0 {
			t.Errorf("%v: got %q on stdout, want nothing", test.args, &stdout)
		}
	}
}

// Nobody's kubeconfig is overwritten but the lab's own.
func TestMayWriteKubeconfig(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := []struct {
		file string
		ok   bool
	}{
		{filepath.Join(dir, "new"), true},
		{filepath.Join(dir, "missing", "new"), false},
		{file("ours", `{"clusters":[{"name":"berth-lab","cluster":{}}]}`), true},
		{file("theirs", `{"clusters":[{"name":"prod","cluster":{}}]}`), false},
		{file("both", `{"clusters":[{"name":"berth-lab","cluster":{}},{"name":"prod","cluster":{}}]}`), false},
		{file("empty", ""), false},
		{file("other", "hello"), false},
	}
	for _, test := range tests {
		if err := mayWriteKubeconfig(test.file); (err == nil) != test.ok {
			t.Errorf("%s: got %v, want it allowed: %t", filepath.Base(test.file), err, test.ok)
		}
	}
}

// TestStockDemo runs the part of the demo that needs nothing but this binary.
func TestStockDemo(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"demo", "--stock-only", "-o", "json", "--timeout", "3m"}, &stdout, &stderr); code != exitOK {
		t.Fatalf("got exit code %d, want 0\n%s", code, &stderr)
	}
	var got map[string]any
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatalf("stdout isn't one JSON object: %v\n%s", err, &stdout)
	}
	for _, measured := range []string{"kubernetes", "wallSeconds"} {
		if got[measured] == nil {
			t.Errorf("no %s in %v", measured, got)
		}
		delete(got, measured)
	}
	want := map[string]any{
		"nodes": 50.0,
		"phases": []any{map[string]any{
			"name": "stock", "policies": []any{}, "pods": 30.0, "bound": 30.0, "violations": 0.0,
		}},
		"swap":              map[string]any{"milliseconds": 0.0, "podsDuring": 0.0, "podsDuringBound": 0.0},
		"pending":           []any{},
		"schedulerRestarts": 0.0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	if !strings.Contains(stderr.String(), "stock scheduler is ready") {
		t.Errorf("no progress on stderr:\n%s", &stderr)
	}
}
