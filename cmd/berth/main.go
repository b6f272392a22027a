// SPDX-License-Identifier: Apache-2.0

// Command berth is for those who write policies and those who run them: it
// builds a module from Go source, shows what is in one, packs it into a
// ConfigMap, and says beforehand what the scheduler would say of it.
//
// Results are on stdout, progress and errors on stderr; an error is one line.
// The exit code is 0 if all is well, 1 if something is wrong with what was
// looked at or couldn't be done, and 2 if the command line is wrong.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}
