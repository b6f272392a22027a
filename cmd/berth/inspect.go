// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/host/module"
	"github.com/berth-scheduler/berth/host/source"
	"github.com/berth-scheduler/berth/host/weave"
)

func newInspect(io streams) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "inspect FILE|-",
		Short: "Show what a module is, without running it",
		Long: `Show what a module is, without running it: what berth build wrote into it of
its name, version, points, what it reads and takes as config, and its size and
digest. A module made otherwise has no such section; then only its imports and
exports can be shown.

FILE is a module, gzipped or not; - is standard input. Lines that begin with
"problem" say why the scheduler would refuse it, and make the exit code 1; berth
check says more.`,
		Example: `  berth inspect team-pools.wasm
  berth inspect -o json team-pools.wasm | jq -r .digest
  kubectl get configmap team-pools -n berth-system -o jsonpath='{.binaryData.policy\.wasm\.gz}' | base64 -d | berth inspect -`,
		Args: argCount(1, 1, "one FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains([]string{"text", "wide", "json", "yaml"}, output) {
				return usageError{fmt.Errorf("--output: want text, wide, json or yaml, got %q", output)}
			}
			wasm, err := readModule(args[0], io.in)
			if err != nil {
				return err
			}
			info, err := module.Inspect(wasm, weave.DefaultLimits())
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if err := newReport(wasm, info).write(io.out, output); err != nil {
				return err
			}
			if len(info.Problems) > 0 {
				return errReported
			}
			return nil
		},
	}
	outputFlag(cmd, &output, "text", "wide", "json", "yaml")
	return cmd
}

// write prints the report in a format of --output.
func (r report) write(out io.Writer, format string) error {
	switch format {
	case "json":
		return writeJSON(out, r)
	case "yaml":
		text, err := yaml.Marshal(r)
		if err == nil {
			_, err = out.Write(text)
		}
		return err
	}
	return r.writeText(out, format == "wide")
}

// readModule reads a module from a file or, as "-", from in. Gzip is told by its
// first bytes, as standard input has no name.
func readModule(name string, in io.Reader) ([]byte, error) {
	data, err := readInput(name, in, source.MaxModuleBytes)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		if data, err = source.Gunzip(data, source.MaxModuleBytes); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return data, nil
}

// readInput reads at most limit bytes of a file or, as "-", of in.
func readInput(name string, in io.Reader, limit int64) ([]byte, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: want at most %d bytes, got more", name, limit)
	}
	return data, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
