// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/berth-scheduler/berth/cmd/berth-lab/install"
	"github.com/berth-scheduler/berth/test/lab"
)

// heartbeat is how often up renews its nodes' conditions, as kubectl describe
// shows them.
const heartbeat = 10 * time.Second

type upOptions struct {
	nodes      int
	zones      []string
	kubeconfig string
	berth      bool
	scheduler  string
	logDir     string
}

func newUpCommand() *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run a cluster until ctrl-C",
		Long: `up starts a cluster with simulated nodes, the stock scheduler and, as a second
one under the schedulerName "berth", berth-scheduler. When all are ready it
prints the path of a kubeconfig on stdout, and on stderr how to use it, and
stays until it is interrupted. There is no controller manager: create pods, not
deployments.`,
		Example: `  # Ten nodes in three zones, until ctrl-C
  berth-lab up

  # A larger one, its kubeconfig in a file of your choice
  berth-lab up --nodes 200 --zones a,b,c,d --kubeconfig lab.kubeconfig

  # Only the stock scheduler, with the logs kept
  berth-lab up --berth=false --log-dir logs`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.nodes < 0 || len(o.zones) == 0 {
				return fmt.Errorf("want --nodes of 0 or more and at least one of --zones, got %d and %q", o.nodes, o.zones)
			}
			return cobra.NoArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return up(cmd, o) },
	}
	flags := cmd.Flags()
	flags.IntVar(&o.nodes, "nodes", 10, "number of nodes")
	flags.StringSliceVar(&o.zones, "zones", []string{"zone-a", "zone-b", "zone-c"}, "zones, which the nodes are spread over")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "file to write the kubeconfig to, removed at the end (default a temporary one)")
	flags.BoolVar(&o.berth, "berth", true, "run berth-scheduler as a second scheduler")
	flags.StringVar(&o.scheduler, "scheduler-binary", beside("berth-scheduler"), "executable of berth-scheduler")
	flags.StringVar(&o.logDir, "log-dir", "", "directory that gets and keeps the logs (default a temporary one)")
	return cmd
}

func up(cmd *cobra.Command, o upOptions) (err error) {
	ctx := cmd.Context()
	stderr := cmd.ErrOrStderr()
	progress := newProgress(stderr)
	if o.berth {
		if err := mustExist(o.scheduler, "scheduler-binary", "build"); err != nil {
			return err
		}
	}
	if o.kubeconfig != "" {
		if err := mayWriteKubeconfig(o.kubeconfig); err != nil {
			return err
		}
	}

	progress("starting etcd and kube-apiserver")
	c, err := lab.Start(ctx, lab.Options{LogDir: o.logDir})
	if err != nil {
		return err
	}
	defer func() {
		progress("stopping")
		err = errors.Join(err, c.Stop())
	}()
	if err := c.CreateNodes(ctx, lab.Nodes("node", o.nodes, lab.Zones(o.zones...))); err != nil {
		return err
	}
	if err := c.StartKubelet(lab.KubeletOptions{Heartbeat: heartbeat}); err != nil {
		return err
	}
	progress("%d nodes in %d zones", o.nodes, len(o.zones))
	stock, err := c.StartScheduler(ctx, lab.SchedulerOptions{})
	if err != nil {
		return err
	}
	progress("stock scheduler is ready, pid %d", stock.PID())
	berth := stock
	if o.berth {
		if berth, err = install.Start(ctx, c, o.scheduler); err != nil {
			return err
		}
		progress("berth-scheduler is ready, pid %d", berth.PID())
	}

	kubeconfig := c.Kubeconfig
	if o.kubeconfig != "" {
		if err := copyFile(o.kubeconfig, c.Kubeconfig); err != nil {
			return err
		}
		defer os.Remove(o.kubeconfig)
		kubeconfig = o.kubeconfig
	}
	fmt.Fprint(stderr, usage(kubeconfig, c.LogDir, o.berth))
	fmt.Fprintln(cmd.OutOrStdout(), kubeconfig)

	select {
	case <-ctx.Done():
		return nil
	case <-stock.Done():
		return ended("the stock scheduler", stock)
	case <-berth.Done():
		return ended("berth-scheduler", berth)
	}
}

// ended says how a scheduler that should run has ended.
func ended(name string, s *lab.Scheduler) error {
	how := "exit status 0"
	if err := s.Wait(context.Background()); err != nil {
		how = err.Error()
	}
	return fmt.Errorf("%s has ended: %s; %s", name, how, s.LogTail())
}

func usage(kubeconfig, logDir string, berth bool) string {
	s := fmt.Sprintf(`
  export KUBECONFIG=%s
  kubectl get nodes
  kubectl run web --image=nginx
`, kubeconfig)
	if berth {
		s += fmt.Sprintf(`
  A pod for Berth, a policy, and what became of it:
  kubectl run app --image=nginx --overrides='{"spec":{"schedulerName":%q}}'
  berth pack policy.yaml policy.wasm | kubectl apply --server-side -n %s -f -
  kubectl -n %s get configmap berth-status -o yaml
`, install.SchedulerName, install.Namespace, install.StateNamespace)
	}
	return s + fmt.Sprintf("\n  Logs are in %s. Ctrl-C ends the cluster and removes it.\n\n", logDir)
}

// mayWriteKubeconfig refuses to overwrite a file that isn't an earlier lab's, and
// one in a directory that doesn't exist, before the cluster is started for nothing.
func mayWriteKubeconfig(file string) error {
	if _, err := os.Lstat(file); errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat(filepath.Dir(file)); err != nil {
			return fmt.Errorf("kubeconfig %q: %w", file, err)
		}
		return nil
	}
	config, err := clientcmd.LoadFromFile(file)
	if err == nil && len(config.Clusters) == 1 && config.Clusters[lab.KubeconfigName] != nil {
		return nil
	}
	return fmt.Errorf("kubeconfig %q: exists and isn't one of berth-lab: choose another file", file)
}

func copyFile(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}
