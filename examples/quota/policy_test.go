// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
)

func newHost(t *testing.T, specs map[string]map[string]any) *berthtest.Host {
	t.Helper()
	h := berthtest.New(t, &policy, &elastic{}, nil)
	for namespace, spec := range specs {
		h.SetObject(quotas, namespace, "quota", map[string]any{"metadata": map[string]any{"namespace": namespace, "name": "quota"}, "spec": spec})
	}
	return h
}

func spec(least, most string) map[string]any {
	s := map[string]any{}
	if least != "" {
		s["min"] = map[string]any{"cpu": least}
	}
	if most != "" {
		s["max"] = map[string]any{"cpu": most}
	}
	return s
}

// pod wants a core.
func pod(namespace, name string) *berthtest.PodBuilder {
	return berthtest.Pod(namespace, name).Request("cpu", 1000)
}

// pods are n pods of a namespace.
func pods(namespace string, n int) []*berthtest.PodBuilder {
	var list []*berthtest.PodBuilder
	for i := range n {
		list = append(list, pod(namespace, string(rune('a'+i))))
	}
	return list
}

func node(name string, groups ...[]*berthtest.PodBuilder) *berthtest.NodeBuilder {
	return berthtest.Node(name).Allocatable("cpu", 4000).Allocatable("pods", 100).Pod(slices.Concat(groups...)...)
}

func TestPreFilter(t *testing.T) {
	const (
		used = "unschedulable: the namespace's quota is used up"
		loan = "unschedulable: the namespace's minimum is used up, and no other leaves anything to borrow"
	)
	both := map[string]map[string]any{"red": spec("2", "3"), "blue": spec("2", "")}
	tests := []struct {
		name  string
		specs map[string]map[string]any
		nodes []*berthtest.NodeBuilder
		want  string
	}{
		{"within the minimum", both, []*berthtest.NodeBuilder{node("n", pods("red", 1))}, "success"},
		{"borrows", both, []*berthtest.NodeBuilder{node("n", pods("red", 1)), node("m", pods("red", 1))}, "success"},
		{"nothing to borrow", both, []*berthtest.NodeBuilder{node("n", pods("red", 2)), node("m", pods("blue", 2))}, loan},
		{"half of it", both, []*berthtest.NodeBuilder{node("n", pods("red", 2)), node("m", pods("blue", 1))}, "success"},
		{"maximum", both, []*berthtest.NodeBuilder{node("n", pods("red", 3))}, used},
		{"others have no quota", map[string]map[string]any{"red": spec("1", "")}, []*berthtest.NodeBuilder{node("n", pods("red", 1), pods("blue", 1))}, loan},
		{"no quota", map[string]map[string]any{"blue": spec("1", "1")}, []*berthtest.NodeBuilder{node("n", pods("red", 4))}, "skip"},
		{"fractions", map[string]map[string]any{"red": spec("1500m", "")}, []*berthtest.NodeBuilder{node("n", pods("red", 1))}, loan},
		{"another resource", map[string]map[string]any{"red": {"max": map[string]any{"memory": "1Gi"}}}, []*berthtest.NodeBuilder{node("n", pods("red", 9))}, "success"},
		{"unreadable", map[string]map[string]any{"red": spec("much", "")}, nil, "unschedulable_and_unresolvable: the namespace's quota holds an amount that can't be read"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := newHost(t, test.specs)
			if got := h.Cycle(pod("red", "new")).PreFilter(test.nodes...).Verdict.String(); got != test.want {
				t.Errorf("want %q, got %q", test.want, got)
			}
		})
	}
}

// What preemption tries out counts, and leaves the cycle's own state alone.
func TestAddRemove(t *testing.T) {
	h := newHost(t, map[string]map[string]any{"red": spec("1", "2")})
	n := node("n", pods("red", 2))
	c := h.Cycle(pod("red", "new"))
	c.PreFilter(n)
	tried := c.Clone()
	tried.RemovePod(pod("red", "a"), n)
	tried.RemovePod(pod("red", "b"), n)
	if got := tried.Filter(n)[0].Code; got != berthtest.Success {
		t.Errorf("without two pods: want it to fit, got %v", got)
	}
	tried.AddPod(pod("red", "b"), n)
	if got := tried.Filter(n)[0].Reason; got != "the namespace's minimum is used up, and no other leaves anything to borrow" {
		t.Errorf("with one back: want nothing to borrow, got %q", got)
	}
	if got := c.Filter(n)[0].Reason; got != "the namespace's quota is used up" {
		t.Errorf("want the cycle's own state as it was, got %q", got)
	}
}

func TestPostFilter(t *testing.T) {
	specs := map[string]map[string]any{"red": spec("2", ""), "blue": spec("2", "")}
	high := func(list []*berthtest.PodBuilder) []*berthtest.PodBuilder {
		for _, p := range list {
			p.Priority(100)
		}
		return list
	}
	tests := []struct {
		name    string
		pod     *berthtest.PodBuilder
		node    *berthtest.NodeBuilder
		victims int
		any     bool
	}{
		{"takes back a loan", pod("red", "new"), node("n", pods("red", 1), high(pods("blue", 3))), 1, true},
		{"leaves others their minimum", pod("red", "new"), node("n", pods("red", 1), high(pods("blue", 2)), pods("green", 1)), 0, false},
		{"borrower evicts its own", pod("red", "new").Priority(1), node("n", pods("red", 2), high(pods("blue", 2))), 1, false},
		{"borrower evicts no others", pod("red", "new").Priority(1), node("n", high(pods("red", 3)), pods("green", 1)), 0, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := newHost(t, specs)
			h.SetNodes(test.node)
			c := h.Cycle(test.pod)
			c.PreFilter(test.node)
			got := c.PostFilter(berthtest.Fits(test.pod), test.node)
			if len(got.Victims) != test.victims || got.AnyPriority != test.any {
				t.Errorf("want %d victims, of any priority %t, got %v, %t (%v)", test.victims, test.any, got.Victims, got.AnyPriority, got.Verdict)
			}
		})
	}
}

// Of several quotas in a namespace the first by name counts.
func TestTwoQuotas(t *testing.T) {
	h := newHost(t, nil)
	for name, most := range map[string]string{"b": "9", "a": "1"} {
		h.SetObject(quotas, "red", name, map[string]any{"metadata": map[string]any{"namespace": "red", "name": name}, "spec": map[string]any{"min": map[string]any{"cpu": "9"}, "max": map[string]any{"cpu": most}}})
	}
	if diff := cmp.Diff("unschedulable: the namespace's quota is used up", h.Cycle(pod("red", "new")).PreFilter(node("n", pods("red", 1))).Verdict.String()); diff != "" {
		t.Error(diff)
	}
}
