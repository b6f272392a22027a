// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
)

// PreFilterPlugin looks at a pod before any node. It may keep what it finds out
// with Cycle.SetState, reject the pod, or narrow the nodes that are tried.
type PreFilterPlugin interface {
	// PreFilter returns the nodes to consider, nil for all.
	PreFilter(c *Cycle, pod Pod) (*NodeSet, *Status)
}

// PreFilterNodesPlugin is a PreFilter that needs every node of the cluster, as
// for counting what runs where. The host hands the nodes out in chunks; what
// Begin set as state is there in Node and End. It costs work for each node in
// each cycle: prefer PreFilterPlugin where that will do.
type PreFilterNodesPlugin interface {
	// PreFilterBegin is called before the first node.
	PreFilterBegin(c *Cycle, pod Pod) *Status
	// PreFilterNode is called for each node. Skip leaves the node out of those
	// to consider; any other status but Success ends the pod's cycle.
	PreFilterNode(c *Cycle, pod Pod, node Node) *Status
	// PreFilterEnd is called after the last node.
	PreFilterEnd(c *Cycle, pod Pod) *Status
}

// PreFilterExtensions keep cycle state right while the scheduler tries what
// would be if a pod came or went: in preemption, and for pods that are nominated
// to a node. State that nodes' pods have no part in needs none.
type PreFilterExtensions interface {
	// AddPod is told that other would be on node, which doesn't hold it yet.
	AddPod(c *Cycle, pod, other Pod, node Node) *Status
	// RemovePod is told that other would be gone from node.
	RemovePod(c *Cycle, pod, other Pod, node Node) *Status
}

// NodeSet is a set of nodes, by name. The empty set is no node: the pod is then
// unschedulable. A nil *NodeSet is every node.
type NodeSet struct{ names []string }

// Nodes returns the set of the named nodes. Names of nodes that don't exist are
// no error.
func Nodes(names ...string) *NodeSet { return &NodeSet{names} }

// Add adds a node.
func (s *NodeSet) Add(name string) { s.names = append(s.names, name) }

func (g *guest) preFilter(f frame) bool {
	set, s := g.plugin.preFilter.PreFilter(&g.cycle, f.pod())
	if set != nil && s.IsSuccess() {
		g.list = g.list[:0]
		for _, name := range set.names {
			g.list = append(g.list, refTo(name))
		}
		if n := len(g.list); n > 0 {
			setU32(f.result, abi.ResultListPtr, address(unsafe.Pointer(&g.list[0]), n*abi.StringRefSize))
			setU32(f.result, abi.ResultListLen, uint32(n))
		}
		setU32(f.result, abi.ResultListSet, 1)
	}
	f.state(g.cycle.handle)
	f.done(s)
	return true
}

func (g *guest) preFilterNodes(f frame, phase abi.Phase) bool {
	p, c := g.plugin.preFilterNodes, &g.cycle
	var s *Status
	switch phase {
	case abi.Begin:
		s = p.PreFilterBegin(c, f.pod())
	case abi.Chunk:
		f.items(abi.VerdictSize)
		for i := range f.nodes() {
			f.verdict(i, p.PreFilterNode(c, f.pod(), f.node(i)))
		}
	case abi.End:
		s = p.PreFilterEnd(c, f.pod())
	default:
		return false
	}
	f.state(c.handle)
	f.done(s)
	return true
}

func (g *guest) addPod(f frame) bool {
	f.done(g.plugin.preFilterExt.AddPod(&g.cycle, f.pod(), f.other(), f.node(0)))
	return true
}

func (g *guest) removePod(f frame) bool {
	f.done(g.plugin.preFilterExt.RemovePod(&g.cycle, f.pod(), f.other(), f.node(0)))
	return true
}
