// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/abi"
)

// version is what -ldflags "-X main.version=v1.2.3" sets; else it is the
// module's version that Go recorded, if any.
var version string

// versionInfo is what berth version -o json prints.
type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"` // built from a changed tree
	ABI      string `json:"abi"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersionInfo() versionInfo {
	v := versionInfo{
		Version:  version,
		ABI:      fmt.Sprintf("%d.%d", abi.Major, abi.Minor),
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	info, ok := debug.ReadBuildInfo()
	if ok && v.Version == "" {
		v.Version = info.Main.Version
	}
	if v.Version == "" {
		v.Version = "(devel)"
	}
	if ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Commit = s.Value
			case "vcs.modified":
				v.Modified = s.Value == "true"
			}
		}
	}
	return v
}

func newVersion(io streams) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of berth and of its ABI",
		Example: `  berth version
  berth version -o json`,
		Args: argCount(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			v := newVersionInfo()
			switch output {
			case "text":
				_, err := fmt.Fprintf(io.out, "berth %s, ABI %s, %s %s\n", v.Version, v.ABI, v.Go, v.Platform)
				return err
			case "json":
				return writeJSON(io.out, v)
			}
			return usageError{fmt.Errorf("--output: want text or json, got %q", output)}
		},
	}
	outputFlag(cmd, &output, "text", "json")
	return cmd
}

// outputFlag adds -o with the first format as its default.
func outputFlag(cmd *cobra.Command, to *string, formats ...string) {
	cmd.Flags().StringVarP(to, "output", "o", formats[0], "format: "+joinOr(formats))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
}

func joinOr(list []string) string {
	s := list[0]
	for i, x := range list[1:] {
		if i == len(list)-2 {
			s += " or " + x
		} else {
			s += ", " + x
		}
	}
	return s
}

func writeJSON(to interface{ Write([]byte) (int, error) }, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(to, "%s\n", text)
	return err
}
