// SPDX-License-Identifier: Apache-2.0

package equality

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	corev1 "k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// settings are the ways in which the framework asks a plugin.
var settings = []struct {
	name string
	play func(*side, *scene)
}{
	{"plain", plain},
	{"nominated", nominated},
	{"dry run", dryRun},
	{"batch", batched},
	{"group", grouped},
}

// plain is a cycle of its own.
func plain(s *side, sc *scene) { s.evaluate(framework.NewCycleState(), sc.Pod) }

// evaluate runs a cycle's filtering and scoring over every node.
func (s *side) evaluate(state fwk.CycleState, pod *v1.Pod) []fwk.NodePluginScores {
	return s.score(state, pod, s.filter(state, pod, s.preFilter(state, pod)))
}

// nominated is a cycle in a cluster with nominated pods: nodes are filtered with
// them and without them.
func nominated(s *side, sc *scene) {
	s.nominate(sc)
	defer s.nominate(nil)
	s.evaluate(framework.NewCycleState(), sc.Pod)
}

func (r *rig) nominate(sc *scene) {
	r.nominator.pods = map[string][]fwk.PodInfo{}
	if sc == nil {
		return
	}
	for _, p := range sc.Nominated {
		node := p.Status.NominatedNodeName
		r.nominator.pods[node] = append(r.nominator.pods[node], podInfo(p))
	}
}

func podInfo(p *v1.Pod) *framework.PodInfo {
	info, err := framework.NewPodInfo(p)
	if err != nil {
		panic(err)
	}
	return info
}

// dryRun is preemption's simulation on each node: all pods of lower priority
// go, then come back one by one where they don't keep the pod out; after that,
// pods go and come as the scene says. The last cycle shows that nothing is left
// behind.
func dryRun(s *side, sc *scene) {
	s.nominate(sc)
	defer s.nominate(nil)
	state := framework.NewCycleState()
	nodes := s.preFilter(state, sc.Pod)
	for _, ni := range nodes {
		s.simulate(state.Clone(), sc, ni.Snapshot())
	}
	s.filter(state, sc.Pod, nodes)
}

func (s *side) simulate(state fwk.CycleState, sc *scene, ni fwk.NodeInfo) {
	remove := func(p fwk.PodInfo) {
		if err := ni.RemovePod(s.logger, p.GetPod()); err != nil {
			panic(err)
		}
		if st := s.fw.RunPreFilterExtensionRemovePod(s.ctx, state, sc.Pod, p, ni); !st.IsSuccess() {
			s.line("remove_pod %s: %s", p.GetPod().Name, s.status(st))
		}
	}
	add := func(p fwk.PodInfo) {
		ni.AddPodInfo(p)
		if st := s.fw.RunPreFilterExtensionAddPod(s.ctx, state, sc.Pod, p, ni); !st.IsSuccess() {
			s.line("add_pod %s: %s", p.GetPod().Name, s.status(st))
		}
	}
	fits := func(what, pod string) bool {
		st := s.fw.RunFilterPluginsWithNominatedPods(s.ctx, state, sc.Pod, ni)
		s.line("on %s %s %s: %s", ni.Node().Name, what, pod, s.status(st))
		return st.IsSuccess()
	}
	pods := slices.Clone(ni.GetPods())
	on := map[string]bool{}
	var victims []fwk.PodInfo
	for _, p := range pods {
		on[p.GetPod().Name] = true
		if corev1.PodPriority(p.GetPod()) < corev1.PodPriority(sc.Pod) {
			victims = append(victims, p)
		}
	}
	for _, p := range victims {
		remove(p)
		on[p.GetPod().Name] = false
	}
	fits("without", fmt.Sprint(len(victims)))
	for _, p := range victims {
		add(p)
		on[p.GetPod().Name] = true
		if !fits("with", p.GetPod().Name) {
			remove(p)
			on[p.GetPod().Name] = false
		}
	}
	for _, i := range sc.Toggles {
		if len(pods) == 0 {
			break
		}
		p := pods[i%len(pods)]
		name := p.GetPod().Name
		if on[name] = !on[name]; on[name] {
			add(p)
			fits("with", name)
		} else {
			remove(p)
			fits("without", name)
		}
	}
}

// batched reuses the raw scores of a pod's cycle in the cycle of an equal pod,
// with a fresh score of the node that the first pod took, as the framework does
// in a batch. Where the port's pods have no signature there are no batches.
func batched(s *side, sc *scene) {
	first, second := sc.Pod, sc.Pod.DeepCopy()
	second.Name, second.UID = "second", "second"
	if !s.subject.signs {
		if s.policy != "" {
			if _, st := s.plugin.(fwk.SignPlugin).SignPod(s.ctx, first); st.IsSuccess() {
				s.line("signed, though the port isn't pure")
			}
		}
		return
	}
	var signatures [2][]byte
	for i, p := range []*v1.Pod{first, second} {
		fragments, st := s.plugin.(fwk.SignPlugin).SignPod(s.ctx, p)
		if !st.IsSuccess() {
			s.line("not signed")
			return
		}
		var err error
		if signatures[i], err = json.Marshal(fragments); err != nil {
			panic(err)
		}
	}
	s.line("signed: %t", bytes.Equal(signatures[0], signatures[1]))
	scores := s.evaluate(framework.NewCycleState(), first)
	if len(scores) == 0 {
		return
	}
	defer func(old *internalcache.Snapshot) { s.snapshot.Snapshot = old }(s.snapshot.Snapshot)
	taken := first.DeepCopy()
	taken.Spec.NodeName = scores[0].Name
	s.snapshot.Snapshot = internalcache.NewSnapshot(append(slices.Clone(sc.Pods), taken), sc.Nodes)
	var nodes []fwk.NodeInfo
	for i := range scores {
		ni, err := s.snapshot.NodeInfos().Get(scores[(i+1)%len(scores)].Name) // the chosen one last
		if err != nil {
			panic(err)
		}
		nodes = append(nodes, ni)
	}
	state := framework.NewCycleState()
	s.preFilter(state, second)
	chosen := nodes[len(nodes)-1]
	status := s.fw.RunFilterPlugins(s.ctx, state, second, chosen)
	s.line("filter the chosen %s: %s", chosen.Node().Name, s.status(status))
	if !status.IsSuccess() {
		return
	}
	rescore := state.Clone()
	if st := s.fw.RunPreScorePlugins(s.ctx, rescore, second, nodes); !st.IsSuccess() {
		s.line("pre_score: %s", s.status(st))
		return
	}
	if fresh, ok := s.rawScore(rescore, second, chosen); ok {
		s.normalize(rescore, second, append(scores[1:], fresh))
	}
}

// grouped is a pod group's simulation: its pods are taken to be on nodes of the
// snapshot that they fit, one after another, which doesn't move the nodes'
// generation; then all of them are gone.
func grouped(s *side, sc *scene) {
	group := framework.NewCycleState()
	var undo []func()
	for i, member := range append([]*v1.Pod{sc.Pod}, sc.Members...) {
		state := framework.NewCycleState()
		state.SetPodGroupSchedulingCycle(group)
		feasible := s.filter(state, member, s.preFilter(state, member))
		if s.score(state, member, feasible); len(feasible) == 0 {
			continue
		}
		p := member.DeepCopy()
		p.Spec.NodeName = feasible[sc.Places[i]%len(feasible)].Node().Name
		if err := s.snapshot.AssumePod(podInfo(p)); err != nil {
			panic(err)
		}
		if st := s.fw.RunReservePluginsReserve(s.ctx, state, p, p.Spec.NodeName); !st.IsSuccess() {
			s.line("reserve: %s", s.status(st))
		}
		undo = append(undo, func() {
			s.fw.RunReservePluginsUnreserve(s.ctx, state, p, p.Spec.NodeName)
			if err := s.snapshot.ForgetPod(s.logger, p); err != nil {
				panic(err)
			}
		})
	}
	for _, f := range slices.Backward(undo) {
		f()
	}
	plain(s, sc)
}

// compare plays a scene on both sides. It returns the number of answers, and
// those that differ.
func (r *rig) compare(sc *scene) (answers int, differences []string) {
	r.said = r.said[:0]
	for _, setting := range settings {
		for _, s := range []*side{r.native, r.guest} {
			r.snapshot.Snapshot = internalcache.NewSnapshot(sc.Pods, sc.Nodes)
			s.lines = s.lines[:0]
			setting.play(s, sc)
		}
		want, got := r.native.lines, r.guest.lines
		answers += len(want)
		r.said = append(r.said, want...)
		for i := range max(len(want), len(got)) {
			w, g := at(want, i), at(got, i)
			if w != g {
				differences = append(differences, fmt.Sprintf("%s: want %s, got %s", setting.name, w, g))
			}
		}
	}
	return answers, differences
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "nothing"
}
