// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/engine"
	"github.com/berth-scheduler/berth/host/guest"
	"github.com/berth-scheduler/berth/host/intern"
	"github.com/berth-scheduler/berth/host/module"
	"github.com/berth-scheduler/berth/host/view"
)

// talk is an instance of the guest talker, driven by hand.
type talk struct {
	*testing.T
	inst    *guest.Instance
	encoder *view.Encoder
	lines   []string
}

func startTalk(t *testing.T) *talk {
	t.Helper()
	wasm, err := buildModule("github.com/berth-scheduler/berth/test/conformance/guests/talker", "")
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.NewWazero(t.Context(), engine.WazeroOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	m, err := module.Load(t.Context(), wasm, module.Options{Engine: e})
	if err != nil {
		t.Fatal(err)
	}
	greeting, err := abi.EncodeValue(map[string]any{"text": "hello"})
	if err != nil {
		t.Fatal(err)
	}
	s := &talk{T: t}
	table := intern.New(intern.MaxBytes, intern.MaxCount)
	s.encoder = view.NewEncoder(table, []string{"pod.identity"})
	s.inst, err = m.NewInstance(t.Context(), guest.Options{
		Strings: table, Budgets: guest.Budgets{Life: 1e9, GC: 1e9, Call: 1e8, PerNode: 1e6}, LogBytes: 1 << 16,
		Log:  func(_ uint32, line string) { s.lines = append(s.lines, line) },
		Read: func(abi.Read, string) ([]byte, int64, int64) { return greeting, 0, 0 },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.inst.Close() })
	return s
}

// setPod makes a pod the one of the next calls.
func (s *talk) setPod(name string) {
	s.Helper()
	record, err := s.encoder.Pod(nil, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "u"}})
	if err != nil {
		s.Fatal(err)
	}
	if err := s.inst.SetPod(record); err != nil {
		s.Fatal(err)
	}
}

func (s *talk) node(slot uint32, name string) guest.NodeRef {
	s.Helper()
	var info fwk.NodeInfo = framework.NewNodeInfo()
	info.SetNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	record, err := s.encoder.Node(nil, info)
	if err != nil {
		s.Fatal(err)
	}
	ref, err := s.inst.SetNode(slot, uint64(slot)+1, record)
	if err != nil {
		s.Fatal(err)
	}
	return ref
}

// call makes a call and returns what the guest answered.
func (s *talk) call(c guest.Call, arg any) (next bool, reply any) {
	s.Helper()
	if arg != nil {
		var err error
		if c.Arg, err = abi.EncodeValue(arg); err != nil {
			s.Fatal(err)
		}
	}
	var out guest.Result
	if err := s.inst.Call(&c, &out); err != nil {
		s.Fatal(err)
	}
	if out.Code != abi.Success {
		s.Fatalf("%s: want success, got %v", c.Point, out.Verdict)
	}
	return out.Next, out.Reply.Tree()
}

func (s *talk) begin(cycle uint64) (next bool, reply any) {
	s.Helper()
	s.setPod("new")
	return s.call(guest.Call{Point: abi.PostFilter, Phase: abi.Begin, Cycle: cycle}, map[string]any{"candidates": 2})
}

// between does what the host may do between a question and its answer: run the
// filters, for other pods, too, and collect garbage.
func (s *talk) between() {
	s.Helper()
	s.setPod("a pod with a name that is longer than the other's, so that its view moves, and longer, and longer still")
	s.call(guest.Call{Point: abi.Filter, Cycle: 99, Nodes: []guest.NodeRef{s.node(9, "other")}}, nil)
	if err := s.inst.GC(); err != nil {
		s.Fatal(err)
	}
	s.setPod("new")
}

// TestSDKConversation holds a conversation with a policy in a module: its
// function stands still over other calls and collections of garbage.
func TestSDKConversation(t *testing.T) {
	s := startTalk(t)
	type m = map[string]any
	next, reply := s.begin(1)
	if diff := cmp.Diff(any(m{"candidates": int64(0)}), reply); !next || diff != "" {
		t.Fatalf("begin: want a question (-), got %t (+):\n%s", next, diff)
	}
	s.between()
	step := guest.Call{Point: abi.PostFilter, Phase: abi.Step, Cycle: 1, Nodes: []guest.NodeRef{s.node(1, "n1"), s.node(2, "n2")}}
	next, reply = s.call(step, m{"answers": []any{}})
	want := m{"dry_run": []any{m{"node": "n1", "remove": []any{}}, m{"node": "n2", "remove": []any{m{"node": "n2", "uid": "u"}}}}}
	if diff := cmp.Diff(any(want), reply); !next || diff != "" {
		t.Fatalf("first step: want a question (-), got %t (+):\n%s", next, diff)
	}
	s.between()
	step.Nodes = nil
	next, reply = s.call(step, m{"answers": []any{m{"code": int64(abi.Unschedulable), "reasons": []string{"full", "really"}}, m{"code": 0, "reasons": []any{}}}})
	want = m{"node": "n2", "intents": []any{
		m{"kind": "state", "key": "greeting", "ttl_ns": int64(0), "value": m{"text": "bye"}},
		m{"kind": "evict", "pdb": "Respect", "pods": []any{m{"node": "n2", "uid": "u"}}},
	}}
	if diff := cmp.Diff(any(want), reply); next || diff != "" {
		t.Fatalf("second step: want the end (-), got %t (+):\n%s", next, diff)
	}
	lines := []string{`saw nodes="n1 n2"`, `heard first="full; really" second=""`, "kept pod=new greeting=hello", "left"}
	if diff := cmp.Diff(lines, s.lines); diff != "" {
		t.Errorf("log: want (-), got (+):\n%s", diff)
	}
}

// TestSDKConversationLeft leaves conversations: the cycle's end, and another one's
// begin, unwind them.
func TestSDKConversationLeft(t *testing.T) {
	s := startTalk(t)
	for cycle := range uint64(50) {
		s.begin(1 + cycle)
		if left := len(s.lines); left != int(cycle) {
			t.Fatalf("cycle %d: want the ones before left, got %q", cycle, s.lines)
		}
		if cycle%2 == 0 {
			if err := s.inst.EndCycle(1 + cycle); err != nil {
				t.Fatal(err)
			}
		} else if err := s.inst.EndCycle(1000); err != nil { // another cycle's
			t.Fatal(err)
		} else if len(s.lines) != int(cycle) {
			t.Fatalf("cycle %d: want it to go on after the end of another, got %q", cycle, s.lines)
		}
	}
	if i := slices.IndexFunc(s.lines, func(l string) bool { return l != "left" }); i >= 0 {
		t.Errorf("want nothing but left, got %q", s.lines[i])
	}
	// A step without a conversation isn't answered.
	c := guest.Call{Point: abi.PostFilter, Phase: abi.Step, Cycle: 7}
	if err := s.inst.EndCycle(50); err != nil {
		t.Fatal(err)
	}
	var out guest.Result
	if err := s.inst.Call(&c, &out); err == nil {
		t.Errorf("want a fault, got %+v", out)
	}
}
