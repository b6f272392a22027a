// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/helper"

	"github.com/berth-scheduler/berth/abi"
)

func scoreList(scores ...int64) fwk.NodeScoreList {
	list := make(fwk.NodeScoreList, len(scores))
	for i, s := range scores {
		list[i] = fwk.NodeScore{Name: fmt.Sprint("n", i), Score: s}
	}
	return list
}

func TestNormalizeMax(t *testing.T) {
	for name, c := range map[string]struct {
		raw, max, reversed []int64 // nil is an error
	}{
		"none":          {[]int64{}, []int64{}, []int64{}},
		"all zero":      {[]int64{0, 0}, []int64{0, 0}, []int64{100, 100}},
		"rounded down":  {[]int64{1, 2, 3}, []int64{33, 66, 100}, []int64{67, 34, 0}},
		"equal":         {[]int64{7, 7}, []int64{100, 100}, []int64{0, 0}},
		"largest":       {[]int64{math.MaxInt64, math.MaxInt64 / 2, 1}, []int64{100, 49, 0}, []int64{0, 51, 100}},
		"negative":      {[]int64{5, -1}, nil, nil},
		"all negative":  {[]int64{math.MinInt64}, nil, nil},
		"one unit more": {[]int64{math.MaxInt64/100 + 1, 1}, []int64{100, 0}, []int64{0, 100}},
	} {
		t.Run(name, func(t *testing.T) {
			for reversed, want := range map[bool][]int64{false: c.max, true: c.reversed} {
				got := slices.Clone(c.raw)
				if err := normalizeMax(got, scoreList(c.raw...), reversed); (err == nil) != (want != nil) {
					t.Fatalf("reversed %t: got error %v", reversed, err)
				}
				if diff := cmp.Diff(want, got); want != nil && diff != "" {
					t.Errorf("reversed %t: -want +got\n%s", reversed, diff)
				}
			}
		})
	}
}

// In its range it is what the in-tree plugins do.
func TestNormalizeMaxAsInTree(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		raw := make([]int64, random.IntN(20)+1)
		for i := range raw {
			raw[i] = random.Int64N(1 << random.IntN(56))
		}
		for _, reversed := range []bool{false, true} {
			list := scoreList(raw...)
			if s := helper.DefaultNormalizeScore(fwk.MaxNodeScore, reversed, list); !s.IsSuccess() {
				t.Fatal(s)
			}
			got := slices.Clone(raw)
			if err := normalizeMax(got, list, reversed); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(list, scoreList(got...)); diff != "" {
				t.Fatalf("%v, reversed %t: -want +got\n%s", raw, reversed, diff)
			}
		}
	}
}

// scorer is a policy that gave these raw scores; nil: it doesn't score the pod.
type scorer struct {
	fields string
	how    string
	raw    []int64
}

// scored begins a cycle in which the scorers' raw scores are there, and returns
// the tokens of the nodes.
func scored(t *testing.T, b *Berth, nodes []fwk.NodeInfo, scorers []scorer) (fwk.CycleState, fwk.NodeScoreList) {
	t.Helper()
	state := framework.NewCycleState()
	cs := b.host.begin(state, "berth", testPod("p"), nodes)
	set := &scoreSet{cycle: cs.cycle, nodes: nodes, made: b.host.clock()}
	for i, s := range scorers {
		if s.raw == nil {
			continue
		}
		ps := &policyScores{cp: cs.policies[i], raw: s.raw, have: make([]bool, len(nodes))}
		for j := range ps.have {
			ps.have[j] = true
		}
		set.policies = append(set.policies, ps)
	}
	b.host.scores.add(set)
	cs.scores = set
	list := make(fwk.NodeScoreList, len(nodes))
	for i, ni := range nodes {
		token, s := b.Score(context.Background(), state, cs.pod, ni)
		if !s.IsSuccess() {
			t.Fatal(s)
		}
		list[i] = fwk.NodeScore{Name: ni.Node().Name, Score: token}
	}
	return state, list
}

func versionsOf(t *testing.T, scorers []scorer) []*entry {
	entries := make([]*entry, len(scorers))
	for i, s := range scorers {
		v := testVersion(t, fmt.Sprint("s", i), s.fields, abi.Score)
		v.desc.Normalize = s.how
		entries[i] = entryOf(v)
	}
	return entries
}

// round(Σ weight·score / max(W, Σ weight)) over the scoring policies of the
// profile.
func TestMixedScores(t *testing.T) {
	none, highest := abi.NormalizeNone, abi.NormalizeMax
	for name, c := range map[string]struct {
		weight  int64 // W
		scorers []scorer
		want    []int64
		status  string
	}{
		"one":                        {1, []scorer{{"", none, []int64{0, 50, 100}}}, []int64{0, 50, 100}, ""},
		"two share":                  {1, []scorer{{"", none, []int64{0, 50, 100}}, {"", none, []int64{100, 51, 0}}}, []int64{50, 51, 50}, ""},
		"weights":                    {1, []scorer{{"weight: 3", none, []int64{100, 0, 0}}, {"", none, []int64{0, 100, 0}}}, []int64{75, 25, 0}, ""},
		"below W":                    {10, []scorer{{"weight: 3", none, []int64{100, 50, 0}}, {"", none, []int64{0, 100, 0}}}, []int64{30, 25, 0}, ""},
		"one that has no say adds 0": {1, []scorer{{"", none, []int64{100, 0, 0}}, {"", none, nil}}, []int64{50, 0, 0}, ""},
		"one of another profile":     {1, []scorer{{"", none, []int64{100, 0, 0}}}, []int64{100, 0, 0}, ""},
		"highest":                    {1, []scorer{{"", highest, []int64{1, 2, 4}}}, []int64{25, 50, 100}, ""},
		"out of range":               {1, []scorer{{"", none, []int64{1, 101, 4}}}, nil, `s0: normalize_score: bad_result: node "n1": score: want 0 to 100, got 101`},
		"out of range, ignored":      {1, []scorer{{"failurePolicy: Ignore", none, []int64{1, 101, 4}}, {"", none, []int64{10, 20, 30}}}, []int64{5, 10, 15}, ""},
		"negative":                   {1, []scorer{{"", highest, []int64{1, -1, 4}}}, nil, `s0: normalize_score: bad_result: node "n1": raw score: want at least 0`},
	} {
		t.Run(name, func(t *testing.T) {
			entries := versionsOf(t, c.scorers)
			if name == "one of another profile" {
				entries = append(entries, entryOf(testVersion(t, "else", "match: {profiles: [else]}", abi.Score)))
			}
			h, b, _ := testHost(entries...)
			h.weights["berth"] = c.weight
			state, list := scored(t, b, testNodes(numbered(3)...), c.scorers)
			tokens := slices.Clone(list)
			for range 2 { // it changes nothing but the list
				copy(list, tokens)
				status := b.NormalizeScore(context.Background(), state, testPod("p"), list)
				if c.status != "" {
					if status.Code() != fwk.Error || !strings.HasPrefix(status.Message(), c.status) {
						t.Fatalf("want %q, got %v", c.status, status)
					}
					continue
				}
				if !status.IsSuccess() {
					t.Fatal(status)
				}
				if diff := cmp.Diff(scoreList(c.want...), list); diff != "" {
					t.Fatalf("-want +got\n%s", diff)
				}
			}
		})
	}
}

// In a batch the raw scores of an earlier cycle are normalised with a later
// one's. A policy that dropped out for any of the nodes has no say about all;
// scores that are too old, or of other versions, are an error, which only ends
// the batch.
func TestScoresOfEarlierCycles(t *testing.T) {
	scorers := func(a, b []int64) []scorer {
		return []scorer{{"", abi.NormalizeMax, a}, {"", abi.NormalizeNone, b}}
	}
	nodes := testNodes(numbered(3)...)
	h, b, _ := testHost(versionsOf(t, scorers(nil, nil))...)
	first, cached := scored(t, b, nodes, scorers([]int64{1, 2, 3}, []int64{10, 20, 30}))
	later, fresh := scored(t, b, nodes, scorers([]int64{4, 4, 4}, []int64{40, 40, 40}))
	normalize := func(state fwk.CycleState, tokens ...fwk.NodeScore) (fwk.NodeScoreList, *fwk.Status) {
		list := slices.Clone(fwk.NodeScoreList(tokens))
		return list, b.NormalizeScore(context.Background(), state, testPod("p"), list)
	}
	want := func(what string, state fwk.CycleState, scores []int64, tokens ...fwk.NodeScore) {
		t.Helper()
		list, s := normalize(state, tokens...)
		if !s.IsSuccess() {
			t.Fatalf("%s: %v", what, s)
		}
		for i, x := range list {
			if x.Score != scores[i] {
				t.Errorf("%s: want %v, got %v", what, scores, list)
			}
		}
	}
	want("a batch", later, []int64{18, 35, 70}, cached[0], cached[1], fresh[2]) // (25+10)/2, (50+20)/2, (100+40)/2
	want("again", later, []int64{18, 35, 70}, cached[0], cached[1], fresh[2])
	stateOf(first).scores.policies[0].failed = true
	want("one dropped out", later, []int64{5, 10, 20}, cached[0], cached[1], fresh[2])
	if _, s := normalize(later, fwk.NodeScore{Name: "n0", Score: 77 << tokenBits}); s.Code() != fwk.Error {
		t.Errorf("want an unknown token refused, got %v", s)
	}
	h.active.Store(newActiveSet(2, versionsOf(t, scorers(nil, nil))))
	swapped, _ := scored(t, b, nodes, scorers([]int64{1, 1, 1}, []int64{1, 1, 1}))
	if _, s := normalize(swapped, cached[0]); s.Code() != fwk.Error || !strings.Contains(s.Message(), "other policies") {
		t.Errorf("want scores of another version refused, got %v", s)
	}
}
