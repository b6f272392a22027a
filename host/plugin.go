// SPDX-License-Identifier: Apache-2.0

package host

import (
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
