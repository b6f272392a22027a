// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/berth-scheduler/berth/host"
)

func gates(t *testing.T, list ...featuregate.Feature) {
	for _, f := range list {
		featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, f, true)
	}
}

// testPlacement has policies that propose and rank placements of pod groups.
func testPlacement(t *testing.T, e Engine) {
	gates(t, features.GenericWorkload, features.TopologyAwareWorkloadScheduling)
	t.Run("idle", func(t *testing.T) { placementIdle(t, e) })
	t.Run("equal", func(t *testing.T) { placementEqual(t, e) })
	t.Run("running", func(t *testing.T) { placementRunning(t, e) })
	t.Run("results", func(t *testing.T) { placementResults(t, e) })
	t.Run("several", func(t *testing.T) { placementSeveral(t, e) })
	t.Run("swap", func(t *testing.T) { placementSwap(t, e) })
	t.Run("composite", func(t *testing.T) { placementComposite(t, e) })
}

// trial is a group's cycle, driven point by point.
type trial struct {
	w     *World
	fw    framework.Framework
	state *framework.CycleState
	info  *framework.PodGroupInfo
}

// newTrial begins the cycle of a group whose label do is do and that has two pods
// in a namespace, of the profile of that name if there is one.
func (w *World) newTrial(ns, do string) *trial {
	w.Helper()
	w.Refresh()
	pg := st.MakePodGroup().Namespace(ns).Name("group").UID(types.UID(ns + "-group")).MinCount(2).Obj()
	pg.Labels = map[string]string{"do": do}
	member := func(name string) *v1.Pod {
		p := pod(name).Namespace(ns).UID(ns + name).PodGroupName("group")
		if w.Scheduler.Profiles[ns] != nil {
			p.SchedulerName(ns)
		}
		return p.Obj()
	}
	return w.trialOf(pg, member("m-0"), member("m-1"))
}

func (w *World) trialOf(pg *schedulingv1beta1.PodGroup, pods ...*v1.Pod) *trial {
	return &trial{w, w.framework(pods[0]), framework.NewCycleState(), &framework.PodGroupInfo{
		Namespace: pg.Namespace, Name: pg.Name, Type: fwk.PodGroupKeyType, PodGroup: pg, UnscheduledPods: pods,
	}}
}

func (r *trial) nodes() []fwk.NodeInfo {
	list, err := r.w.snapshot.List()
	if err != nil {
		r.w.Fatal(err)
	}
	return list
}

// generate returns the placements, and what they are in short.
func (r *trial) generate() ([]*fwk.Placement, string) {
	placements, status := r.fw.RunPlacementGeneratePlugins(r.w.ctx, r.state, r.info, r.nodes())
	if !status.IsSuccess() {
		return nil, describe(status)
	}
	return placements, brief(placements)
}

// brief is placements by name and node.
func brief(placements []*fwk.Placement) string {
	var all []string
	for _, p := range placements {
		var nodes []string
		for _, ni := range p.Nodes {
			nodes = append(nodes, ni.Node().Name)
		}
		slices.Sort(nodes)
		all = append(all, p.Name+"="+strings.Join(nodes, "+"))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// assigned is a pod of a trial on a node.
type assigned struct {
	pod  *v1.Pod
	node string
}

func (a assigned) GetPod() *v1.Pod               { return a.pod }
func (a assigned) GetPodInfo() fwk.PodInfo       { return nil }
func (a assigned) GetNodeName() string           { return a.node }
func (a assigned) GetCycleState() fwk.CycleState { return nil }

// score gives all pods the first node of each placement and returns the plugin's
// scores by placement.
func (r *trial) score(placements []*fwk.Placement) string {
	var assignments []*fwk.PodGroupAssignments
	var states []fwk.PlacementCycleState
	for _, p := range placements {
		a := &fwk.PodGroupAssignments{Placement: p}
		for _, member := range r.info.UnscheduledPods {
			a.ProposedAssignments = append(a.ProposedAssignments, assigned{member, p.Nodes[0].Node().Name})
		}
		state := framework.NewCycleState()
		state.SetPodGroupSchedulingCycle(r.state)
		assignments, states = append(assignments, a), append(states, state)
	}
	all, status := r.fw.RunPlacementScorePlugins(r.w.ctx, r.state, r.info, assignments, states)
	if !status.IsSuccess() {
		return describe(status)
	}
	scores := map[string]int64{}
	for _, p := range all {
		for _, s := range p.Scores {
			if s.Name == host.Name {
				scores[p.Placement.Name] = s.Score
			}
		}
	}
	return fmt.Sprint(scores)
}

// filter runs PreFilter and Filter for the first pod of the group.
func (r *trial) filter() map[string]string {
	state := framework.NewCycleState()
	state.SetPodGroupSchedulingCycle(r.state)
	return r.w.filterIn(state, r.info.UnscheduledPods[0], 0).Nodes
}

// zoned adds five nodes in three zones, the third with the most CPU, to a world
// that isn't run.
func (w *World) zoned() {
	w.AddNodes(zonedNodes()...)
}

func zonedNodes() []*v1.Node {
	return []*v1.Node{node("a1", "a", 4), node("a2", "a", 4), node("b1", "b", 9), node("b2", "b", 9), node("c1", "c", 64)}
}

// placementIdle checks that the plugin can't be told from the in-tree one as long
// as no policy has anything to say.
func placementIdle(t *testing.T, e Engine) {
	stage := func(t *testing.T, s Setting) *World {
		w := e.NewWorld(t, s)
		w.zoned()
		return w
	}
	tree := stage(t, Setting{Generator: names.TopologyPlacementGenerator})
	none := stage(t, Setting{Generator: host.PlacementName})
	other := stage(t, Setting{Generator: host.PlacementName})
	other.Load(Policy{Name: "elsewhere", Module: goGuest(t, placer), Fields: "match: {namespaces: [elsewhere]}\ngrants: [{intent: evict}]"})
	half := stage(t, Setting{Generator: host.PlacementName})
	half.Load(Policy{Name: "half", Module: goGuest(t, placer), Fields: "match: {podSelector: {matchLabels: {half: \"\"}}}\ngrants: [{intent: evict}]"})
	skip := stage(t, Setting{Generator: host.PlacementName})
	skip.Load(Policy{Name: "skip", Module: goGuest(t, placer), Fields: "grants: [{intent: evict}]"})
	for name, pg := range map[string]*schedulingv1beta1.PodGroup{
		"plain":         st.MakePodGroup().Namespace("default").Name("g").Obj(),
		"by zone":       st.MakePodGroup().Namespace("default").Name("g").TopologyKey(v1.LabelTopologyZone).Obj(),
		"by no label":   st.MakePodGroup().Namespace("default").Name("g").TopologyKey("rack").Obj(),
		"and of a node": st.MakePodGroup().Namespace("default").Name("g").TopologyKey(v1.LabelHostname).Obj(),
	} {
		pg.Labels = map[string]string{"do": "skip"}
		try := func(w *World) (string, string) {
			w.Refresh()
			w.track(pg)
			r := w.trialOf(pg, pod("m-0").Label("half", "").Obj(), pod("m-1").Obj())
			placements, got := r.generate()
			if len(placements) == 0 {
				return got, ""
			}
			return got, r.score(placements)
		}
		want, _ := try(tree)
		if want == "" {
			t.Errorf("%s: want something to compare", name)
		}
		for which, w := range map[string]*World{"no policies": none, "no policy matches": other, "not all pods match": half, "the policy skips": skip} {
			got, scores := try(w)
			if got != strings.ReplaceAll(want, names.TopologyPlacementGenerator, host.PlacementName) {
				t.Errorf("%s, %s: want what the in-tree plugin says, %q, got %q", name, which, want, got)
			}
			if which != "the policy skips" && scores != "" && strings.Trim(scores, "map[]abc120: ") != "" {
				t.Errorf("%s, %s: want 0 for each placement, got %s", name, which, scores)
			}
		}
	}
}

// track puts a group into the cache of a world that isn't run.
func (w *World) track(pg *schedulingv1beta1.PodGroup) {
	w.Scheduler.Cache.AddPodGroup(pg)
	w.Refresh()
}

// placerTwin proposes zones and ranks them by free CPU.
func placerTwin(t *testing.T, most bool) twin {
	return twin{
		Policy{Name: "twin", Module: goGuest(t, placer), Config: fmt.Sprintf("{most: %t, nodes: [a1, a2]}", most), Fields: "grants: [{intent: evict}]"},
		func(string) frameworkruntime.PluginFactory { return factory(&nativePlacer{most: most}) },
	}
}

// nativePlacer is the guest placer, as far as it behaves.
type nativePlacer struct {
	most bool
	free func(node string) int64
}

func (n *nativePlacer) Name() string { return host.Name }

func (n *nativePlacer) GeneratePlacements(_ context.Context, _ fwk.PodGroupCycleState, _ fwk.PodGroupInfo, parent *fwk.Placement) (*fwk.GeneratePlacementsResult, *fwk.Status) {
	zones := map[string]*fwk.Placement{}
	for _, ni := range parent.Nodes {
		zone := ni.Node().Labels[v1.LabelTopologyZone]
		if zones[zone] == nil {
			zones[zone] = &fwk.Placement{Name: zone}
		}
		zones[zone].Nodes = append(zones[zone].Nodes, ni)
	}
	return &fwk.GeneratePlacementsResult{Placements: slices.Collect(maps.Values(zones))}, nil
}

func (n *nativePlacer) ScorePlacement(_ context.Context, _ fwk.PlacementCycleState, _ fwk.PodGroupInfo, placement *fwk.PodGroupAssignments) (int64, *fwk.Status) {
	used := map[string]bool{}
	for _, a := range placement.ProposedAssignments {
		used[a.GetNodeName()] = true
	}
	var free int64
	for _, ni := range placement.Nodes {
		if used[ni.Node().Name] {
			free += ni.GetAllocatable().GetMilliCPU() - ni.GetRequested().GetMilliCPU()
		}
	}
	return free, nil
}

func (n *nativePlacer) PlacementScoreExtensions() fwk.PlacementScoreExtensions { return n }

func (n *nativePlacer) NormalizePlacementScore(_ context.Context, _ fwk.PodGroupCycleState, _ fwk.PodGroupInfo, scores []fwk.PlacementScore) *fwk.Status {
	highest := int64(1)
	for _, s := range scores {
		highest = max(highest, s.Score)
	}
	for i := range scores {
		scores[i].Score = scores[i].Score * 100 / highest
		if !n.most {
			scores[i].Score = 100 - scores[i].Score
		}
	}
	return nil
}

// placementEqual compares placements and scores with a Go plugin's.
func placementEqual(t *testing.T, e Engine) {
	for _, most := range []bool{true, false} {
		compare(t, e, Setting{Generator: host.PlacementName}, placerTwin(t, most), func(w *World) any {
			w.zoned()
			w.AddPods(pod("there").Node("b1").Req(map[v1.ResourceName]string{"cpu": "2"}).Obj())
			for i := range 150 { // more than one chunk
				w.AddNodes(node(fmt.Sprintf("d%03d", i), "d", 2))
			}
			r := w.newTrial("default", "")
			placements, got := r.generate()
			return []string{got, r.score(placements)}
		})
	}
}

// placementRunning has the scheduler place gangs as the policy wants it, and as
// a Go plugin of the same logic does.
func placementRunning(t *testing.T, e Engine) {
	cpu := map[v1.ResourceName]string{"cpu": "2"}
	for _, c := range []struct {
		most bool
		want string
	}{{true, "[c c c]"}, {false, "[a b b]"}} {
		t.Run(fmt.Sprint("most ", c.most), func(t *testing.T) {
			setting := Setting{Run: true, Gang: true, Fit: true, Generator: host.PlacementName, Objects: append(objects(zonedNodes()...), gang("g0", 4), gang("g1", 4), gang("g2", 4))}
			tw := placerTwin(t, c.most)
			tw.policy.Config = fmt.Sprintf("{most: %t, zones: 3}", c.most) // what Filter reads of the group's state
			compare(t, e, setting, tw, func(w *World) any {
				var zones []string
				for i := range 3 {
					pods := members(fmt.Sprint("g", i), 4)
					for _, p := range pods {
						p.Spec.Containers = pod("").Req(cpu).Obj().Spec.Containers
					}
					w.Create(pods...)
					in := map[string]bool{}
					for _, p := range pods {
						in[w.Bound(p)[:1]] = true
					}
					zones = append(zones, strings.Join(slices.Sorted(maps.Keys(in)), "+"))
				}
				if got := fmt.Sprint(zones); got != c.want {
					w.Errorf("want the gangs in zones %s, got %s", c.want, got)
				}
				return "zones: " + fmt.Sprint(zones)
			})
		})
	}
}

// placementResults has bad results, faults and refusals, with both failure
// policies.
func placementResults(t *testing.T, e Engine) {
	const zones, cluster = "a=a1+a2 b=b1+b2 c=c1", "=a1+a2+b1+b2+c1"
	const scores = "map[a:6 b:14 c:100]"
	rows := []struct {
		do       string
		generate string // part of the status; "" is the zones
		score    string // part of the status, or the scores; "" is the usual
		point    string // where a fault of bad_result or a trap is counted
		cause    string
	}{
		{do: ""},
		{do: "skip", generate: cluster},
		{do: "none", generate: "Unschedulable: no feasible placements found"},
		{do: "reject", generate: "Unschedulable: POLICY: told to reject"},
		{"error", "Error: POLICY: told to fail", "", "", ""},
		{"panic", "Error: POLICY: generate_placements: trap: unreachable (panic: told to panic)", "", "generate_placements", "trap"},
		{"unknown node", `Error: POLICY: generate_placements: bad_result: placement "a": want nodes of the frame, got "nowhere"`, "", "generate_placements", "bad_result"},
		{"node twice", `bad_result: placement "a": want each node once, got "a1" twice`, "", "generate_placements", "bad_result"},
		{"name twice", `bad_result: placement "a": want one of the name, got two`, "", "generate_placements", "bad_result"},
		{"no name", `bad_result: placement 0: name: want 1 to 253 bytes, got 0`, "", "generate_placements", "bad_result"},
		{"no nodes", `bad_result: placement "a": want nodes, got none`, "", "generate_placements", "bad_result"},
		{"panic in score", "", "POLICY: score_placement: trap: unreachable (panic: told to panic)", "score_placement", "trap"},
		{"panic for b", "", "POLICY: score_placement: trap: unreachable (panic: told to panic)", "score_placement", "trap"},
		{"error in score", "", "POLICY: told to fail", "", ""},
		{"high", "", "normalize_placement_score: bad_result: placement", "normalize_placement_score", "bad_result"},
		{"negative", "", "want 0 to 100, got -1", "normalize_placement_score", "bad_result"},
		{"panic in normalize", "", "POLICY: normalize_placement_score: trap: unreachable (panic: told to panic)", "normalize_placement_score", "trap"},
		{"error in normalize", "", "normalize_placement_score: bad_result: the call ended with error: told to fail", "normalize_placement_score", "bad_result"},
		// What generate_placements kept is the group's: no placement's own state
		// takes its place.
		{"state", "", "map[a:3 b:3 c:3]", "", ""},
	}
	// A policy has a profile of its own: those of one share the scores.
	ns := func(do, failure string) string {
		return strings.ToLower(failure) + "-" + strings.ReplaceAll(do, " ", "-") + "x"
	}
	var profiles []string
	var policies []Policy
	for _, r := range rows {
		for _, failure := range []string{"Fail", "Ignore"} {
			n := ns(r.do, failure)
			profiles = append(profiles, n)
			policies = append(policies, Policy{Name: n, Module: goGuest(t, placer), Config: "{most: true}", Fields: "failurePolicy: " + failure + "\ngrants: [{intent: evict}]\nmatch: {profiles: [" + n + "]}"})
		}
	}
	w := e.NewWorld(t, Setting{Generator: host.PlacementName, Profiles: profiles})
	w.zoned()
	w.Load(policies...)
	for _, r := range rows {
		t.Run("do "+r.do, func(t *testing.T) {
			for _, failure := range []string{"Fail", "Ignore"} {
				n := ns(r.do, failure)
				named := func(s string) string { return strings.ReplaceAll(s, "POLICY", w.Named(n)) }
				wrong := r.cause != "" || strings.HasPrefix(r.do, "error")
				wantGenerate, wantScore := named(r.generate), named(r.score)
				if wantGenerate == "" {
					wantGenerate = zones
				} else if wrong && failure == "Ignore" {
					wantGenerate = cluster
				}
				if wantScore == "" {
					wantScore = scores
				} else if wrong && failure == "Ignore" {
					wantScore = "map[a:0 b:0 c:0]"
				}
				trial := w.newTrial(n, r.do)
				placements, got := trial.generate()
				if !strings.Contains(got, wantGenerate) {
					t.Errorf("%s: want %q, got %q", failure, wantGenerate, got)
				}
				if r.cause != "" && r.generate != "" && w.faults(w.Named(n), r.point, r.cause) != 1 {
					t.Errorf("%s: want one fault %s at %s", failure, r.cause, r.point)
				}
				if len(placements) < 2 {
					continue
				}
				if got := trial.score(placements); !strings.Contains(got, wantScore) {
					t.Errorf("%s: want scores %q, got %q", failure, wantScore, got)
				}
				if r.cause != "" && r.generate == "" && w.faults(w.Named(n), r.point, r.cause) == 0 {
					t.Errorf("%s: want a fault %s at %s", failure, r.cause, r.point)
				}
				if _, got := w.newTrial(n, "").generate(); got != zones {
					t.Errorf("%s: want the next group unaffected, got %q", failure, got)
				}
			}
		})
	}
}

// placementSeveral has two policies that rank and propose: the first that doesn't
// skip proposes, and scores are mixed by weight.
func placementSeveral(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{Generator: host.PlacementName, Weight: 2})
	w.zoned()
	w.Load(
		Policy{Name: "first", Module: goGuest(t, placer), Config: "{most: true, prefix: x-}", Fields: "order: 1\nweight: 3\ngrants: [{intent: evict}]"},
		Policy{Name: "second", Module: goGuest(t, placer), Config: "{most: false, prefix: y-}", Fields: "order: 2\nweight: 1\ngrants: [{intent: evict}]"},
	)
	r := w.newTrial("default", "")
	placements, got := r.generate()
	if want := "x-a=a1+a2 x-b=b1+b2 x-c=c1"; got != want {
		t.Errorf("want the first policy's placements %q, got %q", want, got)
	}
	// a: 6 and 94, b: 14 and 86, c: 100 and 0; (3·s1 + s2) / 4 rounded, times 2.
	if got, want := r.score(placements), "map[x-a:56 x-b:64 x-c:150]"; got != want {
		t.Errorf("want scores %s, got %s", want, got)
	}
}

// placementSwap swaps a policy in the middle of a group's cycle: the whole of it
// is on one version, which goes when it is over.
func placementSwap(t *testing.T, e Engine) {
	w := e.NewWorld(t, Setting{Generator: host.PlacementName, Gang: true})
	w.zoned()
	policy := func(prefix string, reject bool) Policy {
		return Policy{Name: "swap", Module: goGuest(t, placer), Config: fmt.Sprintf("{most: true, prefix: %s, reject: %t}", prefix, reject), Fields: "grants: [{intent: evict}]"}
	}
	name := w.Load(policy("old-", false))
	r := w.newTrial("default", "")
	placements, got := r.generate()
	if !strings.Contains(got, "old-a=") {
		t.Fatalf("want the old version's placements, got %q", got)
	}
	w.Load(policy("new-", true))
	if diff := cmp.Diff(map[string]string{"a1": "", "a2": "", "b1": "", "b2": "", "c1": ""}, r.filter()); diff != "" {
		t.Errorf("pods of the group: want the old version's verdicts: -want +got\n%s", diff)
	}
	if got, want := r.score(placements), "map[old-a:6 old-b:14 old-c:100]"; got != want {
		t.Errorf("want the old version's scores %s, got %s", want, got)
	}
	if n := liveInstances(w, name); n != 2 {
		t.Errorf("want both versions alive, got %v", n)
	}
	next := w.newTrial("default", "")
	if _, got := next.generate(); !strings.Contains(got, "new-a=") {
		t.Errorf("want the next group on the new version, got %q", got)
	}
	if n := liveInstances(w, name); n != 1 {
		t.Errorf("want the old version gone, got %v alive", n)
	}
}

// placementComposite has a group of two gangs: the policy is asked for the whole
// and, within its placement, for each gang.
func placementComposite(t *testing.T, e Engine) {
	gates(t, features.CompositePodGroup)
	child := func(name string) runtime.Object {
		return st.MakePodGroup().Namespace("default").Name(name).UID(types.UID(name)).MinCount(2).ParentCompositePodGroup("root").Obj()
	}
	root := st.MakeCompositePodGroup().Namespace("default").Name("root").UID("root").MinGroupCount(2).Obj()
	setting := Setting{Run: true, Gang: true, Fit: true, Generator: host.PlacementName, Objects: append(objects(zonedNodes()...), root, child("left"), child("right"))}
	compare(t, e, setting, placerTwin(t, true), func(w *World) any {
		pods := append(members("left", 2), members("right", 2)...)
		w.Create(pods...)
		in := map[string]int{}
		for _, p := range pods {
			in[w.Bound(p)[:1]]++
		}
		return fmt.Sprint("pods by zone: ", in)
	})
}
