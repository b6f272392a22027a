// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// use gives every metric a series, so that the registry shows it.
func use() {
	Register()
	Register() // as a second scheduler of the process does
	const p = "touched"
	for _, v := range []*metrics.CounterVec{Instances, ViewsEncoded, ViewBytes, BudgetViolations} {
		v.WithLabelValues(p).Inc()
	}
	for _, v := range []*metrics.CounterVec{Calls, Fuel, CacheHits, Swaps, Evictions} {
		v.WithLabelValues(p, "x").Inc()
	}
	for _, v := range []*metrics.CounterVec{Verdicts, Faults} {
		v.WithLabelValues(p, "x", "y").Inc()
	}
	CallSeconds.WithLabelValues(p, "x").Observe(1)
	LiveInstances.WithLabelValues(p).Set(1)
	GuestMemory.WithLabelValues(p).Set(1)
	State.WithLabelValues(p, "x").Set(1)
	DataSetAge.WithLabelValues(p, "x").Set(1)
	PolicyEvents.WithLabelValues(p, "x").Inc()
	AddOwn(p, "x", 1)
	SetOwn(p, "x", 1)
	Waiting.WithLabelValues().Set(1)
}

// The operations page lists exactly the metrics that there are, with their help.
func TestDocumented(t *testing.T) {
	use()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), subsystem+"_") {
			help := strings.TrimPrefix(f.GetHelp(), "[ALPHA] ")
			want = append(want, fmt.Sprintf("| `%s` | %s |", f.GetName(), help))
		}
	}
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| `"+subsystem+"_") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/operations.md (-want +got):\n%s", diff)
	}
}

// A policy may have so many metrics of its own, until it is gone.
func TestOwn(t *testing.T) {
	ask := func(policy string, names ...string) (may []bool) {
		for _, n := range names {
			may = append(may, MayOwn(policy, n, 2))
		}
		return may
	}
	for _, c := range []struct {
		policy string
		names  []string
		want   []bool
	}{
		{"many", []string{"a", "b", "c", "a"}, []bool{true, true, false, true}},
		{"other", []string{"c"}, []bool{true}},
	} {
		if diff := cmp.Diff(c.want, ask(c.policy, c.names...)); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.policy, diff)
		}
	}
	Forget("many")
	if !MayOwn("many", "c", 2) {
		t.Error("want a policy that is gone forgotten")
	}
}

// Forget drops a policy's series and no other's.
func TestForget(t *testing.T) {
	use()
	Calls.WithLabelValues("gone", "filter").Inc()
	Forget("gone")
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	kept := false
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "policy" && l.GetValue() == "gone" {
					t.Errorf("%s still has a series of the policy", f.GetName())
				}
				kept = kept || l.GetValue() == "touched"
			}
		}
	}
	if !kept {
		t.Error("the other policy's series are gone")
	}
}
