// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the versions of berth-lab and of what it embeds",
		Example: "  berth-lab version",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			berth, modules := "(devel)", map[string]string{}
			if info, ok := debug.ReadBuildInfo(); ok {
				if info.Main.Version != "" {
					berth = info.Main.Version
				}
				for _, m := range info.Deps {
					modules[m.Path] = m.Version
				}
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "berth-lab %s, Kubernetes %s, etcd %s, %s\n", berth,
				modules["k8s.io/kubernetes"], modules["go.etcd.io/etcd/server/v3"], runtime.Version())
			return err
		},
	}
}
