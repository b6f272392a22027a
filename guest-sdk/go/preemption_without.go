// SPDX-License-Identifier: Apache-2.0

//go:build berth_without_preemption

package berth

import "github.com/berth-scheduler/berth/abi"

type preemptionPlugin struct{}

var preemptionPoints []servedPoint

func (*preemptionPlugin) find(any)                  {}
func (*preemptionPlugin) implements(abi.Point) bool { return false }
func (*guest) answerPreemption(frame) bool          { return false }
