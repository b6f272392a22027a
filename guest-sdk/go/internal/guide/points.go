// SPDX-License-Identifier: Apache-2.0

package guide

import berth "github.com/berth-scheduler/berth/guest-sdk/go"

type everything struct{}

var gpus = berth.NewSymbol("example.com/gpu")

// PreEnqueue: a pod of a tenant without a quota waits outside the queue.
func (everything) PreEnqueue(c *berth.Cycle, pod berth.Pod) *berth.Status {
	quota, s := c.Object("example.com/v1/quotas", pod.Namespace().String(), "default")
	if s == nil && !quota.Exists() {
		return berth.UnschedulableAndUnresolvable("the tenant has no quota")
	}
	return s // not fetched yet: an error, and the pod is tried again
}

// QueueingHint: an event in Policy.Events; is a rejected pod worth another try?
func (everything) QueueingHint(_ *berth.Cycle, _ berth.Pod, e berth.Event) bool {
	return e.New().Get("spec", "max").Int() > e.Old().Get("spec", "max").Int()
}

// QueueKey: pods of tenants that use less come first.
func (everything) QueueKey(c *berth.Cycle, pod berth.Pod) int64 {
	used, _ := c.Aggregate("namespace", pod.Namespace().String())
	return used.Get("requests", "cpu").Int()
}

// SignPod: equal pods are scheduled in batches, if their keys are equal, too.
func (everything) SignPod(_ *berth.Cycle, pod berth.Pod) (string, *berth.Status) {
	return pod.Namespace().String(), nil
}

// Filter, to have something that PostFilter can mend.
func (everything) Filter(_ *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	if node.Resource(gpus).Free() < pod.Resource(gpus).Request() {
		return berth.Unschedulable("too few GPUs are free")
	}
	return nil
}

// PostFilter: ordinary code that asks the host as it goes along.
func (everything) PostFilter(c *berth.PostFilterCycle, pod berth.Pod) (*berth.Nomination, *berth.Status) {
	for node := range c.Candidates() {
		name := string([]byte(node.Name())) // the node is gone after a question
		if victims, s := c.SelectVictims(node, nil); s == nil {
			return &berth.Nomination{Node: name, Victims: victims}, nil
		}
	}
	return nil, berth.Unschedulable("no room can be made")
}

// Reserve and Unreserve: accounts that outlive the instance.
func (everything) Reserve(c *berth.Cycle, _ berth.Pod, node berth.Node) *berth.Status {
	c.Keep("last/"+node.Name(), c.Now(), berth.Hour)
	return nil
}

// Unreserve may come without a Reserve.
func (everything) Unreserve(c *berth.Cycle, _ berth.Pod, node string) { c.Forget("last/" + node) }

// Permit: pods wait in pairs.
func (everything) Permit(c *berth.Cycle, _ berth.Pod, _ berth.Node) (*berth.Status, int64) {
	waiting, s := c.Waiting()
	if s != nil || waiting.Len() == 0 {
		return berth.Wait("for another pod"), 10 * berth.Minute
	}
	c.Allow(waiting.At(0).Get("uid").Text())
	return nil, 0
}

// PreBindPreFlight: is there anything for PreBind to do?
func (everything) PreBindPreFlight(_ *berth.Cycle, pod berth.Pod, _ string) *berth.Status {
	if pod.Resource(gpus).Request() == 0 {
		return berth.Skip()
	}
	return nil
}

// PreBind: the last word on the pod before it is bound.
func (everything) PreBind(c *berth.Cycle, _ berth.Pod, node string) *berth.Status {
	c.PatchAnnotations("example.com/gpus-of", node)
	return nil
}

// Bind: the binding itself, or Skip.
func (everything) Bind(c *berth.Cycle, _ berth.Pod, _ string) *berth.Status {
	c.BindPod("example.com/bound-by", "guide")
	return nil
}

// PostBind: whom does it concern?
func (everything) PostBind(c *berth.Cycle, pod berth.Pod, node string) {
	c.Event(berth.EventNormal, "Placed", "on "+node)
	c.Count("bound", 1)
}
