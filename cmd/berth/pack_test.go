// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/host/source"
	"github.com/berth-scheduler/berth/host/weave"
)

// base64Blob is the module in a manifest.
var base64Blob = regexp.MustCompile(`H4sI[A-Za-z0-9+/=]{1000,}`)

func TestPack(t *testing.T) {
	path := labelsModule(t)
	policyYAML := writeTemp(t, "policy.yaml", []byte(policyHead+"config: {key: pool}\n"))
	r := berth(t, "", "pack", "-n", "berth-system", "--pin", policyYAML, path).want(t, exitOK)
	if r.err != "" {
		t.Errorf("want nothing on stderr, got %q", r.err)
	}
	manifest := r.out
	r.out = base64Blob.ReplaceAllString(r.out, "MODULE")
	r.wantOut(t, `apiVersion: v1
kind: ConfigMap
metadata:
  name: labels
  namespace: berth-system
  labels:
    berth.dev/policy: "true"
data:
  policy.yaml: |
    apiVersion: berth.dev/v1alpha1
    kind: Policy
    digest: DIGEST
    config: {key: pool}
binaryData:
  policy.wasm.gz: MODULE
`)
	if again := berth(t, "", "pack", "-n", "berth-system", "--pin", path, policyYAML).want(t, exitOK); again.out != manifest {
		t.Error("want the same bytes again, and in either order of arguments")
	}

	var cm v1.ConfigMap
	if err := yaml.UnmarshalStrict([]byte(manifest), &cm); err != nil {
		t.Fatal(err)
	}
	wasm, _ := labels()
	doc := source.FromConfigMap(&cm)
	if doc.Err != nil || doc.Name != "labels" || !bytes.Equal(doc.Module, wasm) || doc.Policy.Digest != source.Digest(wasm) {
		t.Errorf("want what the scheduler finds to be what was packed, got %v, %q, %d bytes", doc.Err, doc.Name, len(doc.Module))
	}
}

// TestPackAdvice checks the reason for --server-side: a client-side apply puts
// the object into an annotation, which the API server finds too large.
func TestPackAdvice(t *testing.T) {
	policyYAML := writeTemp(t, "policy.yaml", []byte(policyHead))
	r := berth(t, "", "pack", policyYAML, labelsModule(t)).want(t, exitOK)
	applied, err := yaml.YAMLToJSON([]byte(r.out))
	if err != nil {
		t.Fatal(err)
	}
	if err := validation.ValidateAnnotationsSize(map[string]string{v1.LastAppliedConfigAnnotation: string(applied)}); err == nil {
		t.Error("want the annotation refused; if it isn't, a plain kubectl apply works and the help should say so")
	}
}

func TestPackFolder(t *testing.T) {
	wasm, _ := labels()
	dir := filepath.Join(t.TempDir(), "my-policy")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("policy.yaml", []byte(policyHead))
	write("policy.wasm", wasm)
	write("notes.txt", []byte("not part of it"))
	out := filepath.Join(t.TempDir(), "cm.yaml")
	r := berth(t, "", "pack", "-o", out, dir).want(t, exitOK)
	if r.out != "" {
		t.Errorf("want nothing on stdout, got %q", r.out)
	}
	r.wantErr(t, "configmap/my-policy: apply it with kubectl apply --server-side -f "+out)
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\n  name: my-policy\n") || strings.Contains(string(text), "notes") || !strings.Contains(string(text), "policy.wasm.gz: H4sI") {
		t.Errorf("got %s", base64Blob.ReplaceAll(text, []byte("MODULE")))
	}
	write("policy.wasm.gz", source.Gzip(wasm))
	berth(t, "", "pack", dir).want(t, exitProblem).wantErr(t, "want policy.wasm or policy.wasm.gz, got both")
}

func TestPackName(t *testing.T) {
	wasm, _ := labels()
	labelsModule(t) // fails if it can't be built
	named := policyHead + "name: by-file\n"
	for _, test := range []struct {
		name, policy, file string
		args               []string
		want               string
	}{
		{"flag", named, "policy.wasm", []string{"--name", "by-flag"}, "by-flag"},
		{"policy.yaml", named, "policy.wasm", nil, "by-file"},
		{"file", policyHead, "pools.wasm", nil, "pools"},
		{"gzipped", policyHead, "pools.wasm.gz", nil, "pools"},
		{"file that says nothing", policyHead, "policy.wasm", nil, "labels"},
		{"file that says nothing, gzipped", policyHead, "policy.wasm.gz", nil, "labels"},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := wasm
			if strings.HasSuffix(test.file, ".gz") {
				data = source.Gzip(wasm)
			}
			args := append([]string{"pack", writeTemp(t, "policy.yaml", []byte(test.policy)), writeTemp(t, test.file, data)}, test.args...)
			if got := configMapName(t, berth(t, "", args...).want(t, exitOK)); got != test.want {
				t.Errorf("want %s, got %s", test.want, got)
			}
		})
	}
	r := berth(t, string(wasm), "pack", writeTemp(t, "policy.yaml", []byte(policyHead)), "-").want(t, exitOK)
	if got := configMapName(t, r); got != "labels" {
		t.Errorf("want labels from standard input, got %s", got)
	}
}

// configMapName is the name in a manifest.
func configMapName(t *testing.T, r result) string {
	t.Helper()
	var cm v1.ConfigMap
	if err := yaml.UnmarshalStrict([]byte(r.out), &cm); err != nil {
		t.Fatal(err)
	}
	return cm.Name
}

func TestPackProblems(t *testing.T) {
	path := labelsModule(t)
	wasm, _ := labels()
	noise := make([]byte, 1<<20)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(noise) // never fails
	large, err := weave.AppendCustomSection(wasm, "noise", noise)
	if err != nil {
		t.Fatal(err)
	}
	largePath := writeTemp(t, "large.wasm", large)
	for _, test := range []struct {
		name, policy, module string
		args                 []string
		want                 string
	}{
		{"too large", policyHead, largePath, nil, "want at most 1048576 bytes in a ConfigMap, got "},
		{"too large uncompressed", policyHead + "module: big.wasm\n", path, nil,
			"leave module: out of policy.yaml or call it policy.wasm.gz, so that it is gzipped"},
		{"policy", policyHead + "wait: 5\n", path, nil, `policy.yaml: line 3: unknown field "wait"`},
		{"digest", policyHead + "digest: sha256:" + strings.Repeat("0", 64) + "\n", path, nil, "want digest sha256:000"},
		{"pin in braces", "{apiVersion: berth.dev/v1alpha1, kind: Policy}\n", path, []string{"--pin"}, "--pin wants a field a line"},
		{"module", policyHead, writeTemp(t, "x.wasm", []byte("hello")), nil, "want a wasm module, got 5 bytes"},
		{"not a guest", policyHead, writeTemp(t, "x.wasm", []byte("\x00asm\x01\x00\x00\x00")), nil, `export "abi_version": want a function () -> (i32), got none`},
		{"name", policyHead, path, []string{"--name", "A_b"}, `name: want a DNS subdomain (lower case letters, digits, '-' and '.'), got "A_b"`},
		{"namespace", policyHead, path, []string{"-n", "a.b"}, `namespace: want the name of a namespace, got "a.b"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			policyYAML := writeTemp(t, "policy.yaml", []byte(test.policy))
			r := berth(t, "", append([]string{"pack", policyYAML, test.module}, test.args...)...).want(t, exitProblem)
			r.wantErr(t, test.want)
			if r.out != "" {
				t.Errorf("want nothing on stdout, got %d bytes", len(r.out))
			}
		})
	}
}

func TestPin(t *testing.T) {
	digest := "sha256:" + strings.Repeat("ab", 32)
	old := "sha256:" + strings.Repeat("00", 32)
	for _, test := range []struct{ name, in, want string }{
		{"new", policyHead + "# why\nweight: 2 # heavy\n", policyHead + "digest: " + digest + "\n# why\nweight: 2 # heavy\n"},
		{"at the end", strings.TrimSuffix(policyHead, "\n"), policyHead + "digest: " + digest + "\n"},
		{"replaced", policyHead + "weight: 2\ndigest: " + old + " # pinned\nname: a\n", policyHead + "weight: 2\ndigest: " + digest + "\nname: a\n"},
		{"before the head", "digest: '" + old + "'\n" + policyHead, "digest: " + digest + "\n" + policyHead},
		{"document start", "# one\n---\n" + policyHead, "# one\n---\n" + policyHead + "digest: " + digest + "\n"},
		{"CRLF", strings.ReplaceAll(policyHead, "\n", "\r\n"), strings.ReplaceAll(policyHead, "\n", "\r\n") + "digest: " + digest + "\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := pinDigest([]byte(test.in), digest)
			if err != nil || string(got) != test.want {
				t.Errorf("want %q, got %q and %v", test.want, got, err)
			}
		})
	}
	got, err := pinDigest([]byte(policyHead+"digest: "+old+"\n"), "")
	if err != nil || string(got) != policyHead {
		t.Errorf("want the digest gone, got %q and %v", got, err)
	}
}
