// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	schedulermetrics "k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/berth-scheduler/berth/host"
)

// testArgs makes frameworks one by one, as a scheduler with several profiles
// does: arguments that are wrong, or not those of the first profile, refuse the
// start.
func testArgs(t *testing.T, e Engine) {
	schedulermetrics.Register()
	const head = "apiVersion: berth.dev/v1alpha1\nkind: BerthArgs\n"
	for _, c := range []struct {
		name, first, second, part string
	}{
		{"equal", head, head, ""},
		{"in other words", head + "startDeadlineSeconds: 60\n", head, ""},
		{"another directory", head, head + "policyDir: /nowhere\n", `want those of profile "first"`},
		{"another deadline", head + "startDeadlineSeconds: 7\n", head, `want those of profile "first"`},
		{"unknown field", head, head + "polcyDir: /nowhere\n", "polcyDir"},
		{"another kind", head, "apiVersion: berth.dev/v1alpha1\nkind: Other\n", "Other"},
		{"another version", head, "apiVersion: berth.dev/v9\nkind: BerthArgs\n", "v9"},
		{"one namespace for policies and state", head, head + "policyNamespace: x\nstateNamespace: x\n", "stateNamespace"},
		{"no namespace", head, head + "stateNamespace: Not-A-Name\n", "stateNamespace"},
		{"deadline out of range", head, head + "startDeadlineSeconds: -1\n", "got -1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := e.Host(host.Options{CacheDir: e.cache})
			ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), ktesting.NewLogger(t, ktesting.NewConfig(ktesting.Verbosity(0)))))
			defer h.Close()
			defer cancel()
			if err := newFramework(ctx, h, "first", c.first); err != nil {
				t.Fatal(err)
			}
			err := newFramework(ctx, h, "second", c.second)
			switch {
			case c.part == "" && err != nil:
				t.Errorf("want it taken, got %v", err)
			case c.part != "" && (err == nil || !strings.Contains(err.Error(), c.part)):
				t.Errorf("want an error with %q, got %v", c.part, err)
			}
		})
	}
}

// newFramework makes the framework of a profile that has the plugin everywhere.
func newFramework(ctx context.Context, h *host.Host, profile, args string) error {
	registry := plugins.NewInTreeRegistry()
	if err := registry.Merge(h.Registry()); err != nil {
		return err
	}
	client := NewClient()
	set := func(name string) config.PluginSet {
		return config.PluginSet{Enabled: []config.Plugin{{Name: name}}}
	}
	_, err := frameworkruntime.NewFramework(ctx, registry, &config.KubeSchedulerProfile{
		SchedulerName: profile,
		Plugins:       &config.Plugins{QueueSort: set(names.PrioritySort), Bind: set(names.DefaultBinder), MultiPoint: set(host.Name)},
		PluginConfig:  []config.PluginConfig{{Name: host.Name, Args: &runtime.Unknown{Raw: []byte(args), ContentType: runtime.ContentTypeYAML}}},
	},
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(informers.NewSharedInformerFactory(client, 0)),
		frameworkruntime.WithEventRecorder(&recorder{}),
		frameworkruntime.WithSnapshotSharedLister(internalcache.NewEmptySnapshot()),
	)
	return err
}
