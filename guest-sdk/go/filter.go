// SPDX-License-Identifier: Apache-2.0

package berth

import "github.com/berth-scheduler/berth/abi"

// FilterPlugin says which nodes a pod may run on.
type FilterPlugin interface {
	// Filter answers for one node. Cycle state may only be read. The host asks
	// for several nodes in one call, in any order, and keeps the answers for the
	// cycle.
	Filter(c *Cycle, pod Pod, node Node) *Status
}

func (g *guest) filter(f frame) bool {
	f.items(abi.VerdictSize)
	pod := f.pod()
	for i := range f.nodes() {
		f.verdict(i, g.plugin.filter.Filter(&g.cycle, pod, f.node(i)))
	}
	f.done(nil)
	return true
}
