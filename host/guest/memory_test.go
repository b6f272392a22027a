// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/intern"
	"github.com/berth-scheduler/berth/host/weave"
)

// seen is what a guest finds behind a frame.
type seen struct {
	pod, arg string
	nodes    []string
	versions []uint64
	flags    []uint32
	strings  []string
	fuel     int64
}

// look reads a frame as a guest does.
func (g *fakeGuest) look(frame []byte) seen {
	at := func(ptr, n uint32) string {
		b, ok := g.Read(ptr, n)
		if !ok {
			panic("outside memory")
		}
		return string(b)
	}
	field := func(f int) uint32 { return u32(frame, f) }
	s := seen{
		pod:  at(field(abi.FramePodPtr), field(abi.FramePodLen)),
		arg:  at(field(abi.FrameArgPtr), field(abi.FrameArgLen)),
		fuel: int64(g.cells[weave.FuelExport].Get() + g.cells[weave.BudgetExport].Get()),
	}
	for i := range field(abi.FrameNodesLen) {
		ref := []byte(at(field(abi.FrameNodesPtr)+i*abi.NodeRefSize, abi.NodeRefSize))
		s.nodes = append(s.nodes, at(u32(ref, abi.NodeRefPtr), u32(ref, abi.NodeRefLen)))
		s.versions = append(s.versions, uint64(u32(ref, abi.NodeRefVersion)))
		s.flags = append(s.flags, u32(ref, abi.NodeRefFlags))
	}
	for i := range field(abi.FrameStringsLen) {
		ref := []byte(at(field(abi.FrameStringsPtr)+i*abi.StringRefSize, abi.StringRefSize))
		s.strings = append(s.strings, at(u32(ref, 0), u32(ref, 4)))
	}
	return s
}

// looking makes an instance whose last frame can be looked at.
func looking(t *testing.T, opts Options) (*Instance, func(*Call) seen) {
	var last seen
	g := &fakeGuest{}
	g.answer = func(g *fakeGuest, frame []byte) uint32 {
		last = g.look(frame)
		r := g.result(frame)
		set(r, abi.ResultCode, 0, abi.ResultItemsLen, u32(frame, abi.FrameNodesLen))
		for i := range u32(frame, abi.FrameNodesLen) {
			set(r, item0+i*abi.VerdictSize, 0)
		}
		return abi.Answered
	}
	in := fake(t, g, opts)
	return in, func(c *Call) seen {
		t.Helper()
		var out Result
		if err := in.Call(c, &out); err != nil {
			t.Fatal(err)
		}
		return last
	}
}

// A view stays where it is until its record changes; a slot that was dropped is
// given to another node; a scratch view is good for one call.
func TestNodes(t *testing.T) {
	in, call := looking(t, Options{})
	node := func(slot uint32, version uint64, text string) NodeRef {
		t.Helper()
		ref, err := in.SetNode(slot, version, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	a, b := node(0, 1, "first"), node(7, 2, "second")
	if !in.Resident(0, 1) || in.Resident(0, 2) || in.Resident(1, 0) || in.Resident(1000, 1) {
		t.Error("want slot 0 alone to hold version 1")
	}
	if err := in.SetPod([]byte("the pod")); err != nil {
		t.Fatal(err)
	}
	scratch, err := in.ScratchNode(7, []byte("second, changed"))
	if err != nil {
		t.Fatal(err)
	}
	got := call(&Call{Point: abi.Filter, Nodes: []NodeRef{b, a, scratch}})
	if want := "[second first second, changed] [2 1 0] [0 0 1] the pod"; fmt.Sprint(got.nodes, got.versions, got.flags)+" "+got.pod != want {
		t.Errorf("want %s, got %+v", want, got)
	}
	long := strings.Repeat("x", 5000) // moves
	a = node(0, 3, long)
	in.DropNode(7)
	in.DropNode(1000)
	if in.Resident(7, 2) {
		t.Error("want a dropped slot empty")
	}
	c := node(7, 4, "third")
	got = call(&Call{Point: abi.Filter, Nodes: []NodeRef{a, c}})
	if got.nodes[0] != long || got.nodes[1] != "third" {
		t.Errorf("want the new records, got %.20q", got.nodes)
	}
	if err := in.SetPod(nil); err != nil {
		t.Fatal(err)
	}
	if got = call(&Call{Point: abi.Filter}); got.pod != "" {
		t.Errorf("want no pod, got %q", got.pod)
	}
}

// Chunks larger than what was prepared, and arguments of any size, arrive.
func TestFrameGrows(t *testing.T) {
	in, call := looking(t, Options{})
	for _, n := range []int{1, 64, 65, 1000} {
		var nodes []NodeRef
		for i := range n {
			ref, err := in.SetNode(uint32(i), uint64(i+1), []byte(fmt.Sprint("node ", i)))
			if err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, ref)
		}
		arg := strings.Repeat("a", n*1000)
		got := call(&Call{Point: abi.Filter, Nodes: nodes, Arg: []byte(arg)})
		for i, text := range got.nodes {
			if text != fmt.Sprint("node ", i) {
				t.Fatalf("node %d: got %q", i, text)
			}
		}
		if got.arg != arg || len(got.nodes) != n {
			t.Errorf("want %d nodes and an argument of %d bytes, got %d and %d", n, len(arg), len(got.nodes), len(got.arg))
		}
		if want := int64(1000 + 10*n); got.fuel != want {
			t.Errorf("want %d units, got %d", want, got.fuel)
		}
	}
}

// The guest's table of strings is the host's, however it grows.
func TestStrings(t *testing.T) {
	table := intern.New(1<<22, 1<<16)
	in, call := looking(t, Options{Strings: table})
	want := []string{""}
	for round, n := range []int{0, 1, 3, 100, 3000} {
		for i := range n {
			s := fmt.Sprintf("%d/%d/%s", round, i, strings.Repeat("x", i%200))
			if i == 50 {
				s = strings.Repeat("long", 1000)
			}
			if _, ok := table.ID(s); !ok {
				t.Fatal("table full")
			}
			if len(want) < table.Len() {
				want = append(want, s)
			}
		}
		if got := call(&Call{Point: abi.Filter}).strings; strings.Join(got, "\x00") != strings.Join(want, "\x00") {
			t.Fatalf("round %d: want %d strings, got %d that differ", round, len(want), len(got))
		}
	}
	if in.Dead() {
		t.Error("want the instance alive")
	}
}

// A guest that overwrites its own frames, records and strings changes what it
// sees, not what the host keeps.
func TestGuestOverwrites(t *testing.T) {
	table := intern.New(1<<20, 1000)
	table.ID("zone")
	var last string
	spoil := false
	g := &fakeGuest{answer: func(g *fakeGuest, frame []byte) uint32 {
		ref, _ := g.Read(u32(frame, abi.FrameNodesPtr), abi.NodeRefSize)
		record, _ := g.Read(u32(ref, abi.NodeRefPtr), u32(ref, abi.NodeRefLen))
		last = string(record)
		r := g.result(frame)
		if spoil {
			for i := 64; i < len(g.memory); i++ {
				g.memory[i] = '?'
			}
		}
		set(r, abi.ResultCode, 0, abi.ResultReasonsLen, 0, abi.ResultState, 0, abi.ResultListSet, 0, abi.ResultItemsLen, 1, abi.ResultPayloadLen, 0, abi.ResultNext, 0, item0, 0)
		return abi.Answered
	}}
	in := fake(t, g, Options{Strings: table})
	ref, err := in.SetNode(3, 9, []byte("record"))
	if err != nil {
		t.Fatal(err)
	}
	for _, spoil = range []bool{true, false} {
		var out Result
		if err := in.Call(&Call{Point: abi.Filter, Nodes: []NodeRef{in.Ref(3)}}, &out); err != nil {
			t.Fatal(err)
		}
		if in.Ref(3) != ref || !in.Resident(3, 9) {
			t.Errorf("want the host's own book, got %+v", in.Ref(3))
		}
	}
	if last != "??????" {
		t.Errorf("want the guest's own doing, got %q", last)
	}
}

func TestScoreInRange(t *testing.T) {
	for s, ok := range map[int64]bool{-1 << 63: false, -1: false, 0: true, 100: true, 101: false, 1<<63 - 1: false} {
		if err := ScoreInRange(s); (err == nil) != ok {
			t.Errorf("%d: got %v", s, err)
		}
	}
}
