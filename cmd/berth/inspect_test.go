// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/source"
)

const labelsText = `name:       labels
version:    v1.0.0
points:     filter
reads:      node.labels
resources:  none
intents:    none
config:     key (string)
pure:       no
abi:        1.0
size:       SIZE, SIZE gzipped
digest:     DIGEST
`

func TestInspect(t *testing.T) {
	path := labelsModule(t)
	berth(t, "", "inspect", path).want(t, exitOK).wantOut(t, labelsText)

	wasm, _ := labels()
	berth(t, string(wasm), "inspect", "-").want(t, exitOK).wantOut(t, labelsText)
	berth(t, string(source.Gzip(wasm)), "inspect", "-").want(t, exitOK).wantOut(t, labelsText)

	wide := berth(t, "", "inspect", "-o", "wide", path).want(t, exitOK).out
	for _, want := range []string{
		"import:     wasi_snapshot_preview1.fd_write (i32 i32 i32 i32) -> (i32)\n",
		"export:     filter (i32) -> (i32)\n", "export:     memory memory\n", "shape:      ",
	} {
		if !strings.Contains(wide, want) {
			t.Errorf("wide: want %q, got %s", want, wide)
		}
	}
}

func TestInspectStructured(t *testing.T) {
	path := labelsModule(t)
	var fromJSON, fromYAML map[string]any
	if err := json.Unmarshal([]byte(berth(t, "", "inspect", "-o", "json", path).want(t, exitOK).out), &fromJSON); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(berth(t, "", "inspect", "-o", "yaml", path).want(t, exitOK).out), &fromYAML); err != nil {
		t.Fatal(err)
	}
	for _, r := range []map[string]any{fromJSON, fromYAML} {
		wasm, _ := labels()
		if r["name"] != "labels" || r["version"] != "v1.0.0" || r["abi"] != "1.0" || r["describeSection"] != true ||
			r["digest"] != source.Digest(wasm) || r["size"] != float64(len(wasm)) || r["gzipSize"] != float64(len(source.Gzip(wasm))) {
			t.Errorf("got %v", r)
		}
		if schema, _ := r["schema"].(map[string]any); schema["type"] != "object" {
			t.Errorf("schema: got %v", r["schema"])
		}
	}
}

func TestInspectWithoutSection(t *testing.T) {
	wasm, _ := labels()
	bare := bytes.Clone(wasm)
	copy(bare[bytes.LastIndex(bare, []byte("\x0e"+abi.DescribeSection))+1:], "other")
	r := berth(t, string(bare), "inspect", "-").want(t, exitOK)
	for _, want := range []string{"name:     unknown before it runs\n", "points:   filter\n", "warning:  no section berth.describe: "} {
		if !strings.Contains(r.out, want) {
			t.Errorf("want %q, got %s", want, r.out)
		}
	}
}

func TestInspectProblems(t *testing.T) {
	berth(t, "(module)", "inspect", "-").want(t, exitProblem).wantErr(t, "berth inspect: -: ")
	berth(t, "\x1f\x8bno", "inspect", "-").want(t, exitProblem).wantErr(t, "berth inspect: -: gunzip: ")
	r := berth(t, "\x00asm\x01\x00\x00\x00", "inspect", "-").want(t, exitProblem)
	if !strings.Contains(r.out, `problem:  export "memory": want a memory, got none`) {
		t.Errorf("want what is missing, got %s", r.out)
	}
}

func TestPrintable(t *testing.T) {
	if got := printable("a\x1b[2J\u009bb\n"); got != "a?[2J?b?" {
		t.Errorf("got %q", got)
	}
}
