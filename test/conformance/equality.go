// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
)

// twin is a policy and a Go plugin of the same logic.
type twin struct {
	policy Policy
	native func(policy string) frameworkruntime.PluginFactory
}

// compare plays a script in a world with the policy and in one with the Go
// plugin. What it returns must be equal.
func compare(t *testing.T, e Engine, s Setting, tw twin, script func(w *World) any) {
	t.Helper()
	guest := e.NewWorld(t, s)
	name := guest.Load(tw.policy)
	s.Native = tw.native(name)
	native := e.NewWorld(t, s)
	want := script(native)
	if diff := cmp.Diff(want, script(guest)); diff != "" {
		t.Errorf("-Go plugin +policy\n%s", diff)
	}
	if len(fmt.Sprint(want)) < 10 {
		t.Errorf("the script compares next to nothing: %v", want)
	}
}

func chameleonTwin(t *testing.T, filter string, native func(policy string) func(*v1.Pod, fwk.NodeInfo) *fwk.Status) twin {
	return twin{
		Policy{Name: "twin", Module: goGuest(t, chameleon), Config: "{filter: " + filter + ", score: free, label: pool, value: 1}"},
		func(policy string) frameworkruntime.PluginFactory {
			return factory(&nativeChameleon{native(policy), nativeFree})
		},
	}
}

func statefulTwin(t *testing.T, most int64) twin {
	return twin{
		Policy{Name: "twin", Module: goGuest(t, stateful), Config: fmt.Sprintf("{most: %d}", most)},
		func(policy string) frameworkruntime.PluginFactory {
			return factory(&nativeStateful{policy: policy, most: most})
		},
	}
}

func labelTwin(t *testing.T) twin {
	return chameleonTwin(t, "label", func(p string) func(*v1.Pod, fwk.NodeInfo) *fwk.Status { return nativeLabel(p, "pool") })
}

func countTwin(t *testing.T) twin {
	return chameleonTwin(t, "count", func(p string) func(*v1.Pod, fwk.NodeInfo) *fwk.Status { return nativeCount(p, 1) })
}

// cluster adds nodes of two pools in three zones, and some pods.
func cluster(w *World, nodes int) {
	for i := range nodes {
		n := node(fmt.Sprintf("n%03d", i), string(rune('a'+i%3)), 4+i%5)
		n.Labels["pool"] = []string{"red", "blue"}[i%2]
		w.AddNodes(n)
		for j := range i % 4 {
			w.AddPods(pod(fmt.Sprintf("on-%d-%d", i, j)).Node(n.Name).Label("group", "g"+fmt.Sprint(j)).
				Req(map[v1.ResourceName]string{"cpu": fmt.Sprintf("%dm", 100+100*j)}).Obj())
		}
	}
}

func red(name string) *st.PodWrapper { return pod(name).Label("pool", "red") }

// testEqual compares policies with Go plugins of the same logic.
func testEqual(t *testing.T, e Engine) {
	t.Run("plain", func(t *testing.T) {
		compare(t, e, Setting{}, labelTwin(t), func(w *World) any {
			cluster(w, 150) // more than one chunk
			return []Outcome{w.Evaluate(red("p").Obj()).Outcome(), w.Evaluate(pod("q").Label("pool", "green").Obj()).Outcome()}
		})
	})
	t.Run("state and custom normalisation", func(t *testing.T) {
		compare(t, e, Setting{Weight: 1}, statefulTwin(t, 40), func(w *World) any {
			cluster(w, 150)
			return []Outcome{
				w.Evaluate(pod("p").Label("group", "g0").Obj()).Outcome(),
				w.Evaluate(pod("q").Label("group", "g2").Obj()).Outcome(),
				w.Evaluate(pod("r").Obj()).Outcome(),
			}
		})
	})
	t.Run("start of the list", func(t *testing.T) {
		compare(t, e, Setting{Parallelism: 1}, labelTwin(t), func(w *World) any {
			cluster(w, 70)
			var all []Outcome
			for _, start := range []int{0, 1, 33, 68, 69} {
				all = append(all, w.Filter(red(fmt.Sprint("p", start)).Obj(), start).RunScore().Outcome())
			}
			return all
		})
	})
	t.Run("early stop", func(t *testing.T) {
		// Serial, so that both stop at the same node: the number of nodes looked
		// at is the whole of what ties don't decide.
		compare(t, e, Setting{Parallelism: 1}, labelTwin(t), func(w *World) any {
			cluster(w, 400)
			var all []string
			for i := range 8 {
				_, feasible, err := w.Schedule(red(fmt.Sprint("p", i)).Obj())
				all = append(all, fmt.Sprint(feasible, " ", err))
			}
			return all
		})
	})
	t.Run("nominated pods", func(t *testing.T) { equalNominated(t, e) })
	t.Run("preemption", func(t *testing.T) { equalPreemption(t, e) })
	t.Run("node changes", func(t *testing.T) { equalChanges(t, e) })
	t.Run("pod group", func(t *testing.T) { equalGroup(t, e) })
}

// equalNominated has a pod nominated to the one node of a zone: nodes of that
// zone must be looked at as if it were there already.
func equalNominated(t *testing.T, e Engine) {
	for name, tw := range map[string]twin{"state": statefulTwin(t, 1), "node's pods": countTwin(t)} {
		t.Run(name, func(t *testing.T) {
			compare(t, e, Setting{}, tw, func(w *World) any {
				w.AddNodes(node("a1", "a", 4), node("a2", "a", 4), node("b1", "b", 4))
				w.AddPods(pod("there").Node("b1").Label("group", "other").Obj())
				w.AddPods(pod("there2").Node("a1").Label("group", "other").Obj())
				w.Nominate(pod("vip").Priority(100).Label("group", "g").Obj(), "a1")
				w.Nominate(pod("peer").Priority(-1).Label("group", "g").Obj(), "b1")
				return []Outcome{
					w.Evaluate(pod("p").Priority(10).Label("group", "g").Obj()).Outcome(),
					w.Evaluate(pod("q").Priority(1000).Label("group", "g").Obj()).Outcome(),
				}
			})
		})
	}
}

// preempted is what a preemption came to.
type preempted struct {
	Before  Outcome
	Node    string
	Status  string
	Victims []string
	Again   Outcome
}

func preempt(w *World, p *v1.Pod) preempted {
	w.Publish(p)
	a := w.Filter(p, 0)
	node, status := a.Preempt()
	r := preempted{Before: a.Outcome(), Node: node, Status: describe(status)}
	r.Victims = sets.List(w.evicted())
	r.Again = w.Evaluate(p).Outcome() // the dry run left nothing behind
	return r
}

func equalPreemption(t *testing.T, e Engine) {
	group := func(name, node string, priority int32) *v1.Pod {
		return pod(name).Node(node).Label("group", "g").Priority(priority).Obj()
	}
	scripts := map[string]func(w *World) any{
		// Zone a has two of the group, so one must go; the bystander stays.
		"victim and bystander": func(w *World) any {
			w.AddNodes(node("a1", "a", 4), node("a2", "a", 4), node("b1", "b", 4))
			w.AddPods(group("low-a1", "a1", 1), group("low-a2", "a2", 2), pod("bystander").Node("a1").Priority(0).Obj())
			w.AddPods(group("high-b1", "b1", 50), group("high2-b1", "b1", 50))
			return preempt(w, pod("p").Priority(10).Label("group", "g").Obj())
		},
		"least important victim": func(w *World) any {
			w.AddNodes(node("a1", "a", 4), node("b1", "b", 4), node("c1", "c", 4))
			for i, zone := range []string{"a", "b", "c"} {
				w.AddPods(group("one-"+zone, zone+"1", int32(3-i)), group("two-"+zone, zone+"1", int32(5+i)))
			}
			return preempt(w, pod("p").Priority(10).Label("group", "g").Obj())
		},
		"no candidate": func(w *World) any {
			w.AddNodes(node("a1", "a", 4))
			w.AddPods(group("one", "a1", 20), group("two", "a1", 20))
			return preempt(w, pod("p").Priority(10).Label("group", "g").Obj())
		},
		"never preempts": func(w *World) any {
			w.AddNodes(node("a1", "a", 4))
			w.AddPods(group("one", "a1", 1), group("two", "a1", 1))
			return preempt(w, pod("p").Priority(10).PreemptionPolicy(v1.PreemptNever).Label("group", "g").Obj())
		},
		"room too": func(w *World) any {
			w.AddNodes(node("a1", "a", 4), node("b1", "b", 2))
			big := group("big", "a1", 3)
			big.Spec.Containers = pod("x").Req(map[v1.ResourceName]string{"cpu": "3"}).Obj().Spec.Containers
			w.AddPods(big, group("one", "b1", 1), group("two", "b1", 2))
			return preempt(w, pod("p").Priority(10).Label("group", "g").Req(map[v1.ResourceName]string{"cpu": "2"}).Obj())
		},
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) { compare(t, e, Setting{Fit: true}, statefulTwin(t, 2), script) })
	}
	t.Run("without add_pod", func(t *testing.T) {
		compare(t, e, Setting{}, countTwin(t), func(w *World) any {
			w.AddNodes(node("a1", "a", 4), node("b1", "b", 4))
			for i := range 4 {
				w.AddPods(pod(fmt.Sprint("low-", i)).Node([]string{"a1", "b1"}[i%2]).Priority(int32(i)).Obj())
			}
			return preempt(w, pod("p").Priority(10).Obj())
		})
	})
}

// equalChanges changes the cluster between cycles.
func equalChanges(t *testing.T, e Engine) {
	for name, tw := range map[string]twin{"label": labelTwin(t), "state": statefulTwin(t, 20)} {
		t.Run(name, func(t *testing.T) {
			compare(t, e, Setting{}, tw, func(w *World) any {
				cluster(w, 30)
				var all []Outcome
				look := func() {
					all = append(all, w.Evaluate(red(fmt.Sprint("p", len(all))).Label("group", "g1").Obj()).Outcome())
				}
				look()
				old := node("n003", "a", 7)
				old.Labels["pool"] = "blue"
				changed := old.DeepCopy()
				changed.Labels["pool"] = "red"
				w.UpdateNode(old, changed)
				look()
				extra := pod("extra").Node("n004").Label("group", "g1").Req(map[v1.ResourceName]string{"cpu": "2"}).Obj()
				w.AddPods(extra)
				look()
				w.RemovePod(extra)
				look()
				gone := node("n000", "a", 4)
				w.RemoveNode(gone)
				look()
				fresh := node("fresh", "b", 16)
				fresh.Labels["pool"] = "red"
				w.AddNodes(fresh) // takes the slot of the node that is gone
				look()
				again := node("n000", "c", 8)
				again.Labels["pool"] = "red"
				w.AddNodes(again)
				look()
				return all
			})
		})
	}
}

// equalGroup simulates a pod group: pods are assumed in the snapshot, which
// doesn't move the node's generation.
func equalGroup(t *testing.T, e Engine) {
	for name, tw := range map[string]twin{"node's pods": countTwin(t), "state": statefulTwin(t, 1)} {
		t.Run(name, func(t *testing.T) {
			compare(t, e, Setting{}, tw, func(w *World) any {
				w.AddNodes(node("a1", "a", 4), node("b1", "b", 4))
				w.Refresh()
				var all []Outcome
				group := framework.NewCycleState()
				var revert []func()
				for i, to := range []string{"a1", "a1", "b1", "b1"} {
					p := pod(fmt.Sprint("member-", i)).Label("group", "g").Obj()
					state := framework.NewCycleState()
					state.SetPodGroupSchedulingCycle(group)
					a := w.filterIn(state, p, 0)
					if len(a.feasible) > 1 {
						a.RunScore()
					}
					all = append(all, a.Outcome())
					p.Spec.NodeName = to
					info, err := framework.NewPodInfo(p)
					if err != nil {
						w.Fatal(err)
					}
					if err := w.snapshot.AssumePod(info); err != nil {
						w.Fatal(err)
					}
					if s := a.fw.RunReservePluginsReserve(w.ctx, state, p, to); !s.IsSuccess() {
						w.Fatal(describe(s))
					}
					revert = append(revert, func() {
						a.fw.RunReservePluginsUnreserve(w.ctx, state, p, to)
						if err := w.snapshot.ForgetPod(w.logger, p); err != nil {
							w.Fatal(err)
						}
					})
				}
				for _, f := range slices.Backward(revert) {
					f()
				}
				// What was simulated is gone.
				return append(all, w.Evaluate(pod("single").Label("group", "g").Obj()).Outcome())
			})
		})
	}
}
