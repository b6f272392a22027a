// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tutorial's code into README.md")

var codeBlock = regexp.MustCompile("(?s)```go ([a-z_]+\\.go)\n(.*?)```")

// TestREADME compares the code in README.md with that of internal/tutorial and
// internal/guide, which is compiled and tested like any other.
func TestREADME(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	want := codeBlock.ReplaceAllStringFunc(string(text), func(block string) string {
		found++
		name := codeBlock.FindStringSubmatch(block)[1]
		dir := "tutorial"
		if name == "points.go" {
			dir = "guide"
		}
		code, err := os.ReadFile(filepath.Join("internal", dir, name))
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(string(code), "\n\n") // without the licence
		return "```go " + name + "\n" + body + "```"
	})
	if found != 3 {
		t.Errorf("want 3 files of code, got %d", found)
	}
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatal("the code is not that of internal: go test ./guest-sdk/go -run TestREADME -update")
	}
	if err := os.WriteFile("README.md", []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
