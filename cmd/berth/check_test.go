// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/host/source"
)

// configMapYAML is the manifest of a policy with the module of testdata/labels.
func configMapYAML(policyYAML, metadata string) string {
	wasm, _ := labels()
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: " + metadata + "\ndata:\n  policy.yaml: |\n    " +
		strings.ReplaceAll(strings.TrimSuffix(policyYAML, "\n"), "\n", "\n    ") +
		"\nbinaryData:\n  policy.wasm.gz: " + base64.StdEncoding.EncodeToString(source.Gzip(wasm)) + "\n"
}

func TestCheckPolicy(t *testing.T) {
	module := labelsModule(t)
	for _, test := range []struct {
		name, policy string
		want         []string // lines; with "ok" the exit code is 0
	}{
		{"right", policyHead + "name: a\nconfig: {key: pool}\n", []string{"ok: a, module labels v1.0.0, points filter, DIGEST"}},
		{"unknown fields", policyHead + "wait: 5\norder: high\n", []string{
			`policy.yaml: line 3: unknown field "wait", want one of apiVersion, kind, name, module, digest, mode, suspend, weight, order, failurePolicy, failurePolicies, match, config, limits, grants, dataSets`,
			`policy.yaml: line 4: order: want a whole number, got string "high"`,
		}},
		{"config", policyHead + "config: {key: 5, extra: 1}\n", []string{
			"config.extra: unknown field",
			"config.key: want string, got integer",
		}},
		{"config missing", policyHead, []string{"config.key: missing"}},
		{"data set", policyHead + "config: {key: pool}\ndataSets: [{name: load, nodeMetrics: {}}]\n", []string{
			`policy.yaml: dataSets: want those that the module reads, [], got "load"`,
		}},
		{"digest", policyHead + "digest: sha256:" + strings.Repeat("0", 64) + "\n", []string{
			"policy.wasm.gz: want digest DIGEST, got DIGEST",
		}},
		{"memory", policyHead + "limits: {memory: 1Mi}\n", []string{"weave: memory section: module: memory pages: want at most 16, got 34"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := writeTemp(t, "policy.yaml", []byte(test.policy))
			code := exitProblem
			if strings.HasPrefix(test.want[0], "ok") {
				code = exitOK
			}
			r := berth(t, "", "check", path, "--module", module).want(t, code)
			r.wantOut(t, path+": "+strings.Join(test.want, "\n"+path+": ")+"\n")
			if r.err != "" {
				t.Errorf("want nothing on stderr, got %q", r.err)
			}
		})
	}
}

// What a module asks for and policy.yaml doesn't grant is a problem, as it is for
// the scheduler.
func TestCheckGrants(t *testing.T) {
	module := filepath.Join(t.TempDir(), "quota.wasm")
	berth(t, "", "build", "-o", module, "../../examples/quota").want(t, exitOK)
	path := writeTemp(t, "policy.yaml", []byte(policyHead+"grants: [{intent: evict}]\n"))
	berth(t, "", "check", path, "--module", module).want(t, exitProblem).
		wantOut(t, path+": policy.yaml: grants: want [{intent: reclaim}, {resource: berth.dev/v1alpha1/quotas}], which the module asks for\n")
	berth(t, "", "check", "../../examples/quota/policy.yaml", "--module", module).want(t, exitOK)
}

func TestCheckManifests(t *testing.T) {
	if _, problem := labels(); problem != "" {
		t.Fatal(problem)
	}
	const label = "labels: {berth.dev/policy: ''}"
	good := configMapYAML(policyHead+"config: {key: pool}\n", "{name: a, "+label+"}")
	list := "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSuffix(good, "\n"), "\n", "\n  ") + "\n"
	const ok = "-: configmap/a: ok: a, module labels v1.0.0, points filter, DIGEST\n"
	for _, test := range []struct {
		name, in string
		code     int
		want     string
	}{
		{"right", good, exitOK, ok},
		{"list", list, exitOK, ok},
		{"several objects", "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n---\n" + good + "---\n" + good, exitOK, ok + ok},
		{"a name twice", good + "---\n" + strings.Replace(good, "{name: a,", "{name: b,", 1) + "---\n" +
			configMapYAML(policyHead+"name: a\n", "{name: c, namespace: x, "+label+"}"), exitProblem,
			ok + "-: configmap/b: ok: b, module labels v1.0.0, points filter, DIGEST\n" +
				"-: configmap/c: name: want one that no other policy has, got \"a\", which is configmap//a\n"},
		{"no label", configMapYAML(policyHead+"config: {key: pool}\n", "{name: a}"), exitProblem,
			"-: configmap/a: label berth.dev/policy: want it, as the scheduler sees no other ConfigMaps, got none\n" + ok},
		{"unknown field", strings.Replace(good, "binaryData", "binary", 1), exitProblem, ""},
		{"label that is ignored", configMapYAML(policyHead+"config: {key: pool}\n", "{name: a, labels: {berth.dev/policy: '', berth.dev/failure-policy: fail}}"), exitOK,
			"-: configmap/a: warning: label berth.dev/failure-policy: want Fail or Ignore, got \"fail\"\n" + ok},
		{"other objects only", "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n", exitProblem,
			"-: want a policy.yaml (kind: Policy) or a ConfigMap, got neither\n"},
		{"too large", strings.Replace(good, "data:\n", "data:\n  notes: '"+strings.Repeat("x", 1<<20)+"'\n", 1), exitProblem, ""},
		{"no YAML", "a: [", exitProblem, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := berth(t, test.in, "check", "-").want(t, test.code)
			if test.want != "" {
				r.wantOut(t, test.want)
				return
			}
			line, _, _ := strings.Cut(r.out, "\n")
			for name, want := range map[string]string{
				"unknown field": `-: ConfigMap: error unmarshaling JSON: while decoding JSON: json: unknown field "binary"`,
				"too large":     "-: configmap/a: want at most 1048576 bytes in a ConfigMap, got ",
				"no YAML":       "-: policy.yaml: line 1: not YAML: ",
			} {
				if test.name == name && !strings.HasPrefix(line, want) {
					t.Errorf("want %s, got %s", want, line)
				}
			}
		})
	}
}

func TestCheckFiles(t *testing.T) {
	module := labelsModule(t)
	wasm, _ := labels()
	dir := filepath.Join(t.TempDir(), "zones")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"policy.yaml": policyHead + "config: {key: pool}\n", "policy.wasm": string(wasm)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	empty := t.TempDir()
	r := berth(t, "", "check", dir, filepath.Dir(dir), filepath.Join(dir, "policy.yaml"), module, empty, "no-such-file").want(t, exitProblem)
	got := strings.Split(strings.TrimSuffix(variable.ReplaceAllString(r.out, "DIGEST"), "\n"), "\n")
	want := []string{
		dir + ": ok: zones, module labels v1.0.0, points filter, DIGEST",
		dir + ": ok: zones, module labels v1.0.0, points filter, DIGEST",
		filepath.Join(dir, "policy.yaml") + ": ok: zones, module labels v1.0.0, points filter, DIGEST",
		module + ": ok: labels, module labels v1.0.0, points filter, DIGEST",
		empty + ": want policy.yaml, got no files",
		"no-such-file: open no-such-file: no such file or directory",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestLastLines(t *testing.T) {
	if got := lastLines("one two three\nfour", 8); got != "... four" {
		t.Errorf("got %q", got)
	}
	if got := lastLines("one\ntwo", 20); got != "one two" {
		t.Errorf("got %q", got)
	}
}
