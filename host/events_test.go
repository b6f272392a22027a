// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
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
