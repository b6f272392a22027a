// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/tools/cache"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/term"
	"k8s.io/component-base/version/verflag"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"

	"github.com/berth-scheduler/berth/host"
)

const commandName = "berth-scheduler"

// version is what -ldflags "-X main.version=v1.2.3" sets; else it is the
// module's version that Go recorded, if any.
var version string

const longHelp = `Berth is a kube-scheduler whose policies are WebAssembly modules. They arrive
in ConfigMaps or files, are checked, and take effect while pods keep being
scheduled; neither a rebuild nor a restart is needed.

Flags and the configuration file are those of kube-scheduler. The plugin is
enabled in the configuration file by the name Berth; its own settings are the
arguments (kind BerthArgs) under pluginConfig. The flags under "Berth flags"
below come on top.

Run it beside kube-scheduler under another schedulerName, or in its place.

Examples:
  # As a second scheduler, with the profiles of a file
  berth-scheduler --config=scheduler-config.yaml

  # The same, with what was compiled kept for the next start
  berth-scheduler --config=scheduler-config.yaml --berth-cache-dir=/var/cache/berth/modules

  # From a workstation; --kubeconfig is read only if there is no --config
  berth-scheduler --kubeconfig=$HOME/.kube/config --leader-elect=false

  # Something is wrong with a policy: start with all of them off
  berth-scheduler --config=scheduler-config.yaml --berth-suspend-all

  # In place of the cluster's kube-scheduler, and under its lease
  berth-scheduler --config=scheduler-config.yaml --berth-allow-kube-scheduler-lease \
      --leader-elect-resource-name=kube-scheduler

  # See the configuration with every default filled in; --master is not called
  berth-scheduler --config=scheduler-config.yaml --master=http://localhost \
      --write-config-to=effective.yaml

  # Completion for this shell
  source <(berth-scheduler completion bash)`

// ownFlags are the flags that kube-scheduler doesn't have.
type ownFlags struct {
	suspendAll              bool
	allowKubeSchedulerLease bool
	cacheDir                string
}

// addTo puts the flags into a section of their own.
func (f *ownFlags) addTo(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet("Berth")
	fs.BoolVar(&f.suspendAll, "berth-suspend-all", false,
		"Start with all policies off: pods are scheduled as if there were none. It takes a restart without the flag to end this.")
	fs.BoolVar(&f.allowKubeSchedulerLease, "berth-allow-kube-scheduler-lease", false,
		"Allow leader election under the lease name \"kube-scheduler\". Give it only where Berth replaces the cluster's kube-scheduler: of two schedulers that share a lease, one stands still.")
	fs.StringVar(&f.cacheDir, "berth-cache-dir", "",
		"Directory that keeps compiled policies, so that a restart needn't compile them. What is in it runs as native code: it is made with mode 0700, and refused if others may enter it. Empty keeps them in memory.")
}

// newCommand returns the command. Like upstream's it may be executed once in a
// process, since feature gates and the signal handler are global.
func newCommand() *cobra.Command {
	opts := options.NewOptions()
	own := &ownFlags{}

	cmd := &cobra.Command{
		Use:               commandName,
		Long:              longHelp,
		SilenceUsage:      true, // some 150 lines, after which nobody finds the error
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return opts.ComponentGlobalsRegistry.Set()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd, opts, own)
		},
	}

	sections := opts.Flags
	own.addTo(sections)
	verflag.AddFlags(sections.FlagSet("global"))
	globalflag.AddGlobalFlags(sections.FlagSet("global"), cmd.Name(), logs.SkipLoggingConfigurationFlags())
	for _, name := range sections.Order {
		cmd.Flags().AddFlagSet(sections.FlagSets[name])
	}
	setDefaultLease(opts)

	// Only the scheduler itself has the flags that upstream's help prints.
	subcommandHelp, subcommandUsage := cmd.HelpFunc(), cmd.UsageFunc()
	columns, _, _ := term.TerminalSize(cmd.OutOrStdout())
	cliflag.SetUsageAndHelpFunc(cmd, *sections, columns)
	help, usage := cmd.HelpFunc(), cmd.UsageFunc()
	cmd.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c == cmd {
			help(c, args)
			return
		}
		subcommandHelp(c, args)
	})
	cmd.SetUsageFunc(func(c *cobra.Command) error {
		if c == cmd {
			return usage(c)
		}
		return subcommandUsage(c)
	})

	if err := cmd.MarkFlagFilename("config", "yaml", "yml", "json"); err != nil {
		panic(err) // the flag is upstream's; its absence is a build against another version
	}
	return cmd
}

// run is the life of the process from parsed flags to termination. It returns
// nil after a requested termination. With leader election upstream ends the
// process itself when the election ends, so nothing may depend on what is
// deferred here.
func run(cmd *cobra.Command, opts *options.Options, own *ownFlags) error {
	if printedVersion(cmd) {
		return nil
	}
	gate := opts.ComponentGlobalsRegistry.FeatureGateFor(basecompatibility.DefaultKubeComponent)
	if err := logsapi.ValidateAndApply(opts.Logs, gate); err != nil {
		return err
	}
	if err := chooseLease(opts, gate, own.allowKubeSchedulerLease); err != nil {
		return err
	}
	cliflag.PrintFlags(cmd.Flags())

	informerName, err := cache.NewInformerName(commandName)
	if err != nil {
		return err
	}
	opts.InformerName = informerName

	ctx := server.SetupSignalContext()
	h := host.New(host.Options{SuspendAll: own.suspendAll, CacheDir: own.cacheDir})
	defer h.Close()
	var plugins []app.Option
	for name, factory := range h.Registry() {
		plugins = append(plugins, app.WithPlugin(name, factory))
	}
	config, scheduler, err := app.Setup(ctx, opts, plugins...)
	if err != nil {
		return err
	}
	h.SetProfiles(config.ComponentConfig.Profiles)
	if mutable, ok := gate.(featuregate.MutableFeatureGate); ok {
		mutable.AddMetrics()
	}
	opts.ComponentGlobalsRegistry.AddMetrics()

	if config.LeaderElection != nil {
		config.LeaderElection.Lock = watchLock(config.LeaderElection.Lock, h.SetLeading)
	} else {
		h.SetLeading(true)
	}
	err = app.Run(ctx, config, scheduler)
	if ctx.Err() != nil {
		return nil // asked to end; upstream calls that "finished without leader elect"
	}
	return err
}

// printedVersion answers --version, and --version=raw as upstream does. The
// Kubernetes version is the module's: the version package knows it only when
// the linker is told.
func printedVersion(cmd *cobra.Command) bool {
	if flag := cmd.Flags().Lookup("version"); flag.Value.String() != "true" {
		verflag.PrintAndExitIfRequested()
		return false
	}
	berth, kubernetes := version, "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok {
		if berth == "" {
			berth = info.Main.Version
		}
		for _, module := range info.Deps {
			if module.Path == "k8s.io/kubernetes" {
				kubernetes = module.Version
			}
		}
	}
	if berth == "" {
		berth = "(devel)"
	}
	fmt.Fprintf(os.Stdout, "%s %s, Kubernetes %s, %s\n", commandName, berth, kubernetes, runtime.Version())
	return true
}
