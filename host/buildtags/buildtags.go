// SPDX-License-Identifier: Apache-2.0

// Package buildtags finds the build tags that leave out of a policy in Go what
// it can't use.
//
// The SDK serves a point if the author's type has the point's methods, and knows
// that only when it runs; so the linker keeps the code for all points, 150 KB.
// A type has a method only if some package of the build declares one of that
// name. So where none does, the family of points that it belongs to can't be
// implemented, and the SDK has a tag that leaves it out.
package buildtags

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// sdk is the package whose own methods and interfaces don't count.
const sdk = "github.com/berth-scheduler/berth/guest-sdk/go"

// Prefix begins each tag; the family's name follows.
const Prefix = "berth_without_"

// Family is a part of the SDK that a tag leaves out.
type Family struct {
	Name    string
	Methods []string // one of which a type has that needs the family
}

// Families are the parts of the SDK that can be left out.
var Families = []Family{
	{"queue", []string{"PreEnqueue", "QueueingHint", "QueueKey", "SignPod"}},
	{"preemption", []string{"PostFilter"}},
	{"group_preemption", []string{"PodGroupPostFilter"}},
	{"binding", []string{"Reserve", "Unreserve", "Permit", "PreBindPreFlight", "PreBind", "Bind", "PostBind"}},
	{"placement", []string{"GeneratePlacementsBegin", "ScorePlacementBegin", "NormalizePlacementScore"}},
}

// For returns the tags for a main package, as go build's -tags takes them: those
// given, and one for each family that it can't use. The pattern names the package,
// seen from dir.
func For(ctx context.Context, dir, pattern, given string) (string, error) {
	methods, err := declared(ctx, dir, pattern, given)
	if err != nil {
		return "", err
	}
	var tags []string
	if given != "" {
		tags = append(tags, given)
	}
	for _, f := range Families {
		used := false
		for _, m := range f.Methods {
			used = used || methods[m]
		}
		if !used {
			tags = append(tags, Prefix+f.Name)
		}
	}
	return strings.Join(tags, ","), nil
}

// listed is what go list says of a package.
type listed struct {
	ImportPath string
	Dir        string
	Standard   bool
	GoFiles    []string
}

// declared are the names of all methods in the packages of a build, without the
// standard library and the SDK, whose methods can't have the types of a point's.
func declared(ctx context.Context, dir, pattern, tags string) (map[string]bool, error) {
	args := []string{"list", "-deps", "-json=ImportPath,Dir,Standard,GoFiles"}
	if tags != "" {
		args = append(args, "-tags", tags)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, pattern)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOWASM=")
	var output, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &complaint
	switch err := cmd.Run(); {
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("want the go command in PATH, got none")
	case err != nil:
		return nil, fmt.Errorf("go list: %w: %s", err, bytes.TrimSpace(complaint.Bytes()))
	}
	methods := map[string]bool{}
	for d := json.NewDecoder(&output); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return methods, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if p.Standard || p.ImportPath == sdk {
			continue
		}
		for _, file := range p.GoFiles {
			if err := addMethods(methods, filepath.Join(p.Dir, file)); err != nil {
				return nil, err
			}
		}
	}
}

// addMethods adds the names of a file's methods.
func addMethods(methods map[string]bool, file string) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
			methods[f.Name.Name] = true
		}
	}
	return nil
}
