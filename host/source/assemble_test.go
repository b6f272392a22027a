// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/host/policy"
)

func TestFromConfigMap(t *testing.T) {
	raw := module("a")
	gz := Gzip(raw)
	type data = map[string]string
	type binary = map[string][]byte
	text := data{PolicyFile: policyHead}
	for _, test := range []struct {
		name     string
		data     data
		binary   binary
		wantName string // "cm" unless given
		wantErr  string
	}{
		{name: "as kubectl create configmap --from-file makes it", data: text, binary: binary{ModuleFileGz: gz}},
		{name: "plain module", data: text, binary: binary{ModuleFile: raw}},
		{name: "policy.yaml in binaryData", binary: binary{PolicyFile: []byte(policyHead), ModuleFile: raw}},
		{name: "its own name", data: data{PolicyFile: policyHead + "name: other\n"}, binary: binary{ModuleFile: raw}, wantName: "other"},
		{name: "named module", data: data{PolicyFile: policyHead + "module: m.gz\n"}, binary: binary{ModuleFile: module("b"), "m.gz": gz}},
		{name: "both, one chosen", data: data{PolicyFile: policyHead + "module: policy.wasm\n"}, binary: binary{ModuleFile: raw, ModuleFileGz: Gzip(module("b"))}},
		{name: "digest", data: data{PolicyFile: policyHead + "digest: " + Digest(raw)}, binary: binary{ModuleFileGz: gz}},

		{name: "nothing", wantErr: "want policy.yaml, got no files"},
		{name: "no policy.yaml", data: data{"policy.yml": ""}, binary: binary{ModuleFile: raw}, wantErr: "want policy.yaml, got policy.wasm, policy.yml"},
		{name: "policy.yaml not UTF-8", binary: binary{PolicyFile: []byte("\xff"), ModuleFile: raw}, wantErr: "policy.yaml: want UTF-8 text"},
		{name: "policy.yaml refused", data: data{PolicyFile: policyHead + "foo: 1\n"}, binary: binary{ModuleFile: raw}, wantErr: `policy.yaml: line 3: unknown field "foo"`},
		{name: "policy.yaml too big", data: data{PolicyFile: strings.Repeat("#", policy.MaxBytes+1)}, wantErr: "policy.yaml: want at most 262144 bytes, got 262145"},
		{name: "no module", data: text, wantErr: "want policy.wasm or policy.wasm.gz, got policy.yaml"},
		{name: "named module missing", data: data{PolicyFile: policyHead + "module: m.wasm\n"}, binary: binary{ModuleFile: raw}, wantErr: "module: want m.wasm, got policy.wasm, policy.yaml"},
		{name: "both", data: text, binary: binary{ModuleFile: raw, ModuleFileGz: gz}, wantErr: "want policy.wasm or policy.wasm.gz, got both; choose one by module: in policy.yaml"},
		{name: "module in data", data: data{PolicyFile: policyHead, ModuleFile: base64.StdEncoding.EncodeToString(raw)}, wantErr: "policy.wasm: want it in binaryData"},
		{name: "base64 twice", data: text, binary: binary{ModuleFile: []byte(base64.StdEncoding.EncodeToString(raw))}, wantErr: "policy.wasm: want a wasm module, got its base64 text"},
		{name: "gzip cut short", data: text, binary: binary{ModuleFileGz: gz[:len(gz)-9]}, wantErr: "policy.wasm.gz: gunzip: unexpected EOF"},
		{name: "gzip with a flipped bit", data: text, binary: binary{ModuleFileGz: flip(gz, len(gz)-6)}, wantErr: "policy.wasm.gz: gunzip: gzip: invalid checksum"},
		{name: "not gzip", data: text, binary: binary{ModuleFileGz: raw}, wantErr: "policy.wasm.gz: gunzip: gzip: invalid header"},
		{name: "empty gzip", data: text, binary: binary{ModuleFileGz: {}}, wantErr: "policy.wasm.gz: gunzip: EOF"},
		{name: "gzip bomb", data: text, binary: binary{ModuleFileGz: Gzip(make([]byte, MaxModuleBytes+1))}, wantErr: "policy.wasm.gz: gunzip: want at most 16777216 bytes, got more"},
		{name: "gzip without its ending", data: text, binary: binary{ModuleFile: gz}, wantErr: "policy.wasm: want a wasm module, got gzip; name it with .gz at the end"},
		{name: "empty module", data: text, binary: binary{ModuleFile: {}}, wantErr: `policy.wasm: want a wasm module, got 0 bytes`},
		{name: "an ELF file", data: text, binary: binary{ModuleFile: []byte("\x7fELF----")}, wantErr: `want a wasm module, got 8 bytes that begin with "\x7fELF----"`},
		{name: "a component", data: text, binary: binary{ModuleFile: []byte("\x00asm\x0d\x00\x01\x00")}, wantErr: "want a core wasm module, got a component"},
		{name: "other digest", data: data{PolicyFile: policyHead + "digest: " + Digest(nil)}, binary: binary{ModuleFile: raw}, wantErr: "policy.wasm: want digest " + Digest(nil) + ", got " + Digest(raw)},
	} {
		t.Run(test.name, func(t *testing.T) {
			cm := &v1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "cm", UID: "u", ResourceVersion: "7"},
				Data:       test.data, BinaryData: test.binary,
			}
			d := FromConfigMap(cm)
			if d.Key != "configmap/ns/cm" || d.UID != "u" || d.ResourceVersion != "7" || d.Seen.IsZero() {
				t.Errorf("want the identity of the ConfigMap, got %+v", d)
			}
			if ref := d.Ref; ref.Kind != "ConfigMap" || ref.Namespace != "ns" || ref.Name != "cm" || ref.UID != "u" {
				t.Errorf("want a reference to the ConfigMap, got %v", ref)
			}
			if test.wantName == "" {
				test.wantName = "cm"
			}
			if d.Name != test.wantName {
				t.Errorf("name: want %s, got %s", test.wantName, d.Name)
			}
			if test.wantErr != "" {
				if d.Err == nil || !strings.Contains(d.Err.Error(), test.wantErr) {
					t.Errorf("want error %q, got %v", test.wantErr, d.Err)
				}
				if d.Module != nil || d.ModuleDigest != "" {
					t.Errorf("want no module with an error, got %s", d.ModuleDigest)
				}
				return
			}
			if d.Err != nil {
				t.Fatal(d.Err)
			}
			if !bytes.Equal(d.Module, raw) || d.ModuleDigest != Digest(raw) {
				t.Errorf("want module %s, got %s", Digest(raw), d.ModuleDigest)
			}
			if d.Policy == nil || d.Policy.Name != d.Name || !bytes.HasPrefix(d.PolicyYAML, []byte(policyHead)) {
				t.Errorf("want the policy and its text, got %v, %q", d.Policy, d.PolicyYAML)
			}
		})
	}
}

func flip(data []byte, i int) []byte {
	data = bytes.Clone(data)
	data[i] ^= 1
	return data
}

func TestLabels(t *testing.T) {
	for _, test := range []struct {
		name                string
		labels, annotations map[string]string
		suspend             bool
		failurePolicy       policy.FailurePolicy
		match               string
		warning             string
	}{
		{name: "none"},
		{name: "suspend", labels: map[string]string{LabelSuspend: ""}, suspend: true},
		{name: "suspend true", labels: map[string]string{LabelSuspend: "true"}, suspend: true},
		{name: "suspend false", labels: map[string]string{LabelSuspend: "false"}},
		{name: "failure policy", labels: map[string]string{LabelFailurePolicy: "Fail"}, failurePolicy: policy.Fail},
		{name: "failure policy mistyped", labels: map[string]string{LabelFailurePolicy: "fail"}, warning: `label berth.dev/failure-policy: want Fail or Ignore, got "fail"`},
		{name: "match", annotations: map[string]string{AnnotationMatch: "app=web, tier notin (a,b)"}, match: "app=web,tier notin (a,b)"},
		{name: "match mistyped", annotations: map[string]string{AnnotationMatch: "app in"}, warning: `annotation berth.dev/match: want a label selector, got "app in"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			// Labels count while policy.yaml can't be read.
			d := FromConfigMap(&v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: test.labels, Annotations: test.annotations}})
			if d.Err == nil {
				t.Error("want an error")
			}
			if d.Suspend != test.suspend || d.FailurePolicy != test.failurePolicy {
				t.Errorf("want suspend %t and failure policy %q, got %t and %q", test.suspend, test.failurePolicy, d.Suspend, d.FailurePolicy)
			}
			match := ""
			if d.Match != nil {
				match = d.Match.String()
			}
			if match != test.match {
				t.Errorf("match: want %q, got %q", test.match, match)
			}
			if got := strings.Join(d.Warnings, "\n"); got != test.warning {
				t.Errorf("warnings: want %q, got %q", test.warning, got)
			}
		})
	}
}

func FuzzFromConfigMap(f *testing.F) {
	raw := module("a")
	f.Add(policyHead, ModuleFile, raw)
	f.Add(policyHead, ModuleFileGz, Gzip(raw))
	f.Add(policyHead+"module: \"x\"\n", "x", raw)
	f.Add(policyHead, "a\nb", []byte{0x1f, 0x8b})
	f.Fuzz(func(t *testing.T, text, name string, data []byte) {
		d := FromConfigMap(&v1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "cm"},
			Data:       map[string]string{PolicyFile: text},
			BinaryData: map[string][]byte{name: data},
		})
		switch {
		case d.Err != nil && (d.Module != nil || strings.ContainsAny(d.Err.Error(), "\r\n")):
			t.Errorf("want one line and no module, got %q, %d bytes", d.Err, len(d.Module))
		case d.Err == nil && (d.Policy == nil || len(d.Module) > MaxModuleBytes || d.ModuleDigest != Digest(d.Module)):
			t.Errorf("want a policy and a module with its digest, got %+v", d)
		}
	})
}
