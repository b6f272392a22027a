// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
	"github.com/berth-scheduler/berth/guest-sdk/go/extender"
)

func newHost(t *testing.T) *berthtest.Host {
	t.Helper()
	return berthtest.New(t, &policy, extender.Plugin(&licences{}), nil)
}

func licensed(name string) *berthtest.PodBuilder {
	return berthtest.Pod("default", name).Label("berth.dev/licence", "cad")
}

func node(name, licences string, taken int) *berthtest.NodeBuilder {
	n := berthtest.Node(name)
	if licences != "" {
		n.Annotation("berth.dev/licences", licences)
	}
	for i := range taken {
		n.Pod(licensed(name + string(rune('a'+i))))
	}
	return n
}

func nodes() []*berthtest.NodeBuilder {
	return []*berthtest.NodeBuilder{node("free", "2", 0), node("half", "2", 1), node("full", "2", 2), node("none", "", 0), node("bad", "two", 0)}
}

func TestFilter(t *testing.T) {
	var got []string
	for _, v := range newHost(t).Filter(licensed("new"), nodes()...) {
		got = append(got, v.String())
	}
	want := []string{
		"success", "success", "unschedulable: all licences of the node are in use",
		"unschedulable_and_unresolvable: the node has no licences", "unschedulable_and_unresolvable: the node has no licences",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := len(newHost(t).Feasible(berthtest.Pod("default", "other"), nodes()...)); n != 5 {
		t.Errorf("a pod without a licence: want all 5 nodes, got %d", n)
	}
}

func TestPrioritize(t *testing.T) {
	if diff := cmp.Diff([]int64{0, 50, 100, 0, 0}, newHost(t).Score(licensed("new"), nodes()...)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int64{0, 0, 0, 100, 100}, newHost(t).Score(berthtest.Pod("default", "other"), nodes()...)); diff != "" {
		t.Errorf("without a licence: %s", diff)
	}
}
