// SPDX-License-Identifier: Apache-2.0

package berth_test

import (
	"testing"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
)

// ask runs a question about a pod and a node in Filter.
func ask(t *testing.T, pod *berthtest.PodBuilder, node *berthtest.NodeBuilder, question func(berth.Pod, berth.Node) bool) (answer bool) {
	t.Helper()
	p := &berth.Policy{Name: "ask", Version: "1", Reads: []berth.Section{
		berth.NodeLabels, berth.NodeTaints, berth.NodeConditions, berth.NodeImages, berth.NodePorts, berth.NodeResources,
		berth.NodeFeatures, berth.PodTolerations, berth.PodNodeSelector, berth.PodNodeAffinity, berth.PodResources,
		berth.PodPodAffinity, berth.PodLabels,
	}}
	h := berthtest.New(t, p, filterFunc(func(_ *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
		answer = question(pod, node)
		return nil
	}), nil)
	h.Filter(pod, node)
	return answer
}

func TestTolerations(t *testing.T) {
	type toleration [4]string
	tests := []struct {
		name        string
		taint       [3]string
		tolerations []toleration
		want        bool
	}{
		{"none", [3]string{"gpu", "a", "NoSchedule"}, nil, false},
		{"preference needs none", [3]string{"gpu", "a", "PreferNoSchedule"}, nil, true},
		{"equal", [3]string{"gpu", "a", "NoSchedule"}, []toleration{{"gpu", "Equal", "a", "NoSchedule"}}, true},
		{"other value", [3]string{"gpu", "a", "NoSchedule"}, []toleration{{"gpu", "Equal", "b", ""}}, false},
		{"other effect", [3]string{"gpu", "a", "NoExecute"}, []toleration{{"gpu", "Exists", "", "NoSchedule"}}, false},
		{"exists", [3]string{"gpu", "a", "NoExecute"}, []toleration{{"cpu", "Exists", "", ""}, {"gpu", "Exists", "", ""}}, true},
		{"every key", [3]string{"gpu", "a", "NoExecute"}, []toleration{{"", "Exists", "", ""}}, true},
		{"taint above", [3]string{"level", "6", "NoSchedule"}, []toleration{{"level", "Gt", "5", ""}}, true},
		{"taint not above", [3]string{"level", "5", "NoSchedule"}, []toleration{{"level", "Gt", "5", ""}}, false},
		{"taint below", [3]string{"level", "-6", "NoSchedule"}, []toleration{{"level", "Lt", "5", ""}}, true},
		{"no number", [3]string{"level", "low", "NoSchedule"}, []toleration{{"level", "Lt", "5", ""}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pod := berthtest.Pod("ns", "p")
			for _, o := range tt.tolerations {
				pod.Toleration(o[0], o[1], o[2], o[3])
			}
			node := berthtest.Node("n").Taint(tt.taint[0], tt.taint[1], tt.taint[2])
			got := ask(t, pod, node, func(p berth.Pod, n berth.Node) bool {
				_, untolerated := p.UntoleratedTaint(n)
				return !untolerated
			})
			if got != tt.want {
				t.Errorf("tolerated: want %t, got %t", tt.want, got)
			}
		})
	}
}

func TestSelects(t *testing.T) {
	node := berthtest.Node("n1").Label("zone", "a").Label("cores", "16").Label("empty", "")
	new := func() *berthtest.PodBuilder { return berthtest.Pod("ns", "p") }
	tests := []struct {
		name string
		pod  *berthtest.PodBuilder
		want bool
	}{
		{"anything", new(), true},
		{"selector", new().NodeSelector("zone", "a").NodeSelector("empty", ""), true},
		{"selector of another value", new().NodeSelector("zone", "b"), false},
		{"selector of an absent label", new().NodeSelector("rack", ""), false},
		{"in", new().RequireNode(berthtest.Match("zone", "In", "b", "a")), true},
		{"not in", new().RequireNode(berthtest.Match("zone", "NotIn", "a")), false},
		{"not in, absent", new().RequireNode(berthtest.Match("rack", "NotIn", "a")), true},
		{"exists", new().RequireNode(berthtest.Match("empty", "Exists"), berthtest.Match("rack", "DoesNotExist")), true},
		{"does not exist", new().RequireNode(berthtest.Match("zone", "DoesNotExist")), false},
		{"greater", new().RequireNode(berthtest.Match("cores", "Gt", "8"), berthtest.Match("cores", "Lt", "32")), true},
		{"not greater", new().RequireNode(berthtest.Match("cores", "Gt", "16")), false},
		{"not a number", new().RequireNode(berthtest.Match("zone", "Gt", "8")), false},
		{"terms are alternatives", new().RequireNode(berthtest.Match("zone", "In", "b")).RequireNode(berthtest.Match("zone", "In", "a")), true},
		{"an empty term", new().RequireNode(), false},
		{"name", new().RequireNodeName("n0", "n1"), true},
		{"other name", new().RequireNodeName("n0"), false},
		{"preferences don't count", new().PreferNode(10, berthtest.Match("zone", "In", "b")), true},
		{"selector and affinity", new().NodeSelector("zone", "b").RequireNode(berthtest.Match("zone", "In", "a")), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := ask(t, tt.pod, node, berth.Pod.Selects); got != tt.want {
				t.Errorf("want %t, got %t", tt.want, got)
			}
		})
	}
}

func TestLookups(t *testing.T) {
	gpu, ready := berth.NewSymbol("example.com/gpu"), berth.NewSymbol("Ready")
	pod := berthtest.Pod("ns", "p").Label("app", "web").Request("cpu", 500).RequirePods("zone", map[string]string{"app": "web"})
	node := berthtest.Node("n").Label("zone", "a").Condition("Ready", "True", "ok").Image("web:1", 5, 2).
		Allocatable("cpu", 4000).Allocatable("example.com/gpu", 4).Capacity("cpu", 4100).Feature("Resize").
		Pod(berthtest.Pod("ns", "q").Request("cpu", 1000).Request("example.com/gpu", 1).HostPort(80), berthtest.Pod("ns", "r"))
	checks := map[string]func(berth.Pod, berth.Node) bool{
		"label":     func(_ berth.Pod, n berth.Node) bool { v, ok := n.Label(zone); return ok && v == "a" },
		"no label":  func(p berth.Pod, _ berth.Node) bool { v, ok := p.Label(zone); return !ok && v == "" },
		"label is":  func(_ berth.Pod, n berth.Node) bool { return n.LabelIs(zone, berth.NewSymbol("a")) },
		"condition": func(_ berth.Pod, n berth.Node) bool { return n.Condition(ready) == berth.ConditionTrue },
		"no condition": func(_ berth.Pod, n berth.Node) bool {
			return n.Condition(berth.NewSymbol("MemoryPressure")) == berth.ConditionUnknown
		},
		"image": func(_ berth.Pod, n berth.Node) bool {
			i, ok := n.Image(berth.Intern("web:1"))
			return ok && i.Bytes() == 5 && i.Nodes() == 2
		},
		"feature": func(_ berth.Pod, n berth.Node) bool {
			return n.HasFeature(berth.NewSymbol("Resize")) && !n.HasFeature(berth.NewSymbol("Other"))
		},
		"port": func(_ berth.Pod, n berth.Node) bool { return n.Ports().Len() == 1 && n.Ports().At(0).HostPort() == 80 },
		"cpu": func(_ berth.Pod, n berth.Node) bool {
			r := n.Resource(berth.CPU)
			return r.Allocatable() == 4000 && r.Capacity() == 4100 && r.Requested() == 1000 && r.NonZeroRequested() == 1100 && r.Free() == 3000
		},
		"extended resource": func(_ berth.Pod, n berth.Node) bool {
			return n.Resource(gpu).Free() == 3 && n.Resource(berth.PodCount).Requested() == 2
		},
		"absent resource": func(p berth.Pod, n berth.Node) bool {
			return n.Resource(berth.NewSymbol("other")).Allocatable() == 0 && p.Resource(gpu).NonZeroRequest() == 0
		},
		"request": func(p berth.Pod, _ berth.Node) bool {
			return p.Resource(berth.CPU).Request() == 500 && p.Resource(berth.Memory).NonZeroRequest() == 200<<20
		},
		"selector": func(p berth.Pod, _ berth.Node) bool { return p.PodAffinity().At(0).Selector().Matches(p.Labels()) },
		"interned in this call": func(_ berth.Pod, _ berth.Node) bool {
			return berth.Intern("never seen before").String() == "never seen before" && berth.Intern("") == 0
		},
		"names": func(p berth.Pod, n berth.Node) bool { return n.Name() == "n" && p.Namespace().String() == "ns" },
	}
	for name, check := range checks {
		if !ask(t, pod, node, check) {
			t.Errorf("%s: want it so", name)
		}
	}
}

func TestTable(t *testing.T) {
	var table berth.Table[string]
	if got := table.Get(3); got != "" {
		t.Errorf("the empty table: want nothing, got %q", got)
	}
	table.Set(3, "three")
	table.Set(0, "zero")
	*table.At(5) += "five"
	for id, want := range map[berth.ID]string{0: "zero", 1: "", 3: "three", 5: "five", 6: "", 1 << 31: ""} {
		if got := table.Get(id); got != want {
			t.Errorf("id %d: want %q, got %q", id, want, got)
		}
	}
}
