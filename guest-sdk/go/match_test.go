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
		berth.NodeFeatures, berth.NodePodAffinity, berth.PodTolerations, berth.PodNodeSelector, berth.PodNodeAffinity, berth.PodResources,
		berth.PodPodAffinity, berth.PodLabels, berth.PodPorts, berth.PodVolumes, berth.PodIdentity,
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
		{"leading zeros", [3]string{"level", "007", "NoSchedule"}, []toleration{{"level", "Gt", "5", ""}}, false},
		{"above zero", [3]string{"level", "7", "NoSchedule"}, []toleration{{"level", "Gt", "0", ""}}, true},
		{"toleration with a sign", [3]string{"level", "7", "NoSchedule"}, []toleration{{"level", "Gt", "+5", ""}}, false},
		{"out of range", [3]string{"level", "9223372036854775808", "NoSchedule"}, []toleration{{"level", "Gt", "5", ""}}, false},
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

func TestCovers(t *testing.T) {
	key := berth.NewSymbol("node.kubernetes.io/unschedulable")
	for name, tt := range map[string]struct {
		pod  *berthtest.PodBuilder
		want bool
	}{
		"none":         {berthtest.Pod("ns", "p"), false},
		"everything":   {berthtest.Pod("ns", "p").Toleration("", "Exists", "", ""), true},
		"the key":      {berthtest.Pod("ns", "p").Toleration(key.String(), "Equal", "", "NoSchedule"), true},
		"other value":  {berthtest.Pod("ns", "p").Toleration(key.String(), "Equal", "yes", ""), false},
		"other effect": {berthtest.Pod("ns", "p").Toleration(key.String(), "Exists", "", "NoExecute"), false},
		"the second":   {berthtest.Pod("ns", "p").Toleration("gpu", "Exists", "", "").Toleration(key.String(), "Exists", "", ""), true},
	} {
		got := ask(t, tt.pod, berthtest.Node("n"), func(p berth.Pod, _ berth.Node) bool {
			return p.Covers(key.ID(), 0, berth.NoSchedule)
		})
		if got != tt.want {
			t.Errorf("%s: want %t, got %t", name, tt.want, got)
		}
	}
}

func TestPortConflict(t *testing.T) {
	for name, tt := range map[string]struct {
		pod  *berthtest.PodBuilder
		want int32
	}{
		"none":  {berthtest.Pod("ns", "p"), 0},
		"free":  {berthtest.Pod("ns", "p").HostPort(8080), 0},
		"taken": {berthtest.Pod("ns", "p").HostPort(8080).HostPort(80), 80},
	} {
		var port int32
		ask(t, tt.pod, berthtest.Node("n").Pod(berthtest.Pod("ns", "other").HostPort(80)), func(p berth.Pod, n berth.Node) bool {
			conflict, ok := p.PortConflict(n)
			if ok {
				port = conflict.HostPort()
			}
			return ok
		})
		if port != tt.want {
			t.Errorf("%s: want port %d, got %d", name, tt.want, port)
		}
	}
}

func TestPodFields(t *testing.T) {
	pod := berthtest.Pod("ns", "p").AssignedNode("n7").ImageVolume("weights", "weights:3").Claim("data")
	ask(t, pod, berthtest.Node("n"), func(p berth.Pod, _ berth.Node) bool {
		if p.AssignedNode() != "n7" {
			t.Errorf("want the pod on n7, got %q", p.AssignedNode())
		}
		if first, second := p.Volumes().At(0).Image(), p.Volumes().At(1).Image(); first.String() != "weights:3" || second != 0 {
			t.Errorf("want the image of the first volume only, got %q and %q", first, second)
		}
		return true
	})
}

func TestSeveralReasons(t *testing.T) {
	pod, node := berthtest.Pod("ns", "p"), berthtest.Node("n")
	h := berthtest.New(t, &berth.Policy{Name: "reasons", Version: "1"}, filterFunc(func(*berth.Cycle, berth.Pod, berth.Node) *berth.Status {
		first := berth.Unschedulable("no cpu")
		both := first.And("no memory").And("no disk")
		if first.Reason() != "no cpu" || both.Reason() != "no cpu" {
			t.Errorf("want the first reason, got %q and %q", first.Reason(), both.Reason())
		}
		return both
	}), nil)
	want := berthtest.Verdict{Code: berthtest.Unschedulable, Reason: "no cpu; no memory; no disk"}
	if got := h.Filter(pod, node)[0]; got != want {
		t.Errorf("want %v, got %v", want, got)
	}
	if n := h.Cycle(pod).FilterAllocs(node); n != 0 {
		t.Errorf("want no allocations, got %v", n)
	}
	var many *berth.Status
	h = berthtest.New(t, &berth.Policy{Name: "many", Version: "1"}, filterFunc(func(*berth.Cycle, berth.Pod, berth.Node) *berth.Status {
		many = berth.UnschedulableAndUnresolvable("0")
		for _, r := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
			many = many.And(r)
		}
		return many
	}), nil)
	want = berthtest.Verdict{Code: berthtest.UnschedulableAndUnresolvable, Reason: "0; 1; 2; 3; 4; 5; 6; 7"}
	if got := h.Filter(pod, node)[0]; got != want {
		t.Errorf("want the first 8 reasons, %v, got %v", want, got)
	}
}

func TestClusterSize(t *testing.T) {
	seen := 0
	filter := filterFunc(func(c *berth.Cycle, _ berth.Pod, _ berth.Node) *berth.Status {
		seen = c.Nodes()
		return nil
	})
	h := berthtest.New(t, &berth.Policy{Name: "size", Version: "1"}, filter, nil)
	h.SetNodeCount(17)
	if h.Filter(berthtest.Pod("ns", "p"), berthtest.Node("n")); seen != 17 {
		t.Errorf("want 17 nodes, got %d", seen)
	}
}

func TestNodePodAffinity(t *testing.T) {
	node := berthtest.Node("n").Pod(berthtest.Pod("a", "first")).Pod(berthtest.Pod("b", "second").
		RequirePods("zone", map[string]string{"app": "web"}).AvoidPods("rack", map[string]string{"app": "db"}))
	ask(t, berthtest.Pod("ns", "p"), node, func(_ berth.Pod, n berth.Node) bool {
		terms := n.PodAffinity()
		if terms.Len() != 2 {
			t.Fatalf("want 2 terms, got %d", terms.Len())
		}
		if first, second := terms.At(0), terms.At(1); first.Anti() || !second.Anti() || first.Pod() != 1 || second.Pod() != 1 {
			t.Errorf("want the affinity and then the anti-affinity of pod 1, got %t of %d and %t of %d", first.Anti(), first.Pod(), second.Anti(), second.Pod())
		}
		if namespaces := terms.At(1).Namespaces(); namespaces.Len() != 1 || namespaces.At(0).String() != "b" {
			t.Error("want the namespace of the pod that has the term")
		}
		return true
	})
}

func TestMatchesMap(t *testing.T) {
	pod := berthtest.Pod("ns", "p").RequirePods("zone", map[string]string{"team": "a", "stage": ""})
	for name, c := range map[string]struct {
		labels map[string]string
		want   bool
	}{
		"both":    {map[string]string{"team": "a", "stage": "", "more": "x"}, true},
		"another": {map[string]string{"team": "b", "stage": ""}, false},
		"absent":  {map[string]string{"team": "a"}, false},
		"none":    {nil, false},
	} {
		got := ask(t, pod, berthtest.Node("n"), func(p berth.Pod, _ berth.Node) bool {
			return p.PodAffinity().At(0).Selector().MatchesMap(c.labels)
		})
		if got != c.want {
			t.Errorf("%s: want %t, got %t", name, c.want, got)
		}
	}
	ask(t, pod, berthtest.Node("n"), func(p berth.Pod, _ berth.Node) bool {
		if p.PodAffinity().At(0).NamespaceSelector().MatchesMap(nil) {
			t.Error("want a selector that isn't set to select nothing")
		}
		return true
	})
}
