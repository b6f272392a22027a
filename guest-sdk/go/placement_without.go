// SPDX-License-Identifier: Apache-2.0

//go:build berth_without_placement

package berth

import "github.com/berth-scheduler/berth/abi"

type placementPlugin struct{}

var placementPoints []servedPoint

func (*placementPlugin) find(any)                  {}
func (*placementPlugin) implements(abi.Point) bool { return false }
func (*guest) answerPlacement(frame) bool          { return false }
