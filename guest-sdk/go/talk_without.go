// SPDX-License-Identifier: Apache-2.0

//go:build berth_without_preemption

package berth

import (
	"iter"

	"github.com/berth-scheduler/berth/abi"
)

type preemptionPlugin struct{}

var preemptionPoints []servedPoint

func (*preemptionPlugin) find(any)                  {}
func (*preemptionPlugin) implements(abi.Point) bool { return false }
func (*guest) answerPreemption(frame) bool          { return false }
func (*guest) endTalk(uint64)                       {}

// talk is never begun.
type talk struct {
	frame frame
	asked int
}

func (*talk) ask(string, func(*abi.ValueWriter, int)) {}
func (*talk) nodes([]string) iter.Seq[Node]           { return func(func(Node) bool) {} }
func (*talk) dryRun([]Trial) []*Status                { return nil }
