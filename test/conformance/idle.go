// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host"
	"github.com/berth-scheduler/berth/host/points"
)

// testIdle checks that a scheduler with the plugin and without a policy that has
// anything to say can't be told from one without the plugin: at each point the
// plugin's answer, and what the framework makes of it.
func testIdle(t *testing.T, e Engine) {
	none := e.NewWorld(t, Setting{})
	none.Eventually("the start gate opens", func() bool { return none.gateOpen() })
	other := e.NewWorld(t, Setting{})
	other.Load(Policy{Name: "elsewhere", Module: goGuest(t, chameleon), Config: "{filter: panic, score: panic}", Fields: "match: {namespaces: [elsewhere]}"})
	for name, w := range map[string]*World{"no policies": none, "no policy matches": other} {
		w.AddNodes(node("n1", "a", 4), node("n2", "b", 4))
		t.Run(name, func(t *testing.T) { idlePoints(t, w) })
	}
}

func (w *World) gateOpen() bool {
	return w.plugin().PreEnqueue(w.ctx, pod("gate").Obj()).IsSuccess()
}

// plugin is the host's plugin of the World's first profile.
func (w *World) plugin() *host.Berth { return w.Plugins[profile].(*host.Berth) }

func idlePoints(t *testing.T, w *World) {
	w.Refresh()
	ctx, p, b := context.Background(), pod("p").Obj(), w.plugin()
	fw, state := w.framework(p), framework.NewCycleState()
	infos, err := w.snapshot.ListNodesInPlacement()
	if err != nil {
		t.Fatal(err)
	}
	info, err := framework.NewPodInfo(pod("other").Node("n1").Obj())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		point string
		call  func() *fwk.Status
		want  *fwk.Status
	}{
		{"PreEnqueue", func() *fwk.Status { return b.PreEnqueue(ctx, p) }, nil},
		{"PreFilter", func() *fwk.Status {
			result, s := b.PreFilter(ctx, state, p, infos)
			if result != nil {
				t.Errorf("PreFilter: want no result, got %v", result)
			}
			return s
		}, fwk.NewStatus(fwk.Skip)},
		{"AddPod", func() *fwk.Status { return b.AddPod(ctx, state, p, info, infos[0]) }, nil},
		{"RemovePod", func() *fwk.Status { return b.RemovePod(ctx, state, p, info, infos[0]) }, nil},
		{"Filter", func() *fwk.Status { return b.Filter(ctx, state, p, infos[0]) }, nil},
		{"PostFilter", func() *fwk.Status {
			result, s := b.PostFilter(ctx, state, p, framework.NewDefaultNodeToStatus())
			if result != nil {
				t.Errorf("PostFilter: want no result, got %v", result)
			}
			return s
		}, fwk.NewStatus(fwk.Unschedulable)},
		{"PodGroupPostFilter", func() *fwk.Status {
			result, s := b.PodGroupPostFilter(ctx, nil, nil, nil)
			if result != nil {
				t.Errorf("PodGroupPostFilter: want no result, got %v", result)
			}
			return s
		}, fwk.NewStatus(fwk.Unschedulable)},
		{"PreScore", func() *fwk.Status { return b.PreScore(ctx, state, p, infos) }, fwk.NewStatus(fwk.Skip)},
		{"Reserve", func() *fwk.Status { return b.Reserve(ctx, state, p, "n1") }, nil},
		{"Permit", func() *fwk.Status {
			s, wait := b.Permit(ctx, state, p, "n1")
			if wait != 0 {
				t.Errorf("Permit: want no time, got %s", wait)
			}
			return s
		}, nil},
		{"PreBindPreFlight", func() *fwk.Status {
			result, s := b.PreBindPreFlight(ctx, state, p, "n1")
			if result == nil || !result.AllowParallel {
				t.Errorf("PreBindPreFlight: want AllowParallel, got %v", result)
			}
			return s
		}, fwk.NewStatus(fwk.Skip)},
		{"PreBind", func() *fwk.Status { return b.PreBind(ctx, state, p, "n1") }, nil},
		{"Bind", func() *fwk.Status { return b.Bind(ctx, state, p, "n1") }, fwk.NewStatus(fwk.Skip)},
		{"SignPod", func() *fwk.Status {
			fragments, s := b.SignPod(ctx, p)
			if len(fragments) > 0 {
				t.Errorf("SignPod: want no fragment, got %v", fragments)
			}
			return s
		}, nil},
	} {
		t.Run(row.point, func(t *testing.T) {
			got := row.call()
			if got.Code() != row.want.Code() || got.Message() != "" {
				t.Errorf("want %s without reasons, got %q", row.want.Code(), describe(got))
			}
			if said := idleCode(t, row.point); said != abi.Code(got.Code()) {
				t.Errorf("the table of points says %s, got %s", said, got.Code())
			}
		})
	}
	b.Unreserve(ctx, state, p, "n1")
	b.PostBind(ctx, state, p, "n1")
	t.Run("framework", func(t *testing.T) { idleFramework(t, w, fw, p) })
}

// idleCode is what the table of points says of a method's idle answer.
func idleCode(t *testing.T, method string) abi.Code {
	t.Helper()
	for _, i := range points.Table() {
		if i.Method[strings.LastIndex(i.Method, ".")+1:] == method {
			return i.Idle.Code
		}
	}
	t.Fatalf("no point has the method %s", method)
	return abi.Unset
}

// idleFramework checks what the framework makes of the answers.
func idleFramework(t *testing.T, w *World, fw framework.Framework, p *v1.Pod) {
	a := w.Evaluate(p)
	if diff := cmp.Diff(Outcome{Nodes: map[string]string{"n1": "", "n2": ""}}, a.Outcome()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if !a.State.GetSkipFilterPlugins().Has(host.Name) || !a.State.GetSkipScorePlugins().Has(host.Name) {
		t.Error("want the plugin skipped in Filter and Score")
	}
	if fw.SignPod(w.ctx, p) == nil {
		t.Error("want the pod signed")
	}
	if s := fw.RunReservePluginsReserve(w.ctx, a.State, p, "n1"); !s.IsSuccess() {
		t.Errorf("reserve: %q", describe(s))
	}
	if _, s := fw.RunPermitPlugins(w.ctx, a.State, p, "n1"); !s.IsSuccess() {
		t.Errorf("permit: %q", describe(s))
	}
	if s := fw.RunPreBindPreFlights(w.ctx, a.State, p, "n1"); s.Code() != fwk.Skip {
		t.Errorf("pre-flight: want Skip, so that no pre-bind is awaited, got %q", describe(s))
	}
	w.Publish(p)
	if s := fw.RunBindPlugins(w.ctx, a.State, p, "n1"); !s.IsSuccess() {
		t.Errorf("bind: want the default binder to bind, got %q", describe(s))
	}
}
