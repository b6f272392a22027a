// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/cmd/berth-lab/demo"
)

func newDemoCommand() *cobra.Command {
	var (
		o       demo.Options
		output  string
		timeout time.Duration
	)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show a policy deciding, and being replaced under load",
		Long: `demo starts a cluster of 50 nodes in three zones and several pools. The stock
scheduler places some pods; Berth, as a second scheduler in its own process,
places the others by two policies: team-pools, which gives each team its pools,
and cost-aware, which prefers cheap nodes. While pods keep arriving, team-pools
is replaced by another build with another table. Then the demo checks, from what
the API server says and by its own table, that each pod is where the rule of its
time allows, that no pod was lost, and that the scheduler was never restarted.

Progress goes to stderr, the result to stdout. The exit code is 3 if something
that is checked did not hold.`,
		Example: `  # Everything, with a table at the end
  berth-lab demo

  # One JSON object on stdout
  berth-lab demo -o json

  # Only the stock scheduler: needs no berth-scheduler and no policies
  berth-lab demo --stock-only`,
		Args: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return fmt.Errorf("--output: want text or json, got %q", output)
			}
			return cobra.NoArgs(cmd, args)
		},
		PreRunE: func(*cobra.Command, []string) error {
			if o.StockOnly {
				return nil
			}
			if err := mustExist(o.SchedulerBinary, "scheduler-binary", "build"); err != nil {
				return err
			}
			return mustExist(o.PolicyDir, "policies", "policies")
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			o.Progress = newProgress(cmd.ErrOrStderr())
			result, err := demo.Run(ctx, o)
			if result == nil {
				return err
			}
			if output == "json" {
				return errors.Join(err, json.NewEncoder(cmd.OutOrStdout()).Encode(result))
			}
			return errors.Join(err, result.WriteText(cmd.OutOrStdout()))
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&output, "output", "o", "text", "what to print: text or json")
	flags.BoolVar(&o.StockOnly, "stock-only", false, "end after the stock scheduler's part")
	flags.StringVar(&o.SchedulerBinary, "scheduler-binary", beside("berth-scheduler"), "executable of berth-scheduler")
	flags.StringVar(&o.PolicyDir, "policies", beside("policies"), "directory with the policies' modules")
	flags.StringVar(&o.LogDir, "log-dir", "", "directory that gets and keeps the logs (default a temporary one)")
	flags.DurationVar(&timeout, "timeout", 10*time.Minute, "time after which the demo gives up")
	if err := cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is defined above
	}
	return cmd
}
