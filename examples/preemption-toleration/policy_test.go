// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
)

var now = time.Unix(1_800_000_000, 0)

// newHost is a host with two PriorityClasses: training (1000), whose pods have an
// hour, but not from pods of 100000 on, and scratch (1000, too), of which nothing
// is said.
func newHost(t *testing.T, config map[string]any) *berthtest.Host {
	t.Helper()
	h := berthtest.New(t, &policy, &preemptionToleration{}, config)
	h.SetNow(now)
	setClass(h, "training", map[string]any{"berth.dev/minimum-preemptable-priority": "100000", "berth.dev/toleration-seconds": "3600"})
	setClass(h, "scratch", nil)
	return h
}

func setClass(h *berthtest.Host, name string, annotations map[string]any) {
	h.SetObject(priorityClasses, "", name, map[string]any{
		"value": 1000, "metadata": map[string]any{"name": name, "annotations": annotations},
	})
}

// running is a pod of a class that has run for a time and takes a core.
func running(class, name string, since time.Duration) *berthtest.PodBuilder {
	return berthtest.Pod("default", name).Priority(1000).Request("cpu", 1000).Started(now.Add(-since).Unix()).
		Field(class, "spec", "priorityClassName")
}

// node is a node that its pods fill.
func node(name string, pods ...*berthtest.PodBuilder) *berthtest.NodeBuilder {
	return berthtest.Node(name).Allocatable("cpu", int64(len(pods))*1000).Pod(pods...)
}

// pending is the pod that needs a core.
func pending(priority int32) *berthtest.PodBuilder {
	return berthtest.Pod("default", "pending").Priority(priority).Request("cpu", 1000)
}

// preempt runs the policy for a pod that needs a core.
func preempt(h *berthtest.Host, pod *berthtest.PodBuilder, nodes ...*berthtest.NodeBuilder) berthtest.PostFilterResult {
	h.SetNodes(nodes...)
	c := h.Cycle(pod)
	defer c.End()
	return c.PostFilter(berthtest.Fits(pod), nodes...)
}

// evicts is the answer with these victims on a node, nobody the one without any.
func evicts(node string, names ...string) berthtest.PostFilterResult {
	r := berthtest.PostFilterResult{Node: node}
	for _, name := range names {
		r.Victims = append(r.Victims, "uid-default-"+name)
	}
	return r
}

func nobody(reason string) berthtest.PostFilterResult {
	return berthtest.PostFilterResult{Verdict: berthtest.Verdict{Code: berthtest.UnschedulableAndUnresolvable, Reason: reason}}
}

const (
	none      = "preemption: no node fits without pods of a lower priority"
	yet       = "preemption: the pods in the way still tolerate it"
	protected = "preemption: disruption budgets protect the pods in the way"
)

func TestVictims(t *testing.T) {
	tests := []struct {
		name  string
		pod   *berthtest.PodBuilder
		nodes []*berthtest.NodeBuilder
		want  berthtest.PostFilterResult
	}{
		{"one that tolerates nothing", pending(5000),
			[]*berthtest.NodeBuilder{node("a", running("training", "t", time.Minute)), node("b", running("scratch", "s", time.Minute))}, evicts("b", "s")},
		{"beside one that does", pending(5000),
			[]*berthtest.NodeBuilder{node("a", running("training", "t", time.Minute), running("scratch", "s", time.Hour))}, evicts("a", "s")},
		{"whose time isn't over", pending(5000),
			[]*berthtest.NodeBuilder{node("a", running("training", "t", time.Hour-time.Second))}, nobody(yet)},
		{"whose time is over", pending(5000),
			[]*berthtest.NodeBuilder{node("a", running("training", "t", time.Hour))}, evicts("a", "t")},
		{"about to start", pending(5000),
			[]*berthtest.NodeBuilder{node("a", running("training", "t", 0).Started(0))}, nobody(yet)},
		{"for a pod that needn't wait", pending(100000),
			[]*berthtest.NodeBuilder{node("a", running("training", "t", time.Minute))}, evicts("a", "t")},
		{"not for one just below", pending(99999),
			[]*berthtest.NodeBuilder{node("a", running("training", "t", time.Minute))}, nobody(yet)},
		{"nobody of the same priority", pending(1000),
			[]*berthtest.NodeBuilder{node("a", running("scratch", "s", time.Hour))}, nobody(none)},
		{"no candidates", pending(5000), nil, nobody(none)},
		{"too small a node", pending(5000).Request("cpu", 3000),
			[]*berthtest.NodeBuilder{node("a", running("scratch", "s", time.Hour))}, nobody(none)},
		{"where it hurts least", pending(5000).Request("cpu", 2000),
			[]*berthtest.NodeBuilder{
				node("a", running("scratch", "s1", time.Hour), running("scratch", "s2", time.Hour)),
				node("b", running("scratch", "s3", time.Hour), running("scratch", "s4", time.Hour).Priority(10)),
			}, evicts("b", "s3", "s4")},
		{"preemption policy Never", pending(5000).NeverPreempts(),
			[]*berthtest.NodeBuilder{node("a", running("scratch", "s", time.Hour))}, nobody("the pod's preemption policy is Never")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, preempt(newHost(t, nil), tt.pod, tt.nodes...)); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

func TestAnnotations(t *testing.T) {
	tests := []struct {
		name             string
		minimum, seconds any // nil: not there
		want             berthtest.PostFilterResult
	}{
		{"for ever", "100000", "-1", nobody(yet)},
		{"no time", "100000", "0", evicts("a", "t")},
		{"no seconds", "100000", nil, evicts("a", "t")},
		{"no minimum", nil, "3600", evicts("a", "t")},
		{"seconds that are no number", "100000", "1h", evicts("a", "t")},
		{"a minimum that is no number", "high", "3600", evicts("a", "t")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, nil)
			annotations := map[string]any{}
			if tt.minimum != nil {
				annotations["berth.dev/minimum-preemptable-priority"] = tt.minimum
			}
			if tt.seconds != nil {
				annotations["berth.dev/toleration-seconds"] = tt.seconds
			}
			setClass(h, "training", annotations)
			if diff := cmp.Diff(tt.want, preempt(h, pending(5000), node("a", running("training", "t", time.Minute)))); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
			if got := h.Kept("end/uid-default-pending"); got != nil {
				t.Errorf("want no end kept, got %v", got)
			}
		})
	}
}

// Who must wait is woken when the first time is over.
func TestWaits(t *testing.T) {
	h := newHost(t, nil)
	nodes := []*berthtest.NodeBuilder{
		node("a", running("training", "t1", time.Minute)), node("b", running("training", "t2", 50*time.Minute)), node("c", running("training", "t3", 2*time.Minute)),
	}
	if diff := cmp.Diff(nobody(yet), preempt(h, pending(5000), nodes...)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	const key = "end/uid-default-pending"
	end := now.Add(10 * time.Minute)
	if got := h.Kept(key); got != end.Unix() {
		t.Errorf("want the end %d kept, got %v", end.Unix(), got)
	}
	h.SetNow(end)
	if got := h.Kept(key); got != nil {
		t.Errorf("want it kept until then, got %v", got)
	}
	if diff := cmp.Diff(evicts("b", "t2"), preempt(h, pending(5000), nodes...)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestBudgets(t *testing.T) {
	guarded := func(name string) *berthtest.PodBuilder { return running("scratch", name, time.Hour).Label("app", "db") }
	free := running("scratch", "free", time.Minute)
	tests := []struct {
		name     string
		budgets  string
		selector any
		allowed  int
		nodes    []*berthtest.NodeBuilder
		want     berthtest.PostFilterResult
	}{
		{"protected", respect, map[string]any{"matchLabels": map[string]any{"app": "db"}}, 0, []*berthtest.NodeBuilder{node("a", guarded("g"))}, nobody(protected)},
		{"allowed", respect, map[string]any{"matchLabels": map[string]any{"app": "db"}}, 1, []*berthtest.NodeBuilder{node("a", guarded("g"))}, evicts("a", "g")},
		{"another's", respect, map[string]any{"matchLabels": map[string]any{"app": "web"}}, 0, []*berthtest.NodeBuilder{node("a", guarded("g"))}, evicts("a", "g")},
		{"everybody's", respect, map[string]any{}, 0, []*berthtest.NodeBuilder{node("a", guarded("g"))}, nobody(protected)},
		{"nobody's", respect, nil, 0, []*berthtest.NodeBuilder{node("a", guarded("g"))}, evicts("a", "g")},
		{"another node", respect, map[string]any{"matchLabels": map[string]any{"app": "db"}}, 0, []*berthtest.NodeBuilder{node("a", guarded("g")), node("b", free)}, evicts("b", "free")},
		{"rather another node", violate, map[string]any{"matchLabels": map[string]any{"app": "db"}}, 0, []*berthtest.NodeBuilder{node("a", guarded("g")), node("b", free)}, evicts("b", "free")},
		{"if it must be", violate, map[string]any{"matchLabels": map[string]any{"app": "db"}}, 0, []*berthtest.NodeBuilder{node("a", guarded("g"))}, evicts("a", "g")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, map[string]any{"disruptionBudgets": tt.budgets})
			h.SetObject(disruptionBudgets, "default", "db", map[string]any{
				"metadata": map[string]any{"namespace": "default", "name": "db"},
				"spec":     map[string]any{"selector": tt.selector}, "status": map[string]any{"disruptionsAllowed": tt.allowed},
			})
			tt.want.ViolatePDBs = tt.budgets == violate && len(tt.want.Victims) > 0
			if diff := cmp.Diff(tt.want, preempt(h, pending(5000), tt.nodes...)); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

// A budget of another namespace, and each operator of a selector.
func TestSelectors(t *testing.T) {
	expression := func(operator string, values ...any) map[string]any {
		return map[string]any{"matchExpressions": []any{map[string]any{"key": "app", "operator": operator, "values": values}}}
	}
	for i, tt := range []struct {
		selector map[string]any
		protects bool
	}{
		{expression("In", "db", "web"), true}, {expression("In", "web"), false},
		{expression("NotIn", "web"), true}, {expression("NotIn", "db"), false},
		{expression("Exists"), true}, {expression("DoesNotExist"), false},
	} {
		for _, namespace := range []string{"default", "other"} {
			h := newHost(t, nil)
			h.SetObject(disruptionBudgets, namespace, "b", map[string]any{
				"metadata": map[string]any{"namespace": namespace, "name": "b"}, "spec": map[string]any{"selector": tt.selector},
			})
			want := evicts("a", "g")
			if tt.protects && namespace == "default" {
				want = nobody(protected)
			}
			if diff := cmp.Diff(want, preempt(h, pending(5000), node("a", running("scratch", "g", time.Hour).Label("app", "db")))); diff != "" {
				t.Errorf("%d in %s: want (-), got (+):\n%s", i, namespace, diff)
			}
		}
	}
}

// While classes or budgets aren't known nobody is evicted.
func TestNotReady(t *testing.T) {
	for _, resource := range []string{priorityClasses, disruptionBudgets} {
		h := newHost(t, nil)
		h.SetNotReady(resource, true)
		if got := preempt(h, pending(5000), node("a", running("scratch", "s", time.Hour))); got.Code != berthtest.Error || len(got.Victims) > 0 {
			t.Errorf("%s: want an error and no victims, got %+v", resource, got)
		}
	}
}

// The search ends after so many nodes with victims.
func TestCandidates(t *testing.T) {
	h := newHost(t, map[string]any{"candidates": 2})
	asked := map[string]bool{}
	var nodes []*berthtest.NodeBuilder
	for i := range 10 {
		nodes = append(nodes, node("n"+strconv.Itoa(i), running("scratch", "s"+strconv.Itoa(i), time.Hour)))
	}
	h.SetNodes(nodes...)
	pod := pending(5000)
	c := h.Cycle(pod)
	defer c.End()
	fits := berthtest.Fits(pod)
	r := c.PostFilter(func(n *berthtest.NodeBuilder) berthtest.Verdict { asked[n.Name()] = true; return fits(n) }, nodes...)
	if len(asked) != 2 || !asked[r.Node] {
		t.Errorf("want one of two nodes, got %s of %v", r.Node, asked)
	}
}
