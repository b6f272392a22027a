// SPDX-License-Identifier: Apache-2.0

package host

import (
	"testing"
	"time"

	fwk "k8s.io/kube-scheduler/framework"
)

// A set of scores lives as long as a batch may use it, and its tokens name it
// and nothing else.
func TestScoreStore(t *testing.T) {
	var x nodeIndex
	list := testNodes(numbered(4)...)
	x.update(list)
	s := scoreStore{index: &x}
	now := testNow
	add := func(nodes ...fwk.NodeInfo) *scoreSet {
		set := &scoreSet{nodes: nodes, made: now}
		s.add(set)
		return set
	}
	token := func(set *scoreSet, pos int) int64 { return set.id<<tokenBits | int64(pos) }
	first, second := add(list[0], list[1], list[2]), add(list[2], list[3])
	for _, c := range []struct {
		set  *scoreSet
		node int
		want int // -1: not among its nodes
	}{{first, 0, 0}, {first, 1, 1}, {first, 2, 2}, {first, 3, -1}, {second, 2, 0}, {second, 3, 1}, {second, 0, -1}} {
		got, ok := s.pos(c.set, list[c.node])
		if ok != (c.want >= 0) || ok && got != c.want {
			t.Errorf("set %d, node %d: want %d, got %d, %t", c.set.id, c.node, c.want, got, ok)
		}
	}
	if _, ok := s.pos(first, testNodes("stranger")[0]); ok {
		t.Error("want a node of no snapshot unknown")
	}
	for _, bad := range []int64{0, -1, token(first, 3), token(second, 2), token(second, 0) + 1<<tokenBits, 1<<63 - 1, -1 << 63} {
		if set, pos, ok := s.get(bad); ok {
			t.Errorf("token %d: want it unknown, got set %d, place %d", bad, set.id, pos)
		}
	}
	now = now.Add(scoreSetLife - time.Millisecond)
	third := add(list[0])
	if set, pos, ok := s.get(token(first, 2)); !ok || set != first || pos != 2 {
		t.Error("want a set found within its life")
	}
	now = now.Add(time.Millisecond)
	add(list[0])
	for set, want := range map[*scoreSet]bool{first: false, second: false, third: true} {
		if _, _, ok := s.get(token(set, 0)); ok != want {
			t.Errorf("set %d: want found %t, got %t", set.id, want, ok)
		}
	}
	now = now.Add(time.Hour)
	add(list[0])
	if len(s.sets) != 1 {
		t.Errorf("want one set left, got %d", len(s.sets))
	}
}
