// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitOK      = 0
	exitProblem = 1
	exitUsage   = 2
)

const rootHelp = `Build, look into, pack and check policies for the Berth scheduler.

A policy is a WebAssembly module and a policy.yaml that says how to use it; the
scheduler takes both from a ConfigMap or a directory. The usual way from source
to a cluster is

  berth build ./team-pools -o team-pools.wasm
  berth check policy.yaml --module team-pools.wasm
  berth pack policy.yaml team-pools.wasm | kubectl apply --server-side -n berth-system -f -

The environment variable BERTH_CACHE_DIR names a directory, private to its
user, that keeps compiled modules between calls; without it each call compiles.

Exit codes: 0 all is well; 1 something is wrong with what was looked at, or it
couldn't be done; 2 the command line is wrong.`

// streams are what a command reads and writes.
type streams struct {
	in  io.Reader
	out io.Writer
	err io.Writer
}

// usageError is a command line that makes no sense.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// errReported ends a command that has already printed what is wrong.
var errReported = errors.New("problems were found")

// run executes a command line and returns the exit code. It keeps nothing
// between calls.
func run(ctx context.Context, args []string, io streams) int {
	root := newRoot(io)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errReported):
		return exitProblem
	}
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(io.err, "%s: %s; see %s --help\n", cmd.CommandPath(), oneLine(err.Error()), cmd.CommandPath())
		return exitUsage
	}
	fmt.Fprintf(io.err, "%s: %s\n", cmd.CommandPath(), oneLine(err.Error()))
	return exitProblem
}

func newRoot(io streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "berth",
		Short:         "Build, look into, pack and check policies for the Berth scheduler",
		Long:          rootHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(io.in)
	root.SetOut(io.out)
	root.SetErr(io.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newBuild(io), newInspect(io), newPack(io), newCheck(io), newPoints(io), newVersion(io))
	root.InitDefaultCompletionCmd()
	return root
}

// argCount wants a number of arguments; most below zero means any number.
func argCount(least, most int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if n := len(args); n < least || most >= 0 && n > most {
			return usageError{fmt.Errorf("want %s, got %d arguments", what, n)}
		}
		return nil
	}
}

// oneLine is text without line breaks.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
