// SPDX-License-Identifier: Apache-2.0

//go:build berth_without_group_preemption

package berth

import "github.com/berth-scheduler/berth/abi"

type groupPreemptionPlugin struct{}

var groupPreemptionPoints []servedPoint

func (*groupPreemptionPlugin) find(any)                  {}
func (*groupPreemptionPlugin) implements(abi.Point) bool { return false }
func (*guest) answerGroupPreemption(frame) bool          { return false }
