// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/buildtags"
	"github.com/berth-scheduler/berth/host/module"
	"github.com/berth-scheduler/berth/host/weave"
)

// versionVariable is the SDK's variable that takes the place of Policy.Version.
const versionVariable = "github.com/berth-scheduler/berth/guest-sdk/go.BuildVersion"

// stamp is what a version may be: it goes through go build's -ldflags, which
// splits at blanks and knows quotes.
var stamp = regexp.MustCompile(`^[-+.~:/@_0-9A-Za-z]{1,128}$`)

type buildOptions struct {
	output, version, tags string
}

func newBuild(io streams) *cobra.Command {
	var opts buildOptions
	cmd := &cobra.Command{
		Use:   "build [DIR]",
		Short: "Build a module from a policy's Go source",
		Long: `Build a module from a policy's Go source and check it as the scheduler would.

DIR (default: the current one) holds the main package that registers the
policy. It is compiled by the go command for GOOS=wasip1 GOARCH=wasm, loaded,
and asked what it is. The answer is written into the module, where berth inspect
and the scheduler find it without running it, and the functions of points that
the policy doesn't have are left out, with the SDK's code for them. The same source, go and berth give the
same bytes.`,
		Example: `  berth build -o team-pools.wasm ./examples/team-pools
  berth build --version "$(git describe --tags --always)"`,
		Args: argCount(0, 1, "at most one DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			if opts.version != "" && !stamp.MatchString(opts.version) {
				return usageError{fmt.Errorf("--version: want letters, digits and any of -+.~:/@_, got %q", opts.version)}
			}
			return build(cmd.Context(), dir, opts, io)
		},
	}
	cmd.Flags().StringVarP(&opts.output, "output", "o", "", "file to write, - for standard output (default: NAME.wasm by the policy's name)")
	cmd.Flags().StringVar(&opts.version, "version", "", "the policy's version, in place of the one in the source")
	cmd.Flags().StringVar(&opts.tags, "tags", "", "build tags for the go command, separated by commas")
	return cmd
}

func build(ctx context.Context, dir string, opts buildOptions, io streams) error {
	progress := func(format string, args ...any) { fmt.Fprintf(io.err, format+"\n", args...) }
	progress("compiling %s (GOOS=wasip1 GOARCH=wasm)", dir)
	wasm, err := compile(ctx, dir, opts, io)
	if err != nil {
		return err
	}
	progress("checking and running describe")
	wasm, err = annotate(ctx, wasm)
	if err != nil {
		return err
	}
	info, err := module.Inspect(wasm, weave.DefaultLimits())
	if err != nil {
		return err
	}
	if len(info.Problems) > 0 {
		return info.Problems
	}
	name := opts.output
	if name == "" {
		if name = info.Description.Name + ".wasm"; name != filepath.Base(name) {
			return fmt.Errorf("want -o FILE, as the policy's name %q isn't one of a file", info.Description.Name)
		}
	}
	if err := writeFile(name, wasm, io.out); err != nil {
		return err
	}
	summary := io.out
	if name == "-" {
		summary = io.err
	}
	r := newReport(wasm, info)
	_, err = fmt.Fprintf(summary, "%s %s: points %s; %s, %s gzipped; %s\n",
		printable(r.Name), printable(r.Version), strings.Join(r.Points, ", "), kilobytes(r.Size), kilobytes(r.GzipSize), r.Digest)
	return err
}

// compile runs go build.
func compile(ctx context.Context, dir string, opts buildOptions, io streams) ([]byte, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, usageError{fmt.Errorf("want a DIR with Go source, got the file %s", dir)}
	}
	tmp, err := os.MkdirTemp("", "berth-build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	file := filepath.Join(tmp, "policy.wasm")
	ldflags := "-s -w"
	if opts.version != "" {
		ldflags += " -X " + versionVariable + "=" + opts.version
	}
	// -buildvcs=false: else the commit, and whether the tree is changed, would be
	// in the bytes.
	args := []string{"build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-ldflags", ldflags, "-o", file}
	tags, err := buildtags.For(ctx, dir, ".", opts.tags)
	if err != nil {
		return nil, err
	}
	if tags != "" {
		args = append(args, "-tags", tags)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, ".")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOWASM=")
	cmd.Stdout, cmd.Stderr = io.err, io.err
	switch err := cmd.Run(); {
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("want the go command in PATH, got none")
	case err != nil:
		return nil, fmt.Errorf("go build: %w", err)
	}
	return readModule(file, nil)
}

// annotate runs a module's describe and returns the module with what it
// answered, less the exports of points that it doesn't have.
func annotate(ctx context.Context, wasm []byte) ([]byte, error) {
	e, err := newEngine(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = e.Close() }() // frees the module, too
	m, err := module.Load(ctx, wasm, module.Options{Engine: e})
	if err != nil {
		return nil, err
	}
	d, raw, err := m.Describe(ctx)
	if err != nil {
		return nil, withOutput(err)
	}
	var unused []string
	for _, p := range m.Points {
		if p != abi.Describe && p != abi.Configure && !slices.Contains(d.Points, p.String()) {
			unused = append(unused, p.String())
		}
	}
	if wasm, err = weave.RemoveExports(wasm, unused...); err != nil {
		return nil, err
	}
	return weave.AppendCustomSection(wasm, abi.DescribeSection, raw)
}
