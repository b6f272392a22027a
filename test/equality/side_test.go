// SPDX-License-Identifier: Apache-2.0

package equality

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/berth-scheduler/berth/host"
)

// side is one of the two that are compared.
type side struct {
	*rig
	subject *subject
	fw      framework.Framework
	plugin  fwk.Plugin // the only one at its points
	policy  string     // empty for the in-tree plugin
	lines   []string
}

func (s *side) line(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// status is a status in words. The order of reasons isn't compared:
// NodeResourcesFit ranges over a map. Of Error the code is: its text says how Go
// code failed.
func (s *side) status(st *fwk.Status) string {
	if st.IsSuccess() {
		return "Success"
	}
	reasons := slices.Clone(st.Reasons())
	for i, r := range reasons {
		reasons[i] = strings.TrimPrefix(r, s.policy+": ")
	}
	if st.Code() == fwk.Error {
		if s.policy == "" || len(reasons) == 1 && slices.ContainsFunc(s.subject.errors, func(e string) bool { return strings.HasSuffix(reasons[0], e) }) {
			return "Error"
		}
	}
	slices.Sort(reasons)
	return fmt.Sprintf("%s %q", st.Code(), reasons)
}

// noNode is how a PreFilter's set without a node that exists is written: Berth
// makes it a status, the framework finds no node later.
const noNode = "UnschedulableAndUnresolvable: no node"

// preFilter runs PreFilter and returns the nodes that are left.
func (s *side) preFilter(state fwk.CycleState, pod *v1.Pod) []fwk.NodeInfo {
	all, err := s.snapshot.NodeInfos().List()
	if err != nil {
		panic(err)
	}
	all = slices.SortedFunc(slices.Values(all), func(a, b fwk.NodeInfo) int { return strings.Compare(a.Node().Name, b.Node().Name) })
	result, status, _ := s.fw.RunPreFilterPlugins(s.ctx, state, pod)
	if !status.IsSuccess() {
		text := s.status(status)
		if s.policy != "" && strings.Contains(text, "no node is in the sets") {
			text = noNode
		}
		s.line("pre_filter: %s", text)
		return nil
	}
	if result.AllNodes() {
		s.line("pre_filter: Success, all nodes")
		return all
	}
	var left []fwk.NodeInfo
	var named []string
	for _, ni := range all {
		if result.NodeNames.Has(ni.Node().Name) {
			left = append(left, ni)
			named = append(named, ni.Node().Name)
		}
	}
	if len(left) == 0 {
		s.line("pre_filter: %s", noNode)
		return nil
	}
	slices.Sort(named)
	s.line("pre_filter: Success, %v", named)
	return left
}

// filter runs Filter for nodes and returns those that passed.
func (s *side) filter(state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) []fwk.NodeInfo {
	var feasible []fwk.NodeInfo
	for _, ni := range nodes {
		status := s.fw.RunFilterPluginsWithNominatedPods(s.ctx, state, pod, ni)
		s.line("filter %s: %s", ni.Node().Name, s.status(status))
		if status.IsSuccess() {
			feasible = append(feasible, ni)
		}
	}
	return feasible
}

// score runs PreScore, Score and NormalizeScore, and returns what a batch would
// keep.
func (s *side) score(state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) []fwk.NodePluginScores {
	if len(nodes) == 0 {
		return nil
	}
	if status := s.fw.RunPreScorePlugins(s.ctx, state, pod, nodes); !status.IsSuccess() {
		s.line("pre_score: %s", s.status(status))
		return nil
	}
	scores := make([]fwk.NodePluginScores, 0, len(nodes))
	for _, ni := range nodes {
		raw, ok := s.rawScore(state, pod, ni)
		if !ok {
			return nil
		}
		scores = append(scores, raw)
	}
	s.normalize(state, pod, scores)
	return scores
}

// rawScore runs Score for a node.
func (s *side) rawScore(state fwk.CycleState, pod *v1.Pod, ni fwk.NodeInfo) (fwk.NodePluginScores, bool) {
	name := ni.Node().Name
	raw, status := s.fw.RunRawScorePlugins(s.ctx, state, pod, ni)
	if !status.IsSuccess() {
		s.line("score %s: %s", name, s.status(status))
		return fwk.NodePluginScores{}, false
	}
	s.line("score %s: %s", name, s.scoreOf(raw, func(v int64) string {
		if s.policy == "" {
			return fmt.Sprint(v)
		}
		value, ok := s.plugin.(*host.Berth).RawScores(v)[s.policy]
		return fmt.Sprint(value, map[bool]string{false: ", which is unknown"}[ok])
	}))
	return fwk.NodePluginScores{Name: name, RawScores: raw}, true
}

// scoreOf is the score of the only plugin in words; one that skipped counts as
// 0.
func (s *side) scoreOf(scores []fwk.PluginScore, text func(int64) string) string {
	switch {
	case len(scores) == 1:
		return text(scores[0].Score)
	case s.subject.skips:
		return "skipped"
	}
	return "0"
}

// normalize runs NormalizeScore.
func (s *side) normalize(state fwk.CycleState, pod *v1.Pod, scores []fwk.NodePluginScores) {
	if status := s.fw.NormalizeScores(s.ctx, state, pod, scores); !status.IsSuccess() {
		s.line("normalize_score: %s", s.status(status))
		return
	}
	for _, n := range scores {
		s.line("normalized %s: %s", n.Name, s.scoreOf(n.Scores, func(v int64) string { return fmt.Sprint(v) }))
	}
}
