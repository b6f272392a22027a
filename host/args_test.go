// SPDX-License-Identifier: Apache-2.0

package host

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/berth-scheduler/berth/abi"

	"github.com/berth-scheduler/berth/host/policy"
)

func TestParseArgs(t *testing.T) {
	head := "apiVersion: " + policy.APIVersion + "\nkind: BerthArgs\n"
	for name, c := range map[string]struct {
		yaml string
		want Args
		err  string
	}{
		"defaults": {head, Args{StartDeadlineSeconds: 60, MaxPermitWaitSeconds: 600}, ""},
		"all": {
			head + "policyNamespace: policies\nstateNamespace: state\npolicyDir: /policies\nstartDeadlineSeconds: 5\npodUpdateEvents: true\nmaxPermitWaitSeconds: 9\n",
			Args{PolicyNamespace: "policies", StateNamespace: "state", PolicyDir: "/policies", StartDeadlineSeconds: 5, PodUpdateEvents: true, MaxPermitWaitSeconds: 9}, "",
		},
		"unknown field":     {head + "policyNamespaces: x\n", Args{}, "policyNamespaces"},
		"field given twice": {head + "policyDir: a\npolicyDir: b\n", Args{}, "policyDir"},
		"another kind":      {strings.Replace(head, "BerthArgs", "OtherArgs", 1), Args{}, "got " + policy.APIVersion + " OtherArgs"},
		"another version":   {"apiVersion: v9\nkind: BerthArgs\n", Args{}, "got v9 BerthArgs"},
		"not a namespace":   {head + "policyNamespace: A_B\n", Args{}, `policyNamespace: want a namespace, got "A_B"`},
		"one namespace":     {head + "policyNamespace: a\nstateNamespace: a\n", Args{}, "want another than policyNamespace"},
		"negative deadline": {head + "startDeadlineSeconds: -1\n", Args{}, "want 1 to 3600, got -1"},
		"long deadline":     {head + "startDeadlineSeconds: 3601\n", Args{}, "want 1 to 3600, got 3601"},
		"negative wait":     {head + "maxPermitWaitSeconds: -1\n", Args{}, "maxPermitWaitSeconds: want 1 to 900, got -1"},
		"long wait":         {head + "maxPermitWaitSeconds: 901\n", Args{}, "want 1 to 900, got 901"},
		"not YAML":          {"{", Args{}, Name},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseArgs(&runtime.Unknown{Raw: []byte(c.yaml)})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || !strings.HasPrefix(err.Error(), "arguments of plugin Berth: ") {
					t.Fatalf("want an error with %q, got %v", c.err, err)
				}
				return
			}
			c.want.APIVersion, c.want.Kind = policy.APIVersion, argsKind
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("error %v, -want +got\n%s", err, diff)
			}
		})
	}
	if got, err := parseArgs(nil); err != nil || got.startDeadline() != time.Minute {
		t.Errorf("no arguments: want the defaults, got %+v, %v", got, err)
	}
	if _, err := parseArgs(&v1.Pod{}); err == nil || !strings.Contains(err.Error(), "got *v1.Pod") {
		t.Errorf("want another object refused, got %v", err)
	}
}

func TestWeights(t *testing.T) {
	set := func(plugins ...config.Plugin) config.PluginSet { return config.PluginSet{Enabled: plugins} }
	for name, c := range map[string]struct {
		plugins config.Plugins
		want    int64
		enabled bool
	}{
		"not enabled": {config.Plugins{Score: set(config.Plugin{Name: "Other", Weight: 3})}, 1, false},
		"multiPoint":  {config.Plugins{MultiPoint: set(config.Plugin{Name: Name, Weight: 3})}, 3, true},
		"score":       {config.Plugins{Score: set(config.Plugin{Name: Name, Weight: 5}), MultiPoint: set(config.Plugin{Name: Name, Weight: 3})}, 5, true},
		"no weight":   {config.Plugins{MultiPoint: set(config.Plugin{Name: Name})}, 1, true},
	} {
		if got, enabled := weightOf(c.plugins.Score, c.plugins.MultiPoint); got != c.want || enabled != c.enabled {
			t.Errorf("%s: want %d, %t, got %d, %t", name, c.want, c.enabled, got, enabled)
		}
	}
	h, _, _ := testHost()
	h.SetProfiles([]config.KubeSchedulerProfile{
		{SchedulerName: "a", Plugins: &config.Plugins{MultiPoint: set(config.Plugin{Name: Name, Weight: 4}), PlacementScore: set(config.Plugin{Name: Name, Weight: 2})}},
		{SchedulerName: "b"}, {SchedulerName: "c", Plugins: &config.Plugins{}},
	})
	for profile, want := range map[string][2]int64{"a": {4, 2}, "b": {1, 1}, "c": {1, 1}, "never heard of": {1, 1}} {
		if got := [2]int64{h.weight(profile, abi.Score), h.weight(profile, abi.ScorePlacement)}; got != want {
			t.Errorf("profile %s: want %d for nodes and placements, got %d", profile, want, got)
		}
	}
}
