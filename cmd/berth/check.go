// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/engine"
	"github.com/berth-scheduler/berth/host/guest"
	"github.com/berth-scheduler/berth/host/intern"
	"github.com/berth-scheduler/berth/host/module"
	"github.com/berth-scheduler/berth/host/policy"
	"github.com/berth-scheduler/berth/host/source"
)

// maxInput bounds a file with YAML: a ConfigMap of 1 MiB takes 1.4 MB as
// base64, and a list holds several.
const maxInput = 64 << 20

func newCheck(io streams) *cobra.Command {
	var modulePath string
	cmd := &cobra.Command{
		Use:   "check FILE|DIR|-...",
		Short: "Say what the scheduler would say of a policy",
		Long: `Say what the scheduler would say of a policy, before it is applied: read
policy.yaml as strictly, load the module under the policy's limits, run its
describe, check the config against the module's schema, and run its configure.

Each FILE is a policy.yaml (with its module in the same folder, or given by
--module), YAML with ConfigMaps, or a module by itself; a DIR holds policy.yaml
and the module, or sub-folders that do; - is YAML on standard input.

What is in order is a line that begins with the file's name and "ok"; each
problem is a line, too, and makes the exit code 1.`,
		Example: `  berth check policy.yaml --module team-pools.wasm
  berth check deploy/*.yaml
  berth pack policy.yaml team-pools.wasm | berth check -
  kubectl get configmap -n berth-system -l berth.dev/policy -o yaml | berth check -`,
		Args: argCount(1, -1, "at least one FILE or DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := newEngine(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { _ = e.Close() }() // nothing is in use any more
			c := &checker{io: io, modulePath: modulePath, engine: e}
			for _, arg := range args {
				if err := c.argument(cmd.Context(), arg); err != nil {
					c.problem(arg, err)
				}
			}
			if c.problems > 0 {
				return errReported
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&modulePath, "module", "", "the module of a policy.yaml (default: the one beside it)")
	return cmd
}

// checker checks any number of policies with one engine.
type checker struct {
	io         streams
	modulePath string
	engine     engine.Engine
	problems   int
	names      map[string]string // of one argument's policies: the key of each
}

// problem prints what is wrong, a line for each thing.
func (c *checker) problem(where string, err error) {
	var lines []string
	var inPolicy policy.Problems
	var inModule module.Problems
	switch {
	case errors.As(err, &inPolicy):
		prefix := strings.TrimSuffix(err.Error(), inPolicy.Error())
		for _, p := range inPolicy {
			lines = append(lines, prefix+p.String())
		}
	case errors.As(err, &inModule):
		prefix := strings.TrimSuffix(err.Error(), inModule.Error())
		for _, p := range inModule {
			lines = append(lines, prefix+p)
		}
	default:
		lines = []string{err.Error()}
	}
	for _, line := range lines {
		c.problems++
		fmt.Fprintf(c.io.out, "%s: %s\n", where, printable(oneLine(line)))
	}
}

func (c *checker) warn(where, text string) {
	fmt.Fprintf(c.io.out, "%s: warning: %s\n", where, printable(text))
}

// argument checks all that an argument names.
func (c *checker) argument(ctx context.Context, arg string) error {
	c.names = map[string]string{}
	if info, err := os.Stat(arg); arg != "-" && err == nil && info.IsDir() {
		return c.folder(ctx, arg)
	}
	if isModuleName(arg) {
		wasm, err := readModule(arg, c.io.in)
		if err != nil {
			return err
		}
		return c.module(ctx, arg, wasm, nil)
	}
	text, err := readInput(arg, c.io.in, maxInput)
	if err != nil {
		return err
	}
	return c.manifests(ctx, arg, text)
}

// folder checks a folder with a policy or, if it has no policy.yaml, those in its
// sub-folders: what the scheduler calls a directory of policies.
func (c *checker) folder(ctx context.Context, dir string) error {
	f, err := readFolder(dir)
	if err != nil {
		return err
	}
	if _, ok := f[source.PolicyFile]; !ok {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		found := false
		for _, e := range entries {
			inside := filepath.Join(dir, e.Name())
			if _, err := os.Stat(filepath.Join(inside, source.PolicyFile)); err != nil || strings.HasPrefix(e.Name(), ".") {
				continue
			}
			found = true
			if err := c.folder(ctx, inside); err != nil {
				c.problem(inside, err)
			}
		}
		if found {
			return nil
		}
	}
	c.document(ctx, dir, source.Assemble(folderName(dir), f))
	return nil
}

// policyYAML checks a policy.yaml with the module that goes with it.
func (c *checker) policyYAML(ctx context.Context, arg string, text []byte) error {
	dir := filepath.Dir(arg) // of standard input: the current one
	if c.modulePath != "" {
		wasm, err := readModule(c.modulePath, c.io.in)
		if err != nil {
			return err
		}
		c.document(ctx, arg, source.Assemble(folderName(dir), withModule(text, wasm)))
		return nil
	}
	f, err := readFolder(dir)
	if err != nil {
		return err
	}
	f[source.PolicyFile] = text
	c.document(ctx, arg, source.Assemble(folderName(dir), f))
	return nil
}

// document checks what a source of the scheduler would hand on.
func (c *checker) document(ctx context.Context, where string, doc source.Document) {
	for _, w := range doc.Warnings {
		c.warn(where, w)
	}
	key := cmp.Or(doc.Key, where)
	first, taken := c.names[doc.Name]
	err := doc.Err
	switch {
	case err != nil:
	case taken && first != key:
		err = fmt.Errorf("name: want one that no other policy has, got %q, which is %s", doc.Name, first)
	default:
		c.names[doc.Name] = key
		err = c.module(ctx, where, doc.Module, doc.Policy)
	}
	if err != nil {
		c.problem(where, err)
	}
}

// module does with a module what the scheduler does before a policy becomes
// active. Without a policy the defaults hold and nothing is configured.
func (c *checker) module(ctx context.Context, where string, wasm []byte, p *policy.Policy) error {
	opts := module.Options{Engine: c.engine}
	if p != nil {
		opts.Limits = module.LimitsFor(p)
	}
	m, err := module.Load(ctx, wasm, opts)
	if err != nil {
		return err
	}
	defer func() { _ = m.Close() }() // the engine frees what is left
	for _, w := range m.Warnings {
		c.warn(where, w)
	}
	d, _, err := m.Describe(ctx)
	if err != nil {
		return withOutput(err)
	}
	name := d.Name
	if p != nil {
		if err := module.CheckPolicy(d, p); err != nil {
			return err
		}
		if err := configure(ctx, m, d, p.Config); err != nil {
			return withOutput(err)
		}
		name = p.Name
	}
	fmt.Fprintf(c.io.out, "%s: ok: %s, module %s %s, points %s, %s\n", where, name, printable(d.Name), printable(d.Version), strings.Join(d.Points, ", "), m.Digest)
	return nil
}

// configure gives a fresh guest its config.
func configure(ctx context.Context, m *module.Module, d *abi.Description, config map[string]any) error {
	record, err := module.EncodeConfig(d, config)
	if err != nil {
		return err
	}
	g, err := m.NewInstance(ctx, guest.Options{Strings: intern.New(intern.MaxBytes, intern.MaxCount), Budgets: guest.Budgets{Life: module.LifeFuel}})
	if err != nil {
		return err
	}
	defer func() { _ = g.Close() }() // it was made for this
	return g.Configure(record)
}

// withOutput adds to a fault what the guest printed last, which is where a Go
// guest says why.
func withOutput(err error) error {
	f, ok := guest.AsFault(err)
	if !ok || f.Output == "" {
		return err
	}
	return fmt.Errorf("%w; it printed: %s", err, lastLines(f.Output, 400))
}

// lastLines is the tail of text on one line, from a word's beginning.
func lastLines(text string, most int) string {
	text = oneLine(text)
	if len(text) <= most {
		return text
	}
	text = text[len(text)-most:]
	_, text, _ = strings.Cut(text, " ")
	return "... " + text
}
