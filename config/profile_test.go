// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	configscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"sigs.k8s.io/yaml"
)

const plugin = "Berth"

// schedulerConfig is the configuration as the scheduler reads it: strictly, and
// with defaults.
func schedulerConfig(t *testing.T) *config.KubeSchedulerConfiguration {
	t.Helper()
	return decoded(t, configFile, read(t, configFile))
}

func decoded(t *testing.T, name string, text []byte) *config.KubeSchedulerConfiguration {
	t.Helper()
	object, kind, err := configscheme.Codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	c, ok := object.(*config.KubeSchedulerConfiguration)
	if !ok {
		t.Fatalf("%s: got %s, want KubeSchedulerConfiguration", name, kind)
	}
	c.APIVersion = kind.GroupVersion().String() // validation asks for it
	return c
}

// berthArgs is the plugin's arguments, all of which are strings here.
func berthArgs(t *testing.T) map[string]string {
	t.Helper()
	for _, entry := range schedulerConfig(t).Profiles[0].PluginConfig {
		if entry.Name != plugin {
			continue
		}
		raw, ok := entry.Args.(*runtime.Unknown)
		if !ok {
			t.Fatalf("arguments of %s: got %T, want what an out-of-tree plugin gets", plugin, entry.Args)
		}
		args := map[string]string{}
		if err := yaml.UnmarshalStrict(raw.Raw, &args); err != nil {
			t.Fatal(err)
		}
		return args
	}
	t.Fatalf("no arguments of %s", plugin)
	return nil
}

func TestSchedulerConfig(t *testing.T) {
	c := schedulerConfig(t)
	if err := validation.ValidateKubeSchedulerConfiguration(c); err != nil {
		t.Error(err)
	}
	if len(c.Profiles) != 1 || c.Profiles[0].SchedulerName != "berth" {
		t.Errorf("got %d profiles, want one that is called berth", len(c.Profiles))
	}
	lease := c.LeaderElection
	if !lease.LeaderElect || lease.ResourceName != name || lease.ResourceNamespace != systemNamespace {
		t.Errorf("got leader election %t with lease %s/%s, want %s/%s", lease.LeaderElect, lease.ResourceNamespace, lease.ResourceName, systemNamespace, name)
	}
	want := map[string]string{
		"apiVersion": "berth.dev/v1alpha1", "kind": "BerthArgs",
		"policyNamespace": systemNamespace, "stateNamespace": stateNamespace,
	}
	if diff := cmp.Diff(want, berthArgs(t)); diff != "" {
		t.Errorf("arguments of %s (-want +got):\n%s", plugin, diff)
	}
}

// everywhere has the points at which its place among the others matters.
type everywhere struct{ fwk.Plugin }

func (everywhere) Name() string { return plugin }

func (everywhere) Filter(context.Context, fwk.CycleState, *corev1.Pod, fwk.NodeInfo) *fwk.Status {
	return nil
}

func (everywhere) PostFilter(context.Context, fwk.CycleState, *corev1.Pod, fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	return nil, fwk.NewStatus(fwk.Unschedulable)
}

func (everywhere) Score(context.Context, fwk.CycleState, *corev1.Pod, fwk.NodeInfo) (int64, *fwk.Status) {
	return 0, nil
}

func (everywhere) ScoreExtensions() fwk.ScoreExtensions { return nil }

func (everywhere) Bind(context.Context, fwk.CycleState, *corev1.Pod, string) *fwk.Status {
	return fwk.NewStatus(fwk.Skip)
}

func (everywhere) PodGroupPostFilter(context.Context, fwk.PodGroupCycleState, fwk.PodGroupInfo, fwk.PodGroupSchedulingFunc) (*fwk.PodGroupPostFilterResult, *fwk.Status) {
	return nil, fwk.NewStatus(fwk.Unschedulable)
}

// generator is the plugin that proposes placements.
type generator struct{ fwk.Plugin }

func (generator) Name() string { return "BerthPlacement" }

func (generator) GeneratePlacements(context.Context, fwk.PodGroupCycleState, fwk.PodGroupInfo, *fwk.Placement) (*fwk.GeneratePlacementsResult, *fwk.Status) {
	return &fwk.GeneratePlacementsResult{}, nil
}

// pluginsOf is what a real scheduler makes of the profile berth.
func pluginsOf(t *testing.T, c *config.KubeSchedulerConfiguration) *config.Plugins {
	t.Helper()
	metrics.Register()
	client := fake.NewClientset()
	made := func(p fwk.Plugin) frameworkruntime.PluginFactory {
		return func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) { return p, nil }
	}
	s, err := scheduler.New(t.Context(), client, scheduler.NewInformerFactory(client, 0, nil), nil,
		func(string) events.EventRecorderLogger { return &events.FakeRecorder{} },
		scheduler.WithComponentConfigVersion(c.APIVersion),
		scheduler.WithProfiles(c.Profiles...),
		scheduler.WithFrameworkOutOfTreeRegistry(frameworkruntime.Registry{plugin: made(everywhere{}), "BerthPlacement": made(generator{})}))
	if err != nil {
		t.Fatal(err)
	}
	return s.Profiles["berth"].ListPlugins()
}

func names(set config.PluginSet) (list []string) {
	for _, p := range set.Enabled {
		list = append(list, p.Name)
	}
	return list
}

// Upstream puts a plugin of multiPoint after the default ones, except where it
// is named explicitly too.
func TestOrderOfPlugins(t *testing.T) {
	c := schedulerConfig(t)
	plugins := pluginsOf(t, c)
	if got := names(plugins.PostFilter); len(got) < 2 || got[0] != plugin || !slices.Contains(got, "DefaultPreemption") {
		t.Errorf("PostFilter: got %q, want Berth first, before DefaultPreemption", got)
	}
	if got := names(plugins.PodGroupPostFilter); len(got) < 2 || got[0] != plugin || !slices.Contains(got, "DefaultPreemption") {
		t.Errorf("PodGroupPostFilter: got %q, want Berth first, before DefaultPreemption", got)
	}
	if diff := cmp.Diff([]string{plugin, "DefaultBinder"}, names(plugins.Bind)); diff != "" {
		t.Errorf("Bind (-want +got):\n%s", diff)
	}
	if got := names(plugins.Filter); len(got) < 10 || got[len(got)-1] != plugin {
		t.Errorf("Filter: got %q, want the default plugins, then Berth", got)
	}
	weight := c.Profiles[0].Plugins.MultiPoint.Enabled
	i := slices.IndexFunc(plugins.Score.Enabled, func(p config.Plugin) bool { return p.Name == plugin })
	if i < 0 || plugins.Score.Enabled[i].Weight != weight[len(weight)-1].Weight {
		t.Errorf("Score: got %+v, want Berth with the file's weight", plugins.Score.Enabled)
	}
}

// What docs/pod-groups.md shows leaves one plugin that proposes placements.
func TestPodGroupConfig(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.GenericWorkload, true)
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.TopologyAwareWorkloadScheduling, true)
	text, err := os.ReadFile("../docs/pod-groups.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	block, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("want a configuration in the page")
	}
	plugins := pluginsOf(t, decoded(t, "docs/pod-groups.md", []byte(block)))
	if diff := cmp.Diff([]string{"BerthPlacement"}, names(plugins.PlacementGenerate)); diff != "" {
		t.Errorf("PlacementGenerate (-want +got):\n%s", diff)
	}
	if got := names(plugins.PodGroupPostFilter); len(got) < 2 || got[0] != plugin {
		t.Errorf("PodGroupPostFilter: got %q, want Berth first", got)
	}
}
