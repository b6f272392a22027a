// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// Name is the name by which a scheduler configuration enables the plugin.
const Name = "Berth"

// Options are the settings of a process; everything else is in the plugin's
// arguments.
type Options struct {
	// SuspendAll starts with every policy off.
	SuspendAll bool
}

// Host is the state of one scheduler.
type Host struct {
	options Options
}

// New returns a Host for one scheduler.
func New(options Options) *Host {
	return &Host{options: options}
}

// Registry returns the factories of the host's plugins by name.
func (h *Host) Registry() frameworkruntime.Registry {
	return frameworkruntime.Registry{
		Name: func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
			return plugin{}, nil
		},
	}
}

// SetLeading tells the host whether this process may write.
func (h *Host) SetLeading(bool) {}

// Close frees what the host holds.
func (h *Host) Close() {}

type plugin struct{}

// Name returns the plugin's name.
func (plugin) Name() string { return Name }
