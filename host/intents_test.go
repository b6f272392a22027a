// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/guest"
	"github.com/berth-scheduler/berth/host/metrics"
)

func valueOf(t *testing.T, tree map[string]any) abi.Value {
	t.Helper()
	record, err := abi.EncodeValue(tree)
	if err != nil {
		t.Fatal(err)
	}
	v, err := abi.OpenValue(record)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// intentHandle has an API server and notes Events.
type intentHandle struct {
	fakeHandle
	client *fake.Clientset
	lines  []string
}

func (h *intentHandle) ClientSet() clientset.Interface                    { return h.client }
func (h *intentHandle) EventRecorder() events.EventRecorderLogger         { return h }
func (h *intentHandle) WithLogger(klog.Logger) events.EventRecorderLogger { return h }
func (h *intentHandle) Eventf(on, _ runtime.Object, kind, reason, action, note string, args ...any) {
	h.lines = append(h.lines, fmt.Sprint(on.(*v1.Pod).Name, " ", kind, " ", reason, " ", action, " ", fmt.Sprintf(note, args...)))
}

// What the ABI's table can't say of an intent is checked before any of the
// call's is carried out.
func TestCheckers(t *testing.T) {
	h, _, _ := testHost()
	a := &asking{host: h, version: testVersion(t, "checks", "")}
	long := strings.Repeat("x", abi.MaxReasonBytes+1)
	for _, c := range []struct {
		kind string
		tree map[string]any
		want string // "" is fine
	}{
		{abi.IntentEvent, map[string]any{"type": "Normal", "reason": "Moved"}, ""},
		{abi.IntentEvent, map[string]any{"type": "Warning", "reason": "A1", "message": "well"}, ""},
		{abi.IntentEvent, map[string]any{"type": "Info", "reason": "Moved"}, `type: want Normal or Warning, got "Info"`},
		{abi.IntentEvent, map[string]any{"type": "Normal", "reason": "moved"}, `CamelCase of at most 128 bytes, got "moved"`},
		{abi.IntentEvent, map[string]any{"type": "Normal", "reason": "Two words"}, `got "Two words"`},
		{abi.IntentEvent, map[string]any{"type": "Normal", "reason": "X" + long}, "reason: want a word"},
		{abi.IntentEvent, map[string]any{"type": "Normal", "reason": "X", "message": "two\nlines"}, "message: want printable text"},
		{abi.IntentEvent, map[string]any{"type": "Normal", "reason": "X", "message": long}, "message: want at most 1024 bytes"},
		{abi.IntentMetric, map[string]any{"name": "pods_seen", "add": 1.5}, ""},
		{abi.IntentMetric, map[string]any{"name": "pods_seen", "set": -1}, ""},
		{abi.IntentMetric, map[string]any{"name": "podsSeen", "add": 1}, `name: want snake_case of at most 63 bytes, got "podsSeen"`},
		{abi.IntentMetric, map[string]any{"name": "", "add": 1}, "snake_case"},
		{abi.IntentMetric, map[string]any{"name": strings.Repeat("x", 64), "add": 1}, "snake_case"},
		{abi.IntentMetric, map[string]any{"name": "x"}, "x: want either add or set"},
		{abi.IntentMetric, map[string]any{"name": "x", "add": 1, "set": 1}, "x: want either add or set"},
		{abi.IntentMetric, map[string]any{"name": "x", "add": -1}, "none below 0 to add, got -1"},
		{abi.IntentReject, map[string]any{"pod": "u"}, ""},
		{abi.IntentReject, map[string]any{"pod": "u", "reason": "a\tb"}, "reason: want printable text"},
		{abi.IntentBind, map[string]any{"annotations": map[string]any{"a": "b"}}, ""},
		{abi.IntentBind, map[string]any{"annotations": map[string]any{"a": nil}}, `annotations: key "a": want a string, got null`},
		{abi.IntentPatch, map[string]any{"labels": map[string]any{"a": nil, "b": "c"}}, ""},
		{abi.IntentPatch, map[string]any{"labels": map[string]any{"a": 1}}, `labels: key "a": want a string or null, got int`},
		{abi.IntentPatch, map[string]any{"annotations": map[string]any{"a": true}}, `annotations: key "a": want a string or null, got bool`},
	} {
		err := checkers[c.kind](a, valueOf(t, c.tree))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %v: want %q, got %v", c.kind, c.tree, c.want, err)
		}
	}
	for i := range abi.MaxMetrics {
		_ = checkers[abi.IntentMetric](a, valueOf(t, map[string]any{"name": fmt.Sprint("m", i), "add": 1}))
	}
	if err := checkers[abi.IntentMetric](a, valueOf(t, map[string]any{"name": "last", "add": 1})); err == nil || !strings.Contains(err.Error(), `want at most 32 of a policy's own, got "last" on top`) {
		t.Errorf("want no more metrics than the limit, got %v", err)
	}
	if x := number(valueOf(t, map[string]any{"x": math.MaxInt32}).At(0)); x != math.MaxInt32 {
		t.Errorf("want an int taken for a float, got %v", x)
	}
}

// A call with one intent that can't be is a fault, and nothing of it is done; of
// one that ended with an error nothing is either.
func TestCarryOut(t *testing.T) {
	h, b, _ := testHost()
	handle := &intentHandle{}
	b.handle, h.leading = handle, true
	v := testVersion(t, "carries", "")
	v.desc.Intents = []string{abi.IntentEvent}
	good := guest.Intent{Kind: abi.IntentEvent, Value: valueOf(t, map[string]any{"type": "Normal", "reason": "Good", "message": "100%s"})}
	broken := guest.Intent{Kind: abi.IntentEvent, Value: valueOf(t, map[string]any{"type": "?", "reason": "Bad"})}
	undeclared := guest.Intent{Kind: abi.IntentAllow, Value: valueOf(t, map[string]any{"pod": "u"})}
	for _, c := range []struct {
		name    string
		code    abi.Code
		intents []guest.Intent
		leading bool
		pod     *v1.Pod
		err     string
		want    []string
	}{
		{"good", abi.Success, []guest.Intent{good}, true, testPod("p"), "", []string{"p Normal Good Scheduling carries: 100%s"}},
		{"one is bad", abi.Success, []guest.Intent{good, broken}, true, testPod("p"), "intent event: type: want Normal", nil},
		{"one isn't declared", abi.Success, []guest.Intent{good, undeclared}, true, testPod("p"), "intent allow: want it declared", nil},
		{"an error", abi.Error, []guest.Intent{good}, true, testPod("p"), "", nil},
		{"another replica leads", abi.Success, []guest.Intent{good}, false, testPod("p"), "", nil},
		{"no pod", abi.Success, []guest.Intent{good}, true, nil, "", nil},
	} {
		handle.lines, h.leading = nil, c.leading
		a := &asking{host: h, version: v, point: abi.Permit, pod: c.pod}
		err := a.carryOut(&guest.Result{Verdict: guest.Verdict{Code: c.code}, Intents: c.intents})
		if f, _ := guest.AsFault(err); (err != nil) != (c.err != "") || c.err != "" && (f == nil || f.Cause != guest.BadResult || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: want the error %q, got %v", c.name, c.err, err)
		}
		if diff := cmp.Diff(c.want, handle.lines); diff != "" {
			t.Errorf("%s: events: -want +got\n%s", c.name, diff)
		}
	}
	t.Run("too many", func(t *testing.T) {
		handle.lines, h.leading = nil, true
		a := &asking{host: h, version: testVersion(t, "shouts", ""), pod: testPod("p")}
		for range 2 * eventBurst {
			writeEvent(a, good.Value)
		}
		if n := len(handle.lines); n < eventBurst || n > eventBurst+eventBurst/2 {
			t.Errorf("want about %d Events, got %d", eventBurst, n)
		}
		before := len(handle.lines)
		h.events.forget("shouts")
		if writeEvent(a, good.Value); len(handle.lines) != before+1 {
			t.Error("want a policy that is gone forgotten")
		}
	})
	t.Run("long", func(t *testing.T) {
		handle.lines = nil
		a := &asking{host: h, version: v, pod: testPod("p")}
		writeEvent(a, valueOf(t, map[string]any{"type": "Normal", "reason": "R", "message": strings.Repeat("ä", abi.MaxReasonBytes/2)}))
		note := strings.TrimPrefix(handle.lines[0], "p Normal R Scheduling ")
		if len(note) > maxNote || !strings.HasSuffix(note, "ä") {
			t.Errorf("want a note that the API server takes, got %d bytes that end with %q", len(note), note[len(note)-3:])
		}
	})
}

// A policy's own metrics are exported under its name, and go with it.
func TestOwnMetrics(t *testing.T) {
	metrics.Register()
	h, _, _ := testHost()
	a := &asking{host: h, version: testVersion(t, "measures", "")}
	for _, tree := range []map[string]any{{"name": "seen", "add": 2}, {"name": "seen", "add": 0.5}, {"name": "depth", "set": 7}, {"name": "depth", "set": 3}} {
		carriers[abi.IntentMetric](a, valueOf(t, tree))
	}
	read := func() (lines []string) {
		families, err := legacyregistry.DefaultGatherer.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if l := m.GetLabel(); len(l) == 2 && l[0].GetName() == "name" && l[1].GetValue() == "measures" {
					lines = append(lines, fmt.Sprint(f.GetName(), " ", l[0].GetValue(), " ", m.GetCounter().GetValue()+m.GetGauge().GetValue()))
				}
			}
		}
		slices.Sort(lines)
		return lines
	}
	if diff := cmp.Diff([]string{"berth_policy_count_total seen 2.5", "berth_policy_metric depth 3"}, read()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	metrics.Forget("measures")
	if got := read(); len(got) != 0 {
		t.Errorf("want them gone with the policy, got %v", got)
	}
}

// Patches of several policies are one, of which the later counts, for this pod
// and not another of its name.
func TestPatch(t *testing.T) {
	var m metadata
	for _, tree := range []map[string]any{
		{"labels": map[string]any{"a": "1", "b": "1"}},
		{"labels": map[string]any{"b": nil}, "annotations": map[string]any{"c": "2"}},
	} {
		if err := m.add(valueOf(t, tree)); err != nil {
			t.Fatal(err)
		}
	}
	handle := &intentHandle{client: fake.NewClientset(testPod("p"))}
	if err := (&metadata{}).send(context.Background(), handle, testPod("p")); err != nil || len(handle.client.Actions()) != 0 {
		t.Errorf("want no call without a change, got %v, %v", handle.client.Actions(), err)
	}
	if err := m.send(context.Background(), handle, testPod("p")); err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(handle.client.Actions()[0].(clienttesting.PatchAction).GetPatch(), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"metadata": map[string]any{
		"uid": "p", "labels": map[string]any{"a": "1", "b": nil}, "annotations": map[string]any{"c": "2"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if err := m.send(context.Background(), handle, testPod("gone")); err == nil || !strings.Contains(err.Error(), "patch pod") {
		t.Errorf("want the API server's error, got %v", err)
	}
}
