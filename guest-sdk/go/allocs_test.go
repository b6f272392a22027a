// SPDX-License-Identifier: Apache-2.0

package berth_test

import (
	"strconv"
	"testing"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
)

// reader reads something of every kind for each node.
type reader struct{ pool berth.Symbol }

var readerPolicy = berth.Policy{Name: "reader", Version: "1", Reads: []berth.Section{
	berth.NodeLabels, berth.NodeAnnotations, berth.NodeTaints, berth.NodeConditions, berth.NodeResources,
	berth.NodePods, berth.NodeImages, berth.PodLabels, berth.PodResources, berth.PodTolerations,
	berth.PodNodeSelector, berth.PodNodeAffinity, berth.PodContainers, berth.PodIdentity,
}}

func (r *reader) sum(pod berth.Pod, node berth.Node) (n int64) {
	if v, ok := node.Label(r.pool); ok {
		n += int64(len(v))
	}
	if v, ok := node.Annotation(r.pool); ok {
		n += int64(len(v))
	}
	for t := range node.Taints().All() {
		n += int64(t.Effect()) + int64(len(t.Key().String()))
	}
	for p := range node.Pods().All() {
		if v, ok := p.Labels().Value(r.pool); ok {
			n += int64(len(v))
		}
		n += p.Requests().Value(berth.CPU) + int64(len(p.Name()))
	}
	for c := range pod.Containers().All() {
		n += c.Requests().Value(berth.Memory)
	}
	if pod.Selects(node) && node.Condition(r.pool) == berth.ConditionUnknown {
		n++
	}
	if _, untolerated := pod.UntoleratedTaint(node); untolerated {
		n++
	}
	return n + node.Resource(berth.CPU).Free() + pod.Resource(berth.CPU).Request() + int64(len(pod.Name())+len(node.Name()))
}

func (r *reader) Filter(_ *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	if r.sum(pod, node)%2 == 0 {
		return berth.Unschedulable("an even sum")
	}
	return nil
}

func (r *reader) Score(_ *berth.Cycle, pod berth.Pod, node berth.Node) (int64, *berth.Status) {
	return r.sum(pod, node), nil
}

func TestNoAllocations(t *testing.T) {
	h := berthtest.New(t, &readerPolicy, &reader{berth.NewSymbol("pool")}, nil)
	pod := berthtest.Pod("ns", "p").Label("pool", "a").Request("cpu", 100).Toleration("t", "Exists", "", "").
		RequireNode(berthtest.Match("pool", "In", "a", "b"))
	var nodes []*berthtest.NodeBuilder
	for i := range 64 {
		name := "n" + strconv.Itoa(i)
		nodes = append(nodes, berthtest.Node(name).Label("pool", "a").Annotation("pool", name).Allocatable("cpu", int64(4000+i)).
			Taint("t", "v", "NoSchedule").Condition("Ready", "True", "ok").Pod(berthtest.Pod("ns", name).Label("pool", "b").Request("cpu", 1)))
	}
	c := h.Cycle(pod)
	if n := c.FilterAllocs(nodes...); n != 0 {
		t.Errorf("filter over %d nodes: want no allocations, got %v", len(nodes), n)
	}
	if n := c.ScoreAllocs(nodes...); n != 0 {
		t.Errorf("score over %d nodes: want no allocations, got %v", len(nodes), n)
	}
}
