// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"slices"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/guest"
	"github.com/berth-scheduler/berth/host/policy"
)

// bindingPoints run, or may run, beside the serial cycles: the snapshot of nodes
// isn't theirs to read, and what belongs between cycles isn't theirs to do.
var bindingPoints = []abi.Point{abi.Unreserve, abi.PreBindPreFlight, abi.PreBind, abi.Bind, abi.PostBind}

// toldPoints are told what has happened, whatever went wrong before: without the
// cycle's state if it is lost, and after faults.
var toldPoints = []abi.Point{abi.Unreserve, abi.PostBind}

// stateful are the points from Reserve on that fail without the cycle's state, if
// it had one.
var stateful = []abi.Point{abi.Reserve, abi.Permit, abi.PreBindPreFlight, abi.PreBind, abi.Bind}

// place is the node that a pod was given.
type place struct {
	arg  []byte       // the record of its name
	node fwk.NodeInfo // of the snapshot; nil beside the serial cycles
}

// implements says whether a policy of the cycle has a point.
func (c *cycle) implements(p abi.Point) bool {
	return slices.ContainsFunc(c.policies, func(cp *cyclePolicy) bool { return cp.version != nil && cp.points[p] })
}

// placeOf finds the node in the snapshot, too, for points of the serial cycle.
func (b *Berth) placeOf(p abi.Point, name string) (*place, error) {
	arg, err := abi.EncodeValue(map[string]any{"node": name})
	if err != nil || slices.Contains(bindingPoints, p) {
		return &place{arg: arg}, err
	}
	ni, err := b.handle.SnapshotSharedLister().NodeInfos().Get(name)
	if err != nil {
		return nil, fmt.Errorf("%s: node %q: %w", p, name, err)
	}
	return &place{arg, ni}, nil
}

// ask calls a point from Reserve on. The caller holds mu; the answer is in
// version.result.
func (cp *cyclePolicy) ask(cs *cycleState, i int, p abi.Point, at *place) *guest.Fault {
	state, f := cp.resume(cs, i, p)
	if f != nil {
		return f
	}
	v := cp.version
	err := func() error {
		v.refBuf = v.refBuf[:0]
		if at.node != nil {
			ref, err := cp.nodeRef(cs.cycle, at.node)
			if err != nil {
				return err
			}
			v.refBuf = append(v.refBuf, ref)
		}
		return cp.call(cs.cycle, &guest.Call{Point: p, Nodes: v.refBuf, State: state, Arg: at.arg})
	}()
	if err != nil {
		return cp.ends(cs.cycle, p, err)
	}
	return nil
}

// ends is fail, but for a point that can't fail anything.
func (cp *cyclePolicy) ends(c *cycle, p abi.Point, err error) *guest.Fault {
	if slices.Contains(toldPoints, p) {
		return cp.charge(c, p, err)
	}
	return cp.fail(c, p, err)
}

// nodeRef makes the view of a node: the resident one, unless this is not the
// node's state as the snapshot of a cycle of its own has it.
func (cp *cyclePolicy) nodeRef(c *cycle, ni fwk.NodeInfo) (guest.NodeRef, error) {
	if slot, ok := c.host.index.snapshotSlot(ni); ok && c.group == nil {
		return cp.version.resident(slot, ni, false)
	}
	slot, _ := c.host.index.slot(ni.Node().Name)
	return cp.version.scratch(slot, ni)
}

// resume is enter for the points from Reserve on. Between them other cycles run,
// and may end the instance: who has a state in it has lost it, who has none
// doesn't notice. It returns the state's handle.
func (cp *cyclePolicy) resume(cs *cycleState, i int, p abi.Point) (uint32, *guest.Fault) {
	v, told := cp.version, slices.Contains(toldPoints, p)
	if cp.failed != nil && !told {
		return 0, cp.failed
	}
	if !cp.started {
		cp.started = true
		if !slices.Contains(bindingPoints, p) {
			if err := v.startCycle(cs.group); err != nil {
				return 0, cp.ends(cs.cycle, p, err)
			}
		}
	}
	if err := v.live(); err != nil {
		return 0, cp.ends(cs.cycle, p, err)
	}
	state := cs.states[i]
	if v.gen != cp.gen {
		if state != 0 && !told {
			return 0, cp.lose(cs.cycle, p)
		}
		state = 0
	}
	if err := v.setPod(cs.cycle); err != nil {
		return 0, cp.ends(cs.cycle, p, err)
	}
	return state, nil
}

// judge is what the guest's answer means for the pod: an error is left out where
// the policy is to be ignored.
func (cp *cyclePolicy) judge(p abi.Point) *fwk.Status {
	if cp.result.Code == abi.Error && cp.policy.OnFailure(p) == policy.Ignore {
		return nil
	}
	return status(cp.result.Verdict)
}
