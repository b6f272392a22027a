// SPDX-License-Identifier: Apache-2.0

//go:build berth_without_queue

package berth

import "github.com/berth-scheduler/berth/abi"

type queuePlugin struct{}

var queuePoints []servedPoint

func (*queuePlugin) find(any)                  {}
func (*queuePlugin) implements(abi.Point) bool { return false }
func (*guest) answerQueue(frame) bool          { return false }
