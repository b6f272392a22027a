// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
)

// testGang schedules pod groups in a running scheduler: its simulation assumes
// pods in the snapshot, reserves them, and reverts or commits. A gang that fits
// is placed as a Go plugin places it; of one that doesn't, no pod is bound.
func testGang(t *testing.T, e Engine) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.GenericWorkload, true)
	for name, c := range map[string]struct {
		twin twin
		fits int
	}{
		"state":       {statefulTwin(t, 2), 4},
		"node's pods": {countTwin(t), 6},
	} {
		t.Run(name, func(t *testing.T) {
			setting := Setting{Run: true, Gang: true, Objects: append(objects(node("a1", "a", 8), node("a2", "a", 8), node("b1", "b", 8)),
				gang("whole", c.fits), gang("over", c.fits+1))}
			compare(t, e, setting, c.twin, func(w *World) any {
				// The one that doesn't fit comes first, so that what it was
				// simulated with must be gone.
				over := members("over", c.fits+1)
				w.Create(over...)
				for _, p := range over {
					w.Pending(p)
				}
				whole := members("whole", c.fits)
				w.Create(whole...)
				zones := map[string]int{}
				for _, p := range whole {
					zones[w.Bound(p)[:1]]++
				}
				for _, p := range over {
					if n := w.boundTo(p.Namespace, p.Name); n != "" {
						w.Errorf("want no pod of the gang that doesn't fit bound, got %s on %s", p.Name, n)
					}
				}
				if w.Host != nil {
					w.Eventually("one instance is left", func() bool { return liveInstances(w, w.Named("twin")) == 1 })
				}
				return fmt.Sprint("pods by zone: ", zones)
			})
		})
	}
}

// gang is a pod group that is scheduled as a whole.
func gang(name string, pods int) runtime.Object {
	return st.MakePodGroup().Namespace("default").Name(name).UID(types.UID(name)).MinCount(int32(pods)).Obj()
}

func members(gang string, n int) []*v1.Pod {
	var pods []*v1.Pod
	for i := range n {
		pods = append(pods, pod(fmt.Sprint(gang, "-", i)).Label("group", gang).PodGroupName(gang).Obj())
	}
	return pods
}
