// SPDX-License-Identifier: Apache-2.0

//go:build berth_without_binding

package berth

import "github.com/berth-scheduler/berth/abi"

type bindingPlugin struct{}

var bindingPoints []servedPoint

func (*bindingPlugin) find(any)                  {}
func (*bindingPlugin) implements(abi.Point) bool { return false }
func (*guest) answerBinding(frame) bool          { return false }
