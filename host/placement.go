// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/topologyaware"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/guest"
	"github.com/berth-scheduler/berth/host/policy"
)

// PlacementName is the name by which a scheduler configuration enables the
// plugin that proposes sets of nodes for pod groups. A profile may have one such
// plugin, so it stands in the place of the in-tree one, which it asks itself
// when no policy has anything to say.
const PlacementName = "BerthPlacement"

// BerthPlacement is that plugin in one profile.
type BerthPlacement struct {
	host   *Host
	handle fwk.Handle
	inTree fwk.PlacementGeneratePlugin
}

var _ fwk.PlacementGeneratePlugin = &BerthPlacement{}

// newPlacement makes the plugin of a profile. Policies are loaded by the plugin
// Berth: where that one isn't enabled there are none.
func (h *Host) newPlacement(ctx context.Context, _ runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	inTree, err := topologyaware.New(ctx, nil, handle, feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate))
	if err != nil {
		return nil, err
	}
	return &BerthPlacement{h, handle, inTree}, nil
}

// Name is the plugin's name.
func (p *BerthPlacement) Name() string { return PlacementName }

// GeneratePlacements asks the policies that implement generate_placements, in
// order. The first that doesn't skip proposes the placements, or turns the group
// down. If all skip, the placements are those of the in-tree plugin.
func (p *BerthPlacement) GeneratePlacements(ctx context.Context, state fwk.PodGroupCycleState, info fwk.PodGroupInfo, parent *fwk.Placement) (*fwk.GeneratePlacementsResult, *fwk.Status) {
	cs, err := p.host.beginGroup(state, p.handle.ProfileName(), p.handle, info)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	if cs != nil {
		for _, pod := range cs.pods {
			p.host.rejections.clear(pod)
		}
		for i, cp := range cs.policies {
			if !cp.points[abi.GeneratePlacements] {
				continue
			}
			placements, verdict, f := cp.generate(cs, i, parent)
			switch {
			case f != nil:
				if s := cp.onFault(abi.GeneratePlacements, f); s != nil {
					return nil, s
				}
			case verdict.Code == abi.Success:
				if len(placements) == 0 {
					p.host.recordGroup(cs.cycle, cp)
				}
				return &fwk.GeneratePlacementsResult{Placements: placements}, nil
			case verdict.Code == abi.Skip, verdict.Code == abi.Error && cp.policy.OnFailure(abi.GeneratePlacements) == policy.Ignore:
			default:
				if verdict.Code == abi.Unschedulable {
					p.host.recordGroup(cs.cycle, cp)
				}
				return nil, status(verdict)
			}
		}
	}
	return p.inTree.GeneratePlacements(ctx, state, info, parent)
}

// recordGroup notes for each pod of a group which policy turned the group down,
// as record does for one pod.
func (h *Host) recordGroup(c *cycle, cp *cyclePolicy) {
	var again []*v1.Pod
	for _, pod := range c.pods {
		if h.rejections.add(pod, cp.entry) && h.outdated(c, cp) {
			again = append(again, pod)
		}
	}
	h.activate(again)
}

// generate asks one policy: begin with the group, the nodes of the parent
// placement in chunks, and end, which has the placements. A skip may come
// early.
func (cp *cyclePolicy) generate(cs *cycleState, i int, parent *fwk.Placement) ([]*fwk.Placement, guest.Verdict, *guest.Fault) {
	c, v := cs.cycle, cp.version
	v.mu.Lock()
	defer v.mu.Unlock()
	if f := cp.enter(c, abi.GeneratePlacements); f != nil {
		return nil, guest.Verdict{}, f
	}
	placements, err := func() ([]*fwk.Placement, error) {
		arg, err := c.groupArg(true, nil)
		if err != nil {
			return nil, err
		}
		if err := cp.groupCall(cs, i, &guest.Call{Point: abi.GeneratePlacements, Phase: abi.Begin, Arg: arg}); err != nil || v.result.Code != abi.Success {
			return nil, err
		}
		for from := 0; from < len(parent.Nodes); from += maxChunk {
			if err := cp.refs(c, parent.Nodes[from:min(from+maxChunk, len(parent.Nodes))]); err != nil {
				return nil, err
			}
			if err := cp.groupCall(cs, i, &guest.Call{Point: abi.GeneratePlacements, Phase: abi.Chunk, Nodes: v.refBuf}); err != nil || v.result.Code != abi.Success {
				return nil, err
			}
		}
		if err := cp.groupCall(cs, i, &guest.Call{Point: abi.GeneratePlacements, Phase: abi.End}); err != nil || v.result.Code != abi.Success {
			return nil, err
		}
		list, _ := v.result.Reply.Get("placements")
		placements, err := readPlacements(list, parent)
		if err != nil {
			return nil, &guest.Fault{Cause: guest.BadResult, Err: err}
		}
		return placements, nil
	}()
	if err != nil {
		return nil, guest.Verdict{}, cp.charge(c, abi.GeneratePlacements, err)
	}
	return placements, v.result.Verdict, nil
}

// groupCall is a call at one of a group's own points. The state that the guest
// sets is the group's: its later points get it.
func (cp *cyclePolicy) groupCall(cs *cycleState, i int, call *guest.Call) error {
	call.State = cs.states[i]
	if err := cp.call(cs.cycle, call); err != nil {
		return err
	}
	if s := cp.version.result.State; s != 0 {
		cs.states[i], cp.states = s, true
	}
	return nil
}

// placementKeys are the keys of a proposed placement.
var placementKeys = []abi.KeyInfo{{Key: "name", Type: "string", Required: true}, {Key: "nodes", Type: "list of strings", Required: true}}

// readPlacements checks what a guest proposed: names that are unique, and nodes
// of the parent placement, none of them twice in a placement.
func readPlacements(list abi.Value, parent *fwk.Placement) ([]*fwk.Placement, error) {
	nodes := make(map[string]fwk.NodeInfo, len(parent.Nodes))
	for _, ni := range parent.Nodes {
		nodes[ni.Node().Name] = ni
	}
	names := make(map[string]bool, list.Len())
	var placements []*fwk.Placement
	for i := range list.Len() {
		item := list.At(i)
		if err := abi.CheckKeys(item, placementKeys); err != nil {
			return nil, fmt.Errorf("placement %d: %w", i, err)
		}
		value, _ := item.Get("name")
		name := value.Text()
		switch {
		case name == "" || len(name) > abi.MaxNameBytes:
			return nil, fmt.Errorf("placement %d: name: want 1 to %d bytes, got %d", i, abi.MaxNameBytes, len(name))
		case names[name]:
			return nil, fmt.Errorf("placement %q: want one of the name, got two", name)
		}
		names[name] = true
		of, _ := item.Get("nodes")
		placement := &fwk.Placement{Name: name, Nodes: make([]fwk.NodeInfo, 0, of.Len())}
		has := make(map[string]bool, of.Len())
		for j := range of.Len() {
			node := of.At(j).Text()
			ni, ok := nodes[node]
			switch {
			case !ok:
				return nil, fmt.Errorf("placement %q: want nodes of the frame, got %q", name, node)
			case has[node]:
				return nil, fmt.Errorf("placement %q: want each node once, got %q twice", name, node)
			}
			has[node] = true
			placement.Nodes = append(placement.Nodes, ni)
		}
		if len(placement.Nodes) == 0 {
			return nil, fmt.Errorf("placement %q: want nodes, got none", name)
		}
		placements = append(placements, placement)
	}
	return placements, nil
}
