// SPDX-License-Identifier: Apache-2.0

package berth_test

import (
	"strings"
	"testing"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
	"github.com/berth-scheduler/berth/guest-sdk/go/internal/native"
)

// panics runs f and returns what it panicked with.
func panics(t *testing.T, f func()) (text string) {
	t.Helper()
	defer func() {
		text, _ = recover().(string)
	}()
	f()
	t.Error("want a panic, got none")
	return ""
}

type filterFunc func(c *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status

func (f filterFunc) Filter(c *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	return f(c, pod, node)
}

func TestPanics(t *testing.T) {
	reads := []berth.Section{berth.NodeLabels}
	tests := []struct {
		name   string
		filter filterFunc
		want   string
	}{
		{"undeclared section of a node", func(_ *berth.Cycle, _ berth.Pod, n berth.Node) *berth.Status {
			n.Taints()
			return nil
		}, "node.taints without declaring it"},
		{"undeclared section of a pod", func(_ *berth.Cycle, p berth.Pod, _ berth.Node) *berth.Status {
			p.Name()
			return nil
		}, "pod.identity without declaring it"},
		{"state set in filter", func(c *berth.Cycle, _ berth.Pod, _ berth.Node) *berth.Status {
			c.SetState(&zoneCount{})
			return nil
		}, "SetState in filter"},
		{"index", func(_ *berth.Cycle, _ berth.Pod, n berth.Node) *berth.Status {
			n.Labels().At(1)
			return nil
		}, "out of range"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := berthtest.New(t, &berth.Policy{Name: "p", Version: "1", Reads: reads}, tt.filter, nil)
			got := panics(t, func() { h.Filter(berthtest.Pod("ns", "p"), berthtest.Node("n")) })
			if !strings.Contains(got, tt.want) {
				t.Errorf("want a panic about %q, got %q", tt.want, got)
			}
			// The host goes on after a panic, as with a fresh instance.
			h = berthtest.New(t, &berth.Policy{Name: "p", Version: "1", Reads: reads}, filterFunc(func(*berth.Cycle, berth.Pod, berth.Node) *berth.Status { return nil }), nil)
			h.Filter(berthtest.Pod("ns", "p"), berthtest.Node("n"))
		})
	}
}

type halfPreFilter struct{ filterFunc }

func (halfPreFilter) PreFilterNode(*berth.Cycle, berth.Pod, berth.Node) *berth.Status { return nil }

type onlyAddPod struct{ filterFunc }

func (onlyAddPod) AddPod(*berth.Cycle, berth.Pod, berth.Pod, berth.Node) *berth.Status    { return nil }
func (onlyAddPod) RemovePod(*berth.Cycle, berth.Pod, berth.Pod, berth.Node) *berth.Status { return nil }

type onlyNormalize struct{ filterFunc }

func (onlyNormalize) NormalizeScore(*berth.Cycle, berth.Pod, []int64) *berth.Status { return nil }

type onlyPreFlight struct{ filterFunc }

func (onlyPreFlight) PreBindPreFlight(*berth.Cycle, berth.Pod, string) *berth.Status { return nil }

type onlyNormalizePlacements struct{ filterFunc }

func (onlyNormalizePlacements) NormalizePlacementScore(*berth.Cycle, berth.Group, []int64) *berth.Status {
	return nil
}

type onlyReserve struct{ filterFunc }

func (onlyReserve) Reserve(*berth.Cycle, berth.Pod, berth.Node) *berth.Status { return nil }

func TestBadPlugins(t *testing.T) {
	tests := []struct {
		name   string
		policy berth.Policy
		plugin any
		want   string
	}{
		{"nothing", berth.Policy{Name: "p"}, struct{}{}, "want at least one"},
		{"no name", berth.Policy{}, filterFunc(nil), "name"},
		{"half a point", berth.Policy{Name: "p"}, halfPreFilter{}, "all of PreFilterBegin"},
		{"extensions alone", berth.Policy{Name: "p"}, onlyAddPod{}, "AddPod and RemovePod"},
		{"normalize alone", berth.Policy{Name: "p"}, onlyNormalize{}, "want Score"},
		{"normalization alone", berth.Policy{Name: "p", Normalize: berth.NormalizeMax}, filterFunc(nil), "want Score"},
		{"two normalizations", berth.Policy{Name: "p", Normalize: berth.NormalizeMax}, &zones{}, "got both"},
		{"pure with state", berth.Policy{Name: "p", Pure: true}, &zones{}, "pure"},
		{"preflight alone", berth.Policy{Name: "p"}, onlyPreFlight{}, "want PreBind beside PreBindPreFlight"},
		{"placement's normalize alone", berth.Policy{Name: "p"}, onlyNormalizePlacements{}, "want ScorePlacement beside"},
		{"events alone", berth.Policy{Name: "p", Events: []string{"node/add"}}, filterFunc(nil), "want QueueingHint"},
		{"unknown event", berth.Policy{Name: "p", Events: []string{"node/mood"}}, &queue{}, "node/mood"},
		{"unknown intent", berth.Policy{Name: "p", Intents: []berth.Intent{"shout"}}, &queue{}, "shout"},
		{"intents without a point", berth.Policy{Name: "p", Intents: []berth.Intent{berth.IntentMetric}}, filterFunc(nil), "the intent metric may be asked for"},
		{"eviction without a point", berth.Policy{Name: "p", Intents: []berth.Intent{berth.IntentEvict}}, &queue{}, "the intent evict may be asked for"},
		{"unknown aggregate", berth.Policy{Name: "p", Aggregates: []string{"mood"}}, filterFunc(nil), "mood"},
		{"resource without version", berth.Policy{Name: "p", Resources: []berth.Resource{{Name: "nodes"}}}, filterFunc(nil), "nodes"},
		{"unknown section", berth.Policy{Name: "p", Reads: []berth.Section{"node.mood"}}, filterFunc(nil), "node.mood"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := panics(t, func() { native.NewGuest(&tt.policy, tt.plugin) })
			if !strings.Contains(got, tt.want) {
				t.Errorf("want a panic about %q, got %q", tt.want, got)
			}
		})
	}
}

// fakeT notes a failure that is wanted.
type fakeT struct {
	testing.TB
	failure string
}

func (f *fakeT) Helper() {}

func (f *fakeT) Fatalf(format string, args ...any) {
	for _, a := range args {
		s, _ := a.(string)
		f.failure += s
	}
	panic(f.failure)
}

type wrongFilter struct{ filterFunc }

func (wrongFilter) Score(berth.Pod, berth.Node) int64 { return 0 }

// Methods that the SDK can't know for mistakes fail in tests.
func TestWrongSignature(t *testing.T) {
	for plugin, want := range map[any]string{
		&wrongFilter{}:   "method Score: want func(*berth.Cycle, berth.Pod, berth.Node) (int64, *berth.Status)",
		&onlyReserve{}:   "want Unreserve beside Reserve",
		&halfPreFilter{}: "want PreFilterBegin, PreFilterEnd beside PreFilterNode",
	} {
		f := &fakeT{TB: t}
		got := panics(t, func() { berthtest.New(f, &berth.Policy{Name: "p"}, plugin, nil) })
		if !strings.Contains(got, want) {
			t.Errorf("want a failure with %q, got %q", want, got)
		}
	}
}
