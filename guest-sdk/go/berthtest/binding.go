// SPDX-License-Identifier: Apache-2.0

package berthtest

import (
	"time"

	"github.com/berth-scheduler/berth/abi"
)

func onNode(name string) map[string]any { return map[string]any{"node": name} }

// Reserve runs Reserve: the pod was given the node.
func (c *Cycle) Reserve(node *NodeBuilder) Verdict {
	c.h.t.Helper()
	return c.call(abi.Reserve, abi.Whole, []*NodeBuilder{node}, onNode(node.name)).verdict
}

// Unreserve runs Unreserve. A pod that waited in Permit does so no more.
func (c *Cycle) Unreserve(node string) {
	c.h.t.Helper()
	c.call(abi.Unreserve, abi.Whole, nil, onNode(node))
	c.h.stopWaiting(c.pod.uid)
}

// Permit runs Permit. After Wait the pod is one of Host.Waiting, until the policy
// allows or rejects it.
func (c *Cycle) Permit(node *NodeBuilder) (v Verdict, timeout time.Duration) {
	c.h.t.Helper()
	r := c.call(abi.Permit, abi.Whole, []*NodeBuilder{node}, onNode(node.name))
	if r.verdict.Code == Wait && !c.h.settled(r, c.pod.uid) {
		c.h.waiting = append(c.h.waiting, waitingPod{c.pod, node.name, c.now})
	}
	t, _ := r.reply.Get("timeout_ns")
	return r.verdict, time.Duration(t.Int())
}

// PreBindPreFlight runs PreBindPreFlight.
func (c *Cycle) PreBindPreFlight(node string) Verdict {
	c.h.t.Helper()
	return c.call(abi.PreBindPreFlight, abi.Whole, nil, onNode(node)).verdict
}

// PreBind runs PreBind. What it patches is in Host.Asked.
func (c *Cycle) PreBind(node string) Verdict {
	c.h.t.Helper()
	return c.call(abi.PreBind, abi.Whole, nil, onNode(node)).verdict
}

// Bind runs Bind. Success without an intent to bind fails the test, as it fails
// the pod's cycle in the scheduler.
func (c *Cycle) Bind(node string) Verdict {
	c.h.t.Helper()
	before := len(c.h.Asked(abi.IntentBind))
	v := c.call(abi.Bind, abi.Whole, nil, onNode(node)).verdict
	if v.Code == Success && len(c.h.Asked(abi.IntentBind)) == before {
		c.h.t.Fatalf("berthtest: bind: want BindPod with Success, got none")
	}
	return v
}

// PostBind runs PostBind.
func (c *Cycle) PostBind(node string) {
	c.h.t.Helper()
	c.call(abi.PostBind, abi.Whole, nil, onNode(node))
}
