// SPDX-License-Identifier: Apache-2.0

//go:build berth_without_preemption && berth_without_group_preemption

package berth

import (
	"iter"

	"github.com/berth-scheduler/berth/abi"
)

// talk is never begun.
type talk struct {
	frame frame
	asked int
}

type talking struct{}

func (*guest) endTalk(uint64) {}

func (*talk) ask(string, func(*abi.ValueWriter, int)) {}
func (*talk) nodes([]string) iter.Seq[Node]           { return func(func(Node) bool) {} }
func (*talk) dryRun([]Trial) []*Status                { return nil }
