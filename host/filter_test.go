// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/guest"
)

// answered begins a cycle whose verdicts are all there.
func answered(t testing.TB, policies, nodes int, verdict guest.Verdict) (*Berth, fwk.CycleState, []fwk.NodeInfo) {
	var entries []*entry
	for i := range policies {
		entries = append(entries, entryOf(testVersion(t, fmt.Sprint("p", i), "", abi.Filter)))
	}
	h, b, _ := testHost(entries...)
	list := testNodes(numbered(nodes)...)
	state := framework.NewCycleState()
	cs := h.begin(state, "berth", testPod("p"), list)
	for _, cp := range cs.policies {
		cp.answers = make([]answer, nodes)
		for i, ni := range list {
			slot, _ := h.index.slot(ni.Node().Name)
			cp.answers[slot] = answer{cs.id, list[i].GetGeneration(), ni, verdict}
		}
	}
	return b, state, list
}

// A look-up of an accepted node allocates nothing beyond what the framework's
// own CycleState does to find any plugin's state.
func TestFilterAllocations(t *testing.T) {
	b, state, list := answered(t, 3, 100, guest.Verdict{})
	pod, i := testPod("p"), 0
	read := testing.AllocsPerRun(1000, func() { stateOf(state) })
	filter := testing.AllocsPerRun(1000, func() {
		if s := b.Filter(context.Background(), state, pod, list[i%len(list)]); s != nil {
			t.Fatal(s)
		}
		i++
	})
	if filter != read {
		t.Errorf("want %v allocations, those of the framework's Read, got %v", read, filter)
	}
}

func BenchmarkFilter(b *testing.B) {
	for _, policies := range []int{1, 3} {
		for name, verdict := range map[string]guest.Verdict{"accepted": {}, "rejected": {Code: abi.Unschedulable, Reasons: []string{"p: no"}}} {
			b.Run(fmt.Sprintf("%d/%s", policies, name), func(b *testing.B) {
				plugin, state, list := answered(b, policies, 5000, verdict)
				pod, i := testPod("p"), 0
				b.ReportAllocs()
				for b.Loop() {
					plugin.Filter(context.Background(), state, pod, list[i%len(list)])
					i++
				}
			})
		}
	}
}

// A verdict counts while pointer and generation are those of the look-up.
func TestFilterAnswerIsOfThisNode(t *testing.T) {
	b, state, list := answered(t, 1, 2, guest.Verdict{Code: abi.Unschedulable, Reasons: []string{"p0: cached"}})
	cs := stateOf(state)
	if s := b.Filter(context.Background(), state, cs.pod, list[0]); s.Message() != "p0: cached" {
		t.Fatalf("want the cached verdict, got %v", s)
	}
	s := b.Filter(context.Background(), state, cs.pod, list[0])
	s.AppendReason("written by the framework")
	if again := b.Filter(context.Background(), state, cs.pod, list[0]); again.Message() != "p0: cached" {
		t.Errorf("want statuses that nobody else writes to, got %v", again)
	}
	cs.policies[0].failed = &guest.Fault{Cause: guest.Trap, Err: fmt.Errorf("asked anew")}
	for name, ni := range map[string]fwk.NodeInfo{"a copy": list[0].Snapshot(), "a changed one": list[1]} {
		if name == "a changed one" {
			info, err := framework.NewPodInfo(testPod("other"))
			if err != nil {
				t.Fatal(err)
			}
			ni.AddPodInfo(info)
		}
		if s := b.Filter(context.Background(), state, cs.pod, ni); s.Code() != fwk.Error {
			t.Errorf("%s: want the guest asked, got %v", name, s)
		}
	}
	clone := state.Clone()
	stateOf(clone).changed = true
	if s := b.Filter(context.Background(), clone, cs.pod, list[0]); s.Code() != fwk.Error {
		t.Errorf("a changed state: want the guest asked, got %v", s)
	}
}

// Which nodes go along in a call: those that will be asked for next and have no
// verdict, once each.
func TestPick(t *testing.T) {
	v := testVersion(t, "p", "", abi.Filter)
	h, _, _ := testHost(entryOf(v))
	list := testNodes(numbered(8)...)
	for name, c := range map[string]struct {
		allowed []string
		chunk   int
		alone   bool
		asked   []int // in this order
		want    []string
	}{
		"one at first":           {nil, 1, false, []int{3}, []string{"[n3]"}},
		"behind it, around":      {nil, 4, false, []int{6, 2, 4}, []string{"[n6 n7 n0 n1]", "[n2 n3 n4 n5]", "[n4]"}},
		"more than there are":    {nil, 64, false, []int{5, 5}, []string{"[n5 n6 n7 n0 n1 n2 n3 n4]", "[n5]"}},
		"alone after a fault":    {nil, 64, true, []int{1}, []string{"[n1]"}},
		"those that are allowed": {[]string{"n1", "n4", "n6", "ghost"}, 2, false, []int{6, 4, 4}, []string{"[n6 n1]", "[n4]", "[n4]"}},
		"none is allowed":        {[]string{"ghost"}, 4, false, []int{2}, []string{"[n2]"}},
	} {
		t.Run(name, func(t *testing.T) {
			cs := h.begin(framework.NewCycleState(), "berth", testPod("p"), list)
			cp := cs.policies[0]
			cp.chunk, cp.alone = c.chunk, c.alone
			if c.allowed != nil {
				cs.order = h.index.places(sets.New(c.allowed...))
			}
			for i, at := range c.asked {
				slot, _ := h.index.snapshotSlot(list[at])
				cp.pick(cs.cycle, slot, list[at])
				var got []string
				for _, n := range v.pending {
					got = append(got, n.node.Node().Name)
					for int(n.slot) >= len(v.answers) {
						v.answers = append(v.answers, answer{})
					}
					v.answers[n.slot].cycle = cs.id
				}
				if fmt.Sprint(got) != c.want[i] {
					t.Errorf("asked for n%d: want %s, got %v", at, c.want[i], got)
				}
			}
		})
	}
}

// A policy that makes its reasons up fills no pod's condition.
func TestReasonsBounded(t *testing.T) {
	cp := &cyclePolicy{version: testVersion(t, "p", "")}
	seen := map[string]int{}
	for range 2 {
		for i := range 1000 {
			v := cp.bounded(guest.Verdict{Code: abi.Unschedulable, Reasons: []string{fmt.Sprint("p: node ", i)}})
			if v.Code != abi.Unschedulable || len(v.Reasons) != 1 {
				t.Fatalf("want the verdict as it was, got %+v", v)
			}
			seen[v.Reasons[0]]++
		}
	}
	if len(seen) != maxReasons+1 || seen["p: other reasons"] != 2*(1000-maxReasons) || seen["p: node 0"] != 2 {
		t.Errorf("want %d reasons and the rest as others, got %d: %v", maxReasons, len(seen), seen)
	}
	// A hundred sets of eight reasons are eight reasons.
	few := &cyclePolicy{version: testVersion(t, "p", "")}
	for i := range 100 {
		v := guest.Verdict{Code: abi.Unschedulable}
		for bit := range 8 {
			if i+1>>bit&1 == 1 {
				v.Reasons = append(v.Reasons, fmt.Sprint("p: reason ", bit))
			}
		}
		if got := few.bounded(v); !slices.Equal(got.Reasons, v.Reasons) {
			t.Errorf("want the reasons as they were, %v, got %v", v.Reasons, got.Reasons)
		}
	}
	mixed := cp.bounded(guest.Verdict{Code: abi.Unschedulable, Reasons: []string{"p: node 3", "p: new", "p: newer"}})
	if want := []string{"p: node 3", "p: other reasons"}; !slices.Equal(mixed.Reasons, want) {
		t.Errorf("want %v, got %v", want, mixed.Reasons)
	}
	if v := cp.bounded(guest.Verdict{}); v.Reasons != nil {
		t.Errorf("want an accepted node without reasons, got %v", v)
	}
}
