// SPDX-License-Identifier: Apache-2.0

// Package install puts berth-scheduler into a lab's cluster by the same files
// that put it into a real one: those of the folder config.
package install

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-scheduler/berth/config"
	"github.com/berth-scheduler/berth/test/lab"
)

// Names that the files in config give.
const (
	// Namespace is where policies are.
	Namespace = "berth-system"
	// StateNamespace is where berth-scheduler writes.
	StateNamespace = "berth-state"
	// SchedulerName is the schedulerName of pods that Berth places.
	SchedulerName = "berth"

	account = "berth-scheduler"
)

// Start makes what berth-scheduler needs and starts the executable as a child
// process under its service account. It is the only replica, so it starts
// without waiting for a lease, and a slow machine cannot make it lose one.
func Start(ctx context.Context, c *lab.Cluster, binary string) (*lab.Scheduler, error) {
	if err := errors.Join(c.Apply(ctx, config.Namespaces), c.Apply(ctx, config.RBAC)); err != nil {
		return nil, fmt.Errorf("install berth: %w", err)
	}
	kubeconfig, err := c.ServiceAccountKubeconfig(ctx, Namespace, account)
	if err != nil {
		return nil, fmt.Errorf("install berth: %w", err)
	}
	return c.StartScheduler(ctx, lab.SchedulerOptions{
		Name:       "berth-scheduler",
		Binary:     binary,
		ConfigYAML: string(config.SchedulerConfig),
		Kubeconfig: kubeconfig,
		Args:       []string{"--leader-elect=false"},
	})
}
