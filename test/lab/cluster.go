// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Options configures Start. The zero value is a cluster that leaves nothing
// behind.
type Options struct {
	// LogDir receives the logs of everything the cluster runs. It is created
	// if missing and kept by Stop. Empty means a directory that Stop removes.
	LogDir string
	// Workloads serves scheduling.k8s.io/v1beta1 and v1alpha3, whose pod groups
	// are scheduled as a whole. Feature gates are one set a process: with it they
	// stay on for the clusters that are started later.
	Workloads bool
}

// WorkloadGates are the feature gates that Options.Workloads turns on in the API
// server, as a scheduler's flag --feature-gates takes them.
const WorkloadGates = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"

// Cluster is a running etcd and kube-apiserver. Its methods may be called
// concurrently.
type Cluster struct {
	// Config is the administrator's client configuration, without rate limit.
	Config *rest.Config
	// Client is a clientset made of Config.
	Client kubernetes.Interface
	// Kubeconfig is the path of a file equivalent to Config.
	Kubeconfig string
	// LogDir holds apiserver.log, etcd.log and a log for each scheduler.
	LogDir string

	dir string // private files; removed by Stop
	ca  *authority

	mu      sync.Mutex
	stops   []func() error // run last to first by Stop
	stopped bool

	stopOnce sync.Once
	stopErr  error
}

// errStopped is returned by whatever would start something in a cluster that
// has ended.
var errStopped = errors.New("cluster is stopped")

// Start brings up etcd and the API server and returns when /readyz answers and
// the namespaces of a new cluster exist, which takes about four seconds. The
// cluster ends when ctx does; call Stop also then, to wait for the end.
//
// The log of the API server is what this process writes with klog, which is
// one stream a process: while any cluster runs, klog is written to the
// apiserver.log of every running cluster, and never to the terminal.
func Start(ctx context.Context, opts Options) (_ *Cluster, err error) {
	dir, err := os.MkdirTemp("", "berth-lab-")
	if err != nil {
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	c := &Cluster{dir: dir, LogDir: opts.LogDir}
	c.onStop(func() error { return os.RemoveAll(dir) })
	defer func() {
		if err != nil {
			err = fmt.Errorf("start cluster: %w", errors.Join(err, c.Stop()))
		}
	}()

	if c.LogDir == "" {
		c.LogDir = filepath.Join(dir, "logs")
	}
	if err := os.MkdirAll(c.LogDir, 0o700); err != nil {
		return nil, err
	}
	detach, err := klogTo(filepath.Join(c.LogDir, "apiserver.log"))
	if err != nil {
		return nil, err
	}
	c.onStop(detach)

	if c.ca, err = newAuthority("berth-lab"); err != nil {
		return nil, err
	}
	etcd, err := startEtcd(ctx, dir, filepath.Join(c.LogDir, "etcd.log"))
	if err != nil {
		return nil, err
	}
	c.onStop(etcd.stop)

	server, err := startAPIServer(ctx, dir, etcd.url, c.ca, opts.Workloads)
	if err != nil {
		return nil, err
	}
	c.onStop(server.stop)

	if err := c.connect(server.url); err != nil {
		return nil, err
	}
	// An API server that is stopped before its hooks have run ends the process,
	// so it is let come up whether or not it is still wanted.
	if err := waitReady(context.WithoutCancel(ctx), c.Client, server.done); err != nil {
		return nil, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = c.Stop() })
	return c, nil
}

// Stop ends the schedulers, the kubelet, the API server and etcd in that order,
// removes the cluster's files and returns what went wrong. Later calls wait for
// the first and return the same.
func (c *Cluster) Stop() error {
	c.stopOnce.Do(func() {
		c.mu.Lock()
		c.stopped = true
		stops := c.stops
		c.mu.Unlock()
		var errs []error
		for i := len(stops) - 1; i >= 0; i-- {
			errs = append(errs, stops[i]())
		}
		c.stopErr = errors.Join(errs...)
	})
	return c.stopErr
}

// onStop registers what Stop has to undo and reports whether there is still a
// cluster to register with; when there isn't, the caller undoes it.
func (c *Cluster) onStop(f func() error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return false
	}
	c.stops = append(c.stops, f)
	return true
}
