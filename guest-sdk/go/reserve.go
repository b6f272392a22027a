// SPDX-License-Identifier: Apache-2.0

package berth

// ReservePlugin keeps account of the nodes that pods were given.
type ReservePlugin interface {
	// Reserve is told that the pod was given the node. A status but Success takes
	// it away again.
	Reserve(c *Cycle, pod Pod, node Node) *Status
	// Unreserve undoes Reserve after any later failure. It may come without a
	// Reserve, and twice.
	Unreserve(c *Cycle, pod Pod, node string)
}
