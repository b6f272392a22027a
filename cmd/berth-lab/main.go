// SPDX-License-Identifier: Apache-2.0

// Command berth-lab runs a small Kubernetes with Berth in it on one machine:
// an etcd and an API server inside this process, simulated nodes, the stock
// scheduler and berth-scheduler beside it. Nothing needs to be installed and
// nothing is left behind.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/cmd/berth-lab/demo"
	"github.com/berth-scheduler/berth/test/lab"
)

// Exit codes, as in the help.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitCheck       = 3
	exitInterrupted = 130
)

const longHelp = `berth-lab runs a small Kubernetes with Berth in it on this machine: a real etcd
and a real kube-apiserver inside this process, nodes that exist only as objects,
the stock scheduler and berth-scheduler. Pods that get a node become Running at
once; no container is started. Everything listens on loopback only and is gone
when the command ends.

Exit codes:
  0    done
  1    something could not be run; the message says what
  2    wrong usage
  3    the demo ran, and what it checks did not hold
  130  interrupted before the end`

func main() {
	lab.MainHook()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run executes the command line and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer restore()
	// The second signal ends the process at once, should the first one's
	// clean-up hang; the kernel then ends the children.
	context.AfterFunc(ctx, restore)

	parsed := false
	root := newCommand(&parsed)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	interrupted := ctx.Err() != nil && errors.Is(err, context.Canceled)
	if interrupted {
		err = errors.New("interrupted")
	}
	fmt.Fprintf(stderr, "berth-lab: %v\n", err)
	switch {
	case interrupted:
		return exitInterrupted
	case !parsed:
		fmt.Fprintln(stderr, "Run 'berth-lab --help' for usage.")
		return exitUsage
	case errors.Is(err, demo.ErrCheck):
		return exitCheck
	}
	return exitError
}

// newCommand returns the command tree. It sets parsed once flags and arguments
// are accepted.
func newCommand(parsed *bool) *cobra.Command {
	root := &cobra.Command{
		Use:   "berth-lab",
		Short: "A local cluster with Berth in one command",
		Long:  longHelp,
		Example: `  # A cluster of twenty nodes, until ctrl-C
  berth-lab up --nodes 20

  # See a policy replaced while pods keep arriving
  berth-lab demo`,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRun: func(*cobra.Command, []string) {
			*parsed = true
		},
	}
	root.AddCommand(newUpCommand(), newDemoCommand(), newVersionCommand())
	return root
}
