// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
)

// gi is a gibibyte.
const gi = 1 << 30

var now = time.Unix(1_800_000_000, 0)

// config is one of a cluster of 10 cores and 100 GiB, with teams by label.
func config(more ...any) map[string]any {
	c := map[string]any{"teams": "Label", "capacity": map[string]any{"cpu": "10", "memory": "100Gi"}}
	for i := 0; i < len(more); i += 2 {
		c[more[i].(string)] = more[i+1]
	}
	return c
}

func newHost(t *testing.T, config map[string]any) *berthtest.Host {
	t.Helper()
	h := berthtest.New(t, &policy, &fairShare{}, config)
	h.SetNow(now)
	return h
}

// pod is a pod of a team that asks for a core and was created now.
func pod(team, name string) *berthtest.PodBuilder {
	return berthtest.Pod("default", name).Label(teamLabel, team).Request("cpu", 1000).Created(now.Unix())
}

// inOrder are the names of pods as the queue has them, after each was asked
// about in the order given.
func inOrder(h *berthtest.Host, pods map[string]*berthtest.PodBuilder, names ...string) []string {
	keys := map[string]int64{}
	for _, name := range names {
		keys[name] = h.QueueKey(pods[name])
	}
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case keys[a] < keys[b]:
			return -1
		case keys[a] > keys[b]:
			return 1
		}
		return 0
	})
	return names
}

// crowd makes n pods of a team, called team1, team2 and so on.
func crowd(pods map[string]*berthtest.PodBuilder, team string, n int) (names []string) {
	for i := range n {
		name := fmt.Sprint(team, i+1)
		pods[name] = pod(team, name)
		names = append(names, name)
	}
	return names
}

func TestOrder(t *testing.T) {
	tests := []struct {
		name   string
		config map[string]any
		held   map[string]int64 // cores by team
		want   string
	}{
		{"the first comer doesn't keep others waiting", config(), nil, "red1 blue1 red2 blue2 red3 blue3"},
		{"twice the weight", config("weights", map[string]any{"blue": 2}), nil, "blue1 red1 blue2 blue3 red2 red3"},
		{"the weight of those without one", config("defaultWeight", 2, "weights", map[string]any{"red": 1}), nil, "blue1 red1 blue2 blue3 red2 red3"},
		{"who holds less is first", config(), map[string]int64{"red": 2}, "blue1 blue2 red1 blue3 red2 red3"},
		{"until all hold the same", config(), map[string]int64{"red": 5, "blue": 1}, "blue1 blue2 blue3 red1 red2 red3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, tt.config)
			for team, cores := range tt.held {
				h.SetAggregate(byLabel, team, int(cores), map[string]int64{"cpu": cores * 1000})
			}
			pods := map[string]*berthtest.PodBuilder{}
			names := append(crowd(pods, "red", 3), crowd(pods, "blue", 3)...)
			if diff := cmp.Diff(tt.want, strings.Join(inOrder(h, pods, names...), " ")); diff != "" {
				t.Errorf("order: want (-), got (+):\n%s", diff)
			}
		})
	}
}

// Of several resources the one of which the team has the largest part counts.
func TestDominantResource(t *testing.T) {
	h := newHost(t, config())
	small := pod("red", "small").Request("memory", gi)     // a tenth of the cores
	large := pod("blue", "large").Request("memory", 20*gi) // a fifth of the memory
	if a, b := h.QueueKey(small), h.QueueKey(large); a != keysPerShare/10 || b != keysPerShare/5 {
		t.Errorf("want a tenth and a fifth of %v, got %d and %d", int64(keysPerShare), a, b)
	}
}

// A key is right while the team's pods before it are scheduled: those that come
// later get keys behind it.
func TestKeysHold(t *testing.T) {
	h := newHost(t, config())
	pods := map[string]*berthtest.PodBuilder{}
	names := crowd(pods, "red", 5)
	var keys []int64
	for _, name := range names {
		keys = append(keys, h.QueueKey(pods[name]))
	}
	for i, name := range names[:3] {
		c := h.Cycle(pods[name])
		c.PostBind("n1")
		c.End()
		h.SetAggregate(byLabel, "red", i+1, map[string]int64{"cpu": int64(i+1) * 1000})
	}
	if got := h.QueueKey(pods["red5"]); got != keys[4] {
		t.Errorf("want the same key as before, %d, got %d", keys[4], got)
	}
	if got := h.QueueKey(pod("red", "late")); got != keysPerShare*6/10 {
		t.Errorf("want the sixth place, got %d", got)
	}
}

// Waiting counts: after patienceMinutes as much as the whole cluster.
func TestPatience(t *testing.T) {
	h := newHost(t, config("patienceMinutes", 10))
	h.SetAggregate(byLabel, "red", 9, map[string]int64{"cpu": 9000})
	starving := h.QueueKey(pod("red", "old").Created(now.Add(-10 * time.Minute).Unix()))
	if fresh := h.QueueKey(pod("blue", "new")); starving != 0 || starving >= fresh {
		t.Errorf("want 0 for a pod that waited that long, before a new one of an idle team, got %d and %d", starving, fresh)
	}
	if got := h.QueueKey(pod("green", "future").Created(now.Add(time.Hour).Unix())); got != keysPerShare/10 {
		t.Errorf("want a creation in the future to count as none, got %d", got)
	}
}

func TestUrgent(t *testing.T) {
	h := newHost(t, config("urgentPriority", 1000))
	urgent := pod("red", "urgent").Priority(1000)
	if got := h.QueueKey(urgent); got != math.MinInt64 {
		t.Errorf("want the lowest key, got %d", got)
	}
	c := h.Cycle(urgent)
	c.PostBind("n1")
	c.End()
	if got := h.Kept("bound/red"); got != nil {
		t.Errorf("want a pod that was in no line not counted, got %v", got)
	}
}

// A group has one key, at the end of its team's line, and no place in it.
func TestGroup(t *testing.T) {
	h := newHost(t, config())
	h.QueueKey(pod("red", "single"))
	gang := pod("red", "gang-0").Group("gang")
	for range 2 {
		if got := h.QueueKey(gang); got != keysPerShare*2/10 {
			t.Errorf("want the second place each time, got %d", got)
		}
	}
	c := h.Cycle(gang)
	c.PostBind("n1")
	c.End()
	if got := h.QueueKey(pod("red", "next")); got != keysPerShare*2/10 {
		t.Errorf("want the group to have taken no place, got %d", got)
	}
}

func TestTeams(t *testing.T) {
	h := newHost(t, config("teams", "Namespace"))
	h.SetAggregate(byNamespace, "default", 1, map[string]int64{"cpu": 5000})
	h.SetAggregate(byLabel, "red", 1, map[string]int64{"cpu": 1000})
	if got := h.QueueKey(pod("red", "a")); got != keysPerShare*6/10 {
		t.Errorf("by namespace: want 6/10, got %d", got)
	}
	h = newHost(t, config())
	if got := h.QueueKey(berthtest.Pod("default", "nobody's").Request("cpu", 2000)); got != keysPerShare*2/10 {
		t.Errorf("without a label: want 2/10, got %d", got)
	}
}

// What isn't known yet is no reason to fail.
func TestNotReady(t *testing.T) {
	h := newHost(t, config())
	h.SetNotReady(byLabel, true)
	if got := h.QueueKey(pod("red", "a")); got != keysPerShare/10 || len(h.Logs()) == 0 {
		t.Errorf("want the place in line alone and a line in the log, got %d, %q", got, h.Logs())
	}
}

func TestConfigErrors(t *testing.T) {
	tests := []struct {
		name   string
		config map[string]any
		want   string
	}{
		{"no capacity", map[string]any{}, "config.capacity: is required"},
		{"nothing to share", config("capacity", map[string]any{}), "config.capacity: want at least one resource"},
		{"no quantity", config("capacity", map[string]any{"cpu": "many"}), `config.capacity.cpu: want a quantity above 0, as "96" or "384Gi", got "many"`},
		{"zero", config("capacity", map[string]any{"cpu": "0"}), "config.capacity.cpu: want a quantity above 0"},
		{"no team", config("weights", map[string]any{"": 1}), "config.weights: want names of teams"},
		{"no weight", config("weights", map[string]any{"red": 0}), "config.weights"},
		{"unknown kind of team", config("teams", "Cluster"), "config.teams: want one of"},
	}
	for _, tt := range tests {
		err := berthtest.TryConfig(t, &policy, &fairShare{}, tt.config)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: want %q, got %v", tt.name, tt.want, err)
		}
	}
}
