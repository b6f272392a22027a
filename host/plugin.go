// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// Berth is the framework plugin of one profile. With nothing to say it is
// invisible: what each point answers then is said at the point.
type Berth struct {
	host    *Host
	handle  fwk.Handle
	profile string
}

var (
	_ fwk.PreEnqueuePlugin         = &Berth{}
	_ fwk.EnqueueExtensions        = &Berth{}
	_ fwk.PreFilterPlugin          = &Berth{}
	_ fwk.PreFilterExtensions      = &Berth{}
	_ fwk.FilterPlugin             = &Berth{}
	_ fwk.PostFilterPlugin         = &Berth{}
	_ fwk.PreScorePlugin           = &Berth{}
	_ fwk.ScorePlugin              = &Berth{}
	_ fwk.ScoreExtensions          = &Berth{}
	_ fwk.ReservePlugin            = &Berth{}
	_ fwk.PermitPlugin             = &Berth{}
	_ fwk.PreBindPlugin            = &Berth{}
	_ fwk.BindPlugin               = &Berth{}
	_ fwk.PostBindPlugin           = &Berth{}
	_ fwk.SignPlugin               = &Berth{}
	_ fwk.PodGroupPostFilterPlugin = &Berth{}
	_ fwk.PlacementScorePlugin     = &Berth{}
	_ fwk.PlacementScoreExtensions = &Berth{}
)

// Name is the plugin's name.
func (b *Berth) Name() string { return Name }

// PreBindPreFlight has no work in PreBind and doesn't stand in the way of
// plugins that run in parallel.
func (b *Berth) PreBindPreFlight(context.Context, fwk.CycleState, *v1.Pod, string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	return &fwk.PreBindPreFlightResult{AllowParallel: true}, fwk.NewStatus(fwk.Skip)
}

// PreBind has nothing to do.
func (b *Berth) PreBind(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status { return nil }

// Bind leaves the pod to the next plugin.
func (b *Berth) Bind(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status {
	return fwk.NewStatus(fwk.Skip)
}

// PostBind ends the cycle and forgets why the pod was rejected before.
func (b *Berth) PostBind(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ string) {
	b.host.rejections.forget(pod.UID)
	b.host.evictor.Forget(pod.UID)
	if cs := stateOf(state); cs != nil {
		cs.end()
	}
}
