// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	clienttesting "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/berth-scheduler/berth/host/evictor"
)

// room is the guest preemptor with a config.
func room(t *testing.T, name, config, fields string) Policy {
	return Policy{Name: name, Module: goGuest(t, preemptor), Config: config, Fields: "grants: [{intent: evict}]\n" + fields}
}

func cpus(n int) map[v1.ResourceName]string { return map[v1.ResourceName]string{"cpu": fmt.Sprint(n)} }

// postFiltered is what PostFilter came to; it waits until so many pods are
// evicted.
func postFiltered(w *World, p *v1.Pod, victims int) (node string, evicted []string, s *fwk.Status) {
	w.Helper()
	before := w.evicted()
	w.Publish(p)
	node, s = w.Filter(p, 0).Preempt()
	w.Eventually(fmt.Sprint(victims, " victims"), func() bool { return w.evicted().Difference(before).Len() >= victims })
	return node, sets.List(w.evicted().Difference(before)), s
}

// testPostFilter has policies make room, with the scheduler's own preemption
// behind them.
func testPostFilter(t *testing.T, e Engine) {
	t.Run("as DefaultPreemption", func(t *testing.T) { equalDefault(t, e) })
	t.Run("several nodes", func(t *testing.T) { severalNodes(t, e) })
	t.Run("refusals", func(t *testing.T) { refusedEvictions(t, e) })
	t.Run("chain", func(t *testing.T) { postFilterChain(t, e) })
	t.Run("after a restart", func(t *testing.T) { victimsOfBefore(t, e) })
	t.Run("reads", func(t *testing.T) {
		w := e.NewWorld(t, Setting{Fit: true})
		w.AddNodes(node("n1", "a", 1))
		w.AddPods(pod("low").Node("n1").Priority(1).Req(cpus(1)).Obj())
		w.Nominate(pod("vip").Priority(100).Obj(), "n1")
		name := w.Load(room(t, "room", "{how: report, node: n1}", ""))
		_, _, s := postFiltered(w, pod("p").Req(cpus(1)).Obj(), 0)
		if want := name + ": nominated: default/vip vip 100, status: 2 Insufficient cpu"; !strings.Contains(s.Message(), want) {
			t.Errorf("want %q, got %s", want, describe(s))
		}
		w.Load(room(t, "room", "{how: report, node: no such node}", ""))
		if _, _, s := postFiltered(w, pod("q").Req(cpus(1)).Obj(), 0); !strings.Contains(s.Message(), name+": nominated:, status: 0") {
			t.Errorf("want nothing about an unknown node, got %s", describe(s))
		}
	})
	t.Run("the policy's own filter", func(t *testing.T) {
		// A dry run asks the policy that waits for its answer.
		w := e.NewWorld(t, Setting{})
		w.AddNodes(node("n1", "a", 1))
		w.AddPods(pod("blocker").Node("n1").Priority(1).Label("blocker", "").Obj(), pod("other").Node("n1").Priority(0).Obj())
		w.Load(room(t, "room", "{how: default}", ""))
		node, evicted, s := postFiltered(w, pod("p").Priority(10).Obj(), 1)
		if node != "n1" || !slices.Equal(evicted, []string{"blocker"}) {
			t.Errorf("want the blocker evicted alone, got %v for %q: %s", evicted, node, describe(s))
		}
	})
	t.Run("without PreFilter", func(t *testing.T) {
		w := e.NewWorld(t, Setting{})
		w.AddNodes(node("n1", "a", 1))
		w.Refresh()
		name := w.Load(room(t, "room", "{how: nominate, node: n1}", ""))
		statuses := framework.NewNodeToStatus(map[string]*fwk.Status{}, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "another plugin's PreFilter"))
		r, s := w.plugin().PostFilter(w.ctx, framework.NewCycleState(), pod("p").Obj(), statuses)
		if !s.IsSuccess() || r.NominatedNodeName != "n1" || w.calls(name, "post_filter") != 1 {
			t.Errorf("want the policy asked, got %v, %s", r, describe(s))
		}
	})
}

// equalDefault compares a policy that does what DefaultPreemption does, by dry
// runs, with DefaultPreemption.
func equalDefault(t *testing.T, e Engine) {
	with, without := e.NewWorld(t, Setting{Fit: true}), e.NewWorld(t, Setting{Fit: true})
	name := with.Load(room(t, "room", "{how: default}", ""))
	found := 0
	for round := range 12 {
		r := rand.New(rand.NewPCG(1, uint64(round)))
		var nodes []*v1.Node
		var pods []*v1.Pod
		for i := range 6 {
			n := node(fmt.Sprintf("r%d-n%d", round, i), "a", 4)
			nodes = append(nodes, n)
			for j, left := 0, 4; left > 0; j++ {
				size := 1 + r.IntN(left)
				left -= size
				pods = append(pods, pod(fmt.Sprintf("r%d-%d-%d", round, i, j)).Node(n.Name).Priority(int32(r.IntN(1000))).Req(cpus(size)).Obj())
			}
		}
		high := pod(fmt.Sprint("high", round)).Priority(int32(1 + 150*(round%6))).Req(cpus(1 + round%3)).Obj()
		play := func(w *World, victims int) (string, []string) {
			w.AddNodes(nodes...)
			w.AddPods(pods...)
			node, evicted, _ := postFiltered(w, high.DeepCopy(), victims)
			for _, p := range pods {
				w.RemovePod(p)
			}
			for _, n := range nodes {
				w.RemoveNode(n)
			}
			return node, evicted
		}
		wantNode, want := play(without, 0)
		node, evicted := play(with, len(want))
		if node != wantNode || !slices.Equal(evicted, want) {
			t.Errorf("round %d: want %v evicted for node %q, got %v for %q", round, want, wantNode, evicted, node)
		}
		if node != "" {
			found++
		}
	}
	if found < 4 || found == 12 {
		t.Errorf("want some preemptions and some in vain, got %d of 12", found)
	}
	if n := with.faults(name, "post_filter", "bad_result"); n > 0 {
		t.Errorf("want no faults, got %v", n)
	}
}

// severalNodes evicts pods of two nodes because only both together help: the
// state that the filters keep of other nodes' pods takes part in a dry run.
// Nominations of less important pods to both nodes are taken back.
func severalNodes(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{})
	w.Load(Policy{Name: "quota", Module: goGuest(t, stateful), Config: "{most: 1}"}, room(t, "room", "{how: together}", ""))
	w.AddNodes(node("a1", "a", 4), node("a2", "a", 4))
	for _, n := range []string{"a1", "a2"} {
		w.AddPods(pod("on-"+n).Node(n).Priority(1).Label("group", "g").Obj())
		w.Nominate(pod("nominee-"+n).Priority(5).Obj(), n)
	}
	w.Nominate(pod("higher").Priority(50).Obj(), "a2")
	node, evicted, s := postFiltered(w, pod("p").Priority(10).Label("group", "g").Obj(), 2)
	if node != "a1" || !slices.Equal(evicted, []string{"on-a1", "on-a2"}) {
		t.Errorf("want both pods of the zone evicted for a1, got %v for %q: %s", evicted, node, describe(s))
	}
	w.Eventually("only the higher nomination stays", func() bool {
		var left []string
		for _, n := range []string{"a1", "a2"} {
			for _, p := range w.Scheduler.SchedulingQueue.NominatedPodsForNode(n) {
				left = append(left, p.GetPod().Name)
			}
		}
		patched := sets.New[string]()
		for _, a := range w.Client.Actions() {
			if p, ok := a.(clienttesting.PatchAction); ok && strings.Contains(string(p.GetPatch()), "nominatedNodeName") {
				patched.Insert(p.GetName())
			}
		}
		return slices.Equal(left, []string{"higher"}) || patched.Equal(sets.New("nominee-a1", "nominee-a2"))
	})
	for _, name := range []string{"on-a1", "on-a2"} {
		w.Eventually("an event of "+name, func() bool {
			return w.Events.has(name + ": Preempted: Preempted by policy " + w.Named("room") + " for pod p on node " + strings.TrimPrefix(name, "on-"))
		})
	}
	// Until the snapshot has lost them, the pod has no second choice, nor has
	// DefaultPreemption when the policy is gone.
	for _, gone := range []bool{false, true} {
		if gone {
			w.Remove("room")
		}
		_, s := w.Filter(pod("p").Priority(10).Label("group", "g").Obj(), 0).Preempt()
		if got := describe(s); got != "UnschedulableAndUnresolvable: waiting for 2 victims of its preemption to end" {
			t.Errorf("want no second preemption, got %s", got)
		}
	}
}

// victimsOfBefore are victims that a process before this one evicted: while they
// end the pod they ended for has no second choice.
func victimsOfBefore(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{})
	w.Load(room(t, "room", "{how: nominate, node: n2}", ""))
	w.AddNodes(node("n1", "a", 4), node("n2", "a", 4))
	w.Refresh()
	ending := func(name, node, message string, priority int32) *v1.Pod {
		p := pod(name).Node(node).Priority(priority).Terminating().Obj()
		p.Status.Conditions = []v1.PodCondition{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonPreemptionByScheduler, Message: message}}
		return p
	}
	mine := evictor.Message("berth", "room", "pod", "p")
	rejected, lost := fwk.NewStatus(fwk.Unschedulable), fwk.NewStatus(fwk.UnschedulableAndUnresolvable)
	for what, c := range map[string]struct {
		nominated string
		pods      []*v1.Pod
		n1        *fwk.Status
		want      string
	}{
		"of anyone on the nominated node": {"n1", []*v1.Pod{ending("v", "n1", "somebody else's", 1)}, rejected, "waiting for 1 victims of its preemption to end"},
		"its own elsewhere":               {"n1", []*v1.Pod{ending("v", "n2", mine, 1)}, rejected, "waiting for 1 victims of its preemption to end"},
		"somebody's elsewhere":            {"n1", []*v1.Pod{ending("v", "n2", "somebody else's", 1)}, rejected, ""},
		"more important":                  {"n1", []*v1.Pod{ending("v", "n1", "somebody else's", 10)}, rejected, ""},
		"ending by itself":                {"n1", []*v1.Pod{pod("v").Node("n1").Terminating().Obj()}, rejected, ""},
		"it can't go there any more":      {"n1", []*v1.Pod{ending("v", "n1", mine, 1)}, lost, ""},
		"not nominated":                   {"", []*v1.Pod{ending("v", "n1", mine, 1)}, rejected, ""},
	} {
		t.Run(what, func(t *testing.T) {
			for _, p := range c.pods {
				if err := w.Scheduler.Cache.AddPod(w.logger, p); err != nil {
					t.Fatal(err)
				}
				defer w.RemovePod(p)
			}
			w.Refresh()
			p := pod("p").Priority(10).NominatedNodeName(c.nominated).Obj()
			statuses := framework.NewNodeToStatus(map[string]*fwk.Status{"n1": c.n1, "n2": rejected}, lost)
			_, s := w.plugin().PostFilter(w.ctx, framework.NewCycleState(), p, statuses)
			if c.want == "" && !s.IsSuccess() || c.want != "" && (s.Message() != c.want || s.Code() != fwk.UnschedulableAndUnresolvable) {
				t.Errorf("want %q, got %s", c.want, describe(s))
			}
		})
	}
}

// refusedEvictions are what the host doesn't do for any policy.
func refusedEvictions(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{Fit: true})
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "keep-it"}}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
	if err := w.Informers.Policy().V1().PodDisruptionBudgets().Informer().GetStore().Add(budget); err != nil {
		t.Fatal(err)
	}
	w.AddNodes(node("n1", "a", 1), node("n2", "a", 1))
	w.AddPods(pod("db").Node("n1").Priority(1).Label("app", "db").Req(cpus(1)).Obj(), pod("peer").Node("n2").Priority(10).Req(cpus(1)).Obj())
	ends := "failurePolicy: Fail\n"
	w.Load(
		room(t, "respect", "{how: all, node: n1}", ends+"match: {podSelector: {matchLabels: {ask: respect}}}"),
		room(t, "violate", "{how: all, node: n1, violate: true}", ends+"match: {podSelector: {matchLabels: {ask: violate}}}"),
		room(t, "equal", "{how: all, node: n2}", ends+"match: {podSelector: {matchLabels: {ask: equal}}}"),
		Policy{Name: "end", Module: goGuest(t, preemptor), Config: "{how: unresolvable}", Fields: "grants: [{intent: evict}]\norder: 200"},
	)
	asked := 0
	ask := func(what string, never bool) (string, []string, *fwk.Status) {
		asked++
		p := pod(fmt.Sprint("p", asked)).Priority(10).Label("ask", what).Req(cpus(1))
		if never {
			p.PreemptionPolicy(v1.PreemptNever)
		}
		n := 0
		if what == "violate" && !never {
			n = 1
		}
		return postFiltered(w, p.Obj(), n)
	}
	for _, row := range []struct {
		what  string
		never bool
		says  string
	}{
		{"respect", false, w.Named("respect") + ": evict: pod default/db is protected by PodDisruptionBudget keep-it"},
		{"equal", false, w.Named("equal") + ": evict: pod default/peer: want a priority below 10, got 10"},
		{"violate", true, w.Named("violate") + ": evict: want no victims for a pod with preemptionPolicy Never"},
	} {
		node, evicted, s := ask(row.what, row.never)
		if node != "" || len(evicted) > 0 || s.Code() != fwk.UnschedulableAndUnresolvable {
			t.Errorf("%s: want nobody evicted and the next policy asked, got %v for %q, %s", row.what, evicted, node, describe(s))
		}
	}
	node, evicted, s := ask("violate", false)
	if node != "n1" || !slices.Equal(evicted, []string{"db"}) || !s.IsSuccess() {
		t.Errorf("want the budget violated as the policy says, got %v for %q, %s", evicted, node, describe(s))
	}
	w.Eventually("an event that says so", func() bool {
		return w.Events.has("db: Preempted: ", "in violation of PodDisruptionBudget keep-it")
	})
	// Behind the last policy the reasons are told.
	w.Remove("end")
	_, _, s = ask("violate", true)
	if !strings.Contains(s.Message(), "evict: want no victims for a pod with preemptionPolicy Never") {
		t.Errorf("want the reason told, got %s", describe(s))
	}
}

// postFilterChain is who is asked after whom.
func postFilterChain(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{Fit: true})
	w.AddNodes(node("n1", "a", 1), node("n2", "a", 1))
	w.AddPods(pod("low").Node("n1").Priority(1).Req(cpus(1)).Obj(), pod("mid").Node("n2").Priority(5).Req(cpus(1)).Obj())
	n := 0
	ask := func(victims int) (string, []string, string) {
		n++
		node, evicted, s := postFiltered(w, pod(fmt.Sprint("p", n)).Priority(10).Req(cpus(1)).Obj(), victims)
		for _, name := range evicted { // so that the next round is like this one
			p := map[string]*v1.Pod{
				"low": pod("low").Node("n1").Priority(1).Req(cpus(1)).Obj(), "mid": pod("mid").Node("n2").Priority(5).Req(cpus(1)).Obj(),
			}[name]
			if err := w.Client.Tracker().Add(p); err != nil {
				t.Fatal(err)
			}
			w.Client.ClearActions()
		}
		return node, evicted, describe(s)
	}
	check := func(what string, victims []string, wantNode, wantStatus string) {
		t.Helper()
		node, evicted, s := ask(len(victims))
		if node != wantNode || !slices.Equal(evicted, victims) || !strings.HasPrefix(s, wantStatus) {
			t.Errorf("%s: want %v evicted for %q and %q, got %v for %q and %q", what, victims, wantNode, wantStatus, evicted, node, s)
		}
	}
	low := []string{"low"}
	w.Load(room(t, "a", "{how: unschedulable}", "order: 1"))
	check("Unschedulable", low, "n1", "")
	w.Load(room(t, "a", "{how: unresolvable}", "order: 1"))
	check("UnschedulableAndUnresolvable", nil, "", "UnschedulableAndUnresolvable: "+w.Named("a")+": told to end it")
	w.Load(room(t, "a", "{how: unschedulable}", "order: 1"), room(t, "b", "{how: all, node: n2}", "order: 2"))
	check("the second policy", []string{"mid"}, "n2", "")
	w.Load(room(t, "a", "{how: nominate, node: n2}", "order: 1"))
	check("a nomination alone", nil, "n2", "")
	w.Load(room(t, "a", "{how: error}", "order: 1"))
	check("Error, Fail", nil, "", "Error: "+w.Named("a")+": told to fail")
	w.Load(room(t, "a", "{how: error}", "order: 1\nfailurePolicies: {post_filter: Ignore}"))
	check("Error, Ignore", []string{"mid"}, "n2", "")
	w.Load(room(t, "a", "{how: unresolvable}", "order: 1"))
	check("ended again", nil, "", "UnschedulableAndUnresolvable")
	w.Remove("a")
	w.Remove("b")
	check("removed", low, "n1", "")
}

// testPostFilterFaults has a policy break the rules at each step of its
// conversation: nobody is evicted, the pod hears of it, and with Ignore the
// scheduler's own preemption takes over.
func testPostFilterFaults(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{Fit: true})
	w.AddNodes(node("n1", "a", 1))
	low := pod("low").Node("n1").Priority(1).Req(cpus(1)).Obj()
	w.AddPods(low)
	rows := []struct{ how, cause, says string }{
		{"panic at once", "trap", "told to panic"},
		{"panic later", "trap", "told to panic"},
		{"loop at once", "fuel", "units"},
		{"loop later", "fuel", "units"},
		{"ask without end", "", ""}, // steps, fuel or time: whichever is first
		{"work without end", "fuel", "in all steps"},
		{"no such node", "bad_result", `node: want one of the snapshot, got "no such node"`},
		{"no such victim", "bad_result", `evict: want a pod that is on node "n1", got UID "no such pod"`},
		{"try no such node", "bad_result", `dry_run: question 0: node: want one of the snapshot, got "no such node"`},
		{"try no such victim", "bad_result", `dry_run: question 0: want a pod that is on node "n1", got UID "no such pod"`},
		{"too many nodes", "bad_result", "nodes: want at most 64, got 65"},
	}
	ns := func(how string) string { return strings.ReplaceAll(how, " ", "-") }
	var policies []Policy
	for _, r := range rows {
		policies = append(policies, room(t, ns(r.how), "{how: "+r.how+"}", inNamespace(ns(r.how))))
	}
	w.Load(append(policies, room(t, "ignored", "{how: panic later}", "failurePolicy: Ignore\n"+inNamespace("ignored")))...)
	for _, r := range rows {
		t.Run(r.how, func(t *testing.T) {
			name := w.Named(ns(r.how))
			p := pod("p").UID("p-" + ns(r.how)).Namespace(ns(r.how)).Priority(10).Req(cpus(1)).Obj()
			node, evicted, s := postFiltered(w, p, 0)
			want := []string{"Error: ", name + ": post_filter: " + r.cause, r.says}
			if node != "" || len(evicted) > 0 || holds(describe(s), want...) != nil {
				t.Errorf("want %q and nobody evicted, got %q, node %q, evicted %v", want, describe(s), node, evicted)
			}
			if a := w.Filter(p, 0); a.Nodes["n1"] != "Unschedulable: Insufficient cpu" {
				t.Errorf("want the next attempt unaffected, got %v", a.Nodes)
			}
		})
	}
	node, evicted, s := postFiltered(w, pod("p").UID("p-ignored").Namespace("ignored").Priority(10).Req(cpus(1)).Obj(), 1)
	if diff := cmp.Diff([]string{"low"}, evicted); node != "n1" || diff != "" {
		t.Errorf("want the scheduler's own preemption with Ignore, got node %q, %s, evicted %v", node, describe(s), evicted)
	}
}
