// SPDX-License-Identifier: Apache-2.0

package guide

import (
	"slices"
	"testing"

	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
)

func TestGuide(t *testing.T) {
	h := berthtest.New(t, &policy, everything{}, nil)
	pod := berthtest.Pod("red", "p").Priority(5).Request("example.com/gpu", 1)
	if v := h.PreEnqueue(pod); v.Code != berthtest.UnschedulableAndUnresolvable {
		t.Errorf("without a quota: want it gated, got %v", v)
	}
	quota := func(most int) map[string]any { return map[string]any{"spec": map[string]any{"max": most}} }
	h.SetObject("example.com/v1/quotas", "red", "default", quota(1))
	h.SetAggregate("namespace", "red", 2, map[string]int64{"cpu": 300})
	if v := h.PreEnqueue(pod); v.Code != berthtest.Success || !h.QueueingHint(pod, "resource", quota(1), quota(2)) || h.QueueKey(pod) != 300 {
		t.Errorf("with a quota: want it queued by what the tenant uses, got %v, %d", v, h.QueueKey(pod))
	}
	if key, _ := h.SignPod(pod); key != "red" {
		t.Errorf("signature: want red, got %q", key)
	}
	node := berthtest.Node("n").Allocatable("example.com/gpu", 1).Pod(berthtest.Pod("blue", "old").Request("example.com/gpu", 1))
	c := h.Cycle(pod)
	if got := c.PostFilter(nil, node); got.Node != "n" || !slices.Equal(got.Victims, []string{"uid-blue-old"}) {
		t.Errorf("preemption: want the old pod evicted, got %v", got)
	}
	c.Reserve(node)
	if h.Kept("last/n") == nil {
		t.Error("want the node's account kept")
	}
	c.Unreserve("n")
	if got := h.Kept("last/n"); got != nil {
		t.Errorf("want it forgotten, got %v", got)
	}
	if v, _ := c.Permit(node); v.Code != berthtest.Wait {
		t.Errorf("the first: want it to wait, got %v", v)
	}
	if v, _ := h.Cycle(pod.Copy("q")).Permit(node); v.Code != berthtest.Success || len(h.Waiting()) != 0 {
		t.Errorf("the second: want both free, got %v", v)
	}
	if c.PreBindPreFlight("n").Code != berthtest.Success || c.PreBind("n").Code != berthtest.Success || c.Bind("n").Code != berthtest.Success {
		t.Error("want it bound")
	}
	c.PostBind("n")
	for _, kind := range []string{"patch", "bind", "event", "metric"} {
		if len(h.Asked(kind)) != 1 {
			t.Errorf("%s: want one, got %v", kind, h.Asked(kind))
		}
	}
}
