// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
)

// A hint queues a pod if a policy that turned it down reads what the event may
// have changed.
func TestHints(t *testing.T) {
	const (
		labels  = uint64(fwk.UpdateNodeLabel)
		taints  = uint64(fwk.UpdateNodeTaint)
		added   = uint64(fwk.Add)
		deleted = uint64(fwk.Delete)
	)
	section := func(table []abi.Section, i int) string { return table[i].Name }
	nodeLabels, nodePods := section(abi.NodeSections, abi.NodeLabels), section(abi.NodeSections, abi.NodePods)
	for name, c := range map[string]struct {
		resource fwk.EventResource
		action   uint64
		reads    []string // of the policy that turned the pod down
		want     fwk.QueueingHint
	}{
		"a new node":                {fwk.Node, added, nil, fwk.Queue},
		"labels, read":              {fwk.Node, labels, []string{nodeLabels}, fwk.Queue},
		"labels, not read":          {fwk.Node, labels, []string{nodePods}, fwk.QueueSkip},
		"taints and unschedulable":  {fwk.Node, taints, nil, fwk.Queue},
		"a pod more, read":          {fwk.AssignedPod, added, []string{nodePods}, fwk.Queue},
		"a pod more, not read":      {fwk.AssignedPod, added, []string{nodeLabels}, fwk.QueueSkip},
		"a pod less, resources":     {fwk.AssignedPod, deleted, []string{section(abi.NodeSections, abi.NodeResources)}, fwk.Queue},
		"the pod's own labels":      {fwk.TargetPod, uint64(fwk.UpdatePodLabel), nil, fwk.Queue}, // another policy may match
		"the pod's own tolerations": {fwk.TargetPod, uint64(fwk.UpdatePodToleration), []string{nodeLabels}, fwk.QueueSkip},
	} {
		t.Run(name, func(t *testing.T) {
			v := testVersion(t, "p", "", abi.Filter)
			for _, s := range c.reads {
				v.reads[s] = true
			}
			h, b, _ := testHost(entryOf(v))
			events, err := b.EventsToRegister(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(events, func(e fwk.ClusterEventWithHint) bool {
				return e.Event.Resource == c.resource && uint64(e.Event.ActionType) == c.action
			})
			if i < 0 {
				t.Fatal("want the event registered")
			}
			hint := func() fwk.QueueingHint {
				got, err := events[i].QueueingHintFn(klog.Background(), testPod("p"), nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				return got
			}
			if got := hint(); got != fwk.Queue {
				t.Errorf("nothing known of the pod: want it queued, got %s", got)
			}
			h.rejections.add(testPod("p"), h.active.Load().entries[0])
			if got := hint(); got != c.want {
				t.Errorf("want %s, got %s", c.want, got)
			}
			h.rejections.add(testPod("p"), &entry{name: "without a version"})
			if got := hint(); got != c.want {
				t.Errorf("with a policy whose recovery activates its pods: want %s, got %s", c.want, got)
			}
		})
	}
}

// The table of events that a policy may declare names those that are registered,
// and those that the host brings itself.
func TestEventNames(t *testing.T) {
	var want, got []string
	for _, e := range abi.Events() {
		want = append(want, e.Name)
	}
	for _, row := range append(slices.Clone(eventTable), podUpdate) {
		got = append(got, row.name)
	}
	got = append(got, abi.EventResource)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// Labels of the pod may change which policies match it, or not.
func TestRematched(t *testing.T) {
	v := testVersion(t, "p", "match: {podSelector: {matchLabels: {x: y}}}", abi.Filter)
	_, b, _ := testHost(entryOf(v))
	plain, labelled := testPod("p"), testPod("p")
	labelled.Labels = map[string]string{"x": "y"}
	if !b.rematched(plain, labelled) || b.rematched(labelled, labelled) || !b.rematched(nil, nil) {
		t.Error("want a change of the matching policies seen, and no other")
	}
}

// What an event is about is encoded once for all pods.
func TestEventArgs(t *testing.T) {
	var a eventArgs
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	first, err := a.encode("node/add", nil, node)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := a.encode("node/add", nil, node)
	if &first[0] != &again[0] {
		t.Error("want the same event encoded once")
	}
	for what, other := range map[string]func() ([]byte, error){
		"name":   func() ([]byte, error) { return a.encode("node/label", nil, node) },
		"object": func() ([]byte, error) { return a.encode("node/add", nil, &v1.Node{}) },
		"tree":   func() ([]byte, error) { return a.encode("node/add", nil, map[string]any{"x": "y"}) },
		"none":   func() ([]byte, error) { return a.encode("node/add", (*v1.Node)(nil), nil) },
	} {
		if got, err := other(); err != nil || slices.Equal(got, first) {
			t.Errorf("another %s: want another argument, got error %v", what, err)
		}
	}
	got, err := abi.OpenValue(first)
	if err != nil {
		t.Fatal(err)
	}
	name := got
	for _, key := range []string{"new", "metadata", "name"} {
		name, _ = name.Get(key)
	}
	if old, ok := got.Get("old"); !ok || old.Kind() != abi.Null || name.Text() != "n1" {
		t.Error("want old null and new the node")
	}
	if _, err := a.encode("node/add", nil, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("x", abi.MaxValueBytes)}}); err == nil {
		t.Error("want an object that is too large refused")
	}
}

// General updates of pods walk all unschedulable pods: they are registered only
// if the arguments say so.
func TestPodUpdateEvents(t *testing.T) {
	h, b, _ := testHost()
	for _, want := range []bool{false, true} {
		h.args.PodUpdateEvents = want
		events, err := b.EventsToRegister(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		got := slices.ContainsFunc(events, func(e fwk.ClusterEventWithHint) bool {
			return e.Event.Resource == fwk.Pod && e.Event.ActionType == fwk.Update
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("registered: %s", diff)
		}
	}
}
