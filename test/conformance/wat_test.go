// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
)

var update = flag.Bool("update", false, "write wat/*.wasm, and the describe documents in wat/*.wat, anew (wants wat2wasm)")

var describeLines = regexp.MustCompile(`(?m)^( *);; describe: (.*)\n *\(data \(i32\.const 1024\) ".*"\)$`)

// TestWAT keeps the guests written by hand right: what they describe is what
// their comment says, and the binary is made from the text.
func TestWAT(t *testing.T) {
	texts, err := filepath.Glob("wat/*.wat")
	if err != nil || len(texts) == 0 {
		t.Fatalf("wat/*.wat: %v, %d files", err, len(texts))
	}
	for _, path := range texts {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".wat"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want := describeLines.ReplaceAllFunc(text, func(m []byte) []byte { return describeData(t, m) })
			if !bytes.Equal(text, want) {
				if !*update {
					t.Fatal("the describe document isn't what its comment says: go test ./test/conformance -run TestWAT -update")
				}
				if err := os.WriteFile(path, want, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			checkBinary(t, path, strings.TrimSuffix(path, ".wat")+".wasm")
		})
	}
}

// describeData writes the value record of a comment as a data segment.
func describeData(t *testing.T, lines []byte) []byte {
	m := describeLines.FindSubmatch(lines)
	d := json.NewDecoder(bytes.NewReader(m[2]))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		t.Fatalf("describe: %v", err)
	}
	record, err := abi.EncodeValue(exact(tree))
	if err != nil {
		t.Fatalf("describe: %v", err)
	}
	var escaped strings.Builder
	for _, b := range record {
		if b >= ' ' && b < 0x7f && b != '"' && b != '\\' {
			escaped.WriteByte(b)
		} else {
			fmt.Fprintf(&escaped, `\%02x`, b)
		}
	}
	return fmt.Appendf(nil, "%s;; describe: %s\n%s(data (i32.const 1024) \"%s\")", m[1], m[2], m[1], escaped.String())
}

// exact turns whole numbers of JSON into integers.
func exact(v any) any {
	switch v := v.(type) {
	case json.Number:
		n, _ := v.Int64()
		return n
	case map[string]any:
		for k := range v {
			v[k] = exact(v[k])
		}
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	}
	return v
}

func checkBinary(t *testing.T, text, binary string) {
	got, err := os.ReadFile(binary)
	if err != nil && !*update {
		t.Fatal(err)
	}
	if len(got) > 4096 {
		t.Errorf("%s has %d bytes, want at most 4096", binary, len(got))
	}
	tool, err := exec.LookPath("wat2wasm")
	if err != nil {
		t.Skip("wat2wasm is not installed: the binary isn't compared with its text")
	}
	fresh := filepath.Join(t.TempDir(), "fresh.wasm")
	if out, err := exec.Command(tool, text, "-o", fresh).CombinedOutput(); err != nil {
		t.Fatalf("wat2wasm: %v\n%s", err, out)
	}
	want, err := os.ReadFile(fresh)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	if !*update {
		t.Fatalf("%s isn't what %s makes: go test ./test/conformance -run TestWAT -update", binary, text)
	}
	if err := os.WriteFile(binary, want, 0o644); err != nil {
		t.Fatal(err)
	}
}
