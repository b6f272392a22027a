// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/host/view"
)

// benchPods are pods as a deployment makes them.
func benchPods(n int) []*v1.Pod {
	var pods []*v1.Pod
	for i := range n {
		pods = append(pods, &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprint("web-5f7c9d-", i), Namespace: "shop", UID: types.UID(fmt.Sprint("uid-", i)),
				Labels: map[string]string{"app": "web", "pod-template-hash": "5f7c9d", "tier": "front", "team": "shop"},
			},
			Spec: v1.PodSpec{Containers: []v1.Container{{Name: "web", Image: "web:1", Resources: v1.ResourceRequirements{
				Requests: v1.ResourceList{"cpu": *quantity("100m"), "memory": *quantity("128Mi")},
				Limits:   v1.ResourceList{"cpu": *quantity("1"), "memory": *quantity("256Mi")},
			}}}},
		})
	}
	return pods
}

func BenchmarkNode(b *testing.B) {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1", UID: "0d9c5c3e-7f0e-4a51-9f6e-3a3c6c1f2b11", Labels: map[string]string{}}}
	for i := range 20 {
		node.Labels[fmt.Sprint("example.com/label-", i)] = fmt.Sprint("value-", i)
	}
	node.Spec.Taints = []v1.Taint{{Key: "dedicated", Value: "gpu", Effect: v1.TaintEffectNoSchedule}, {Key: "spot", Effect: v1.TaintEffectNoExecute}}
	node.Status.Allocatable = v1.ResourceList{
		"cpu": *quantity("7910m"), "memory": *quantity("31Gi"), "ephemeral-storage": *quantity("90Gi"), "pods": *quantity("110"), "example.com/gpu": *quantity("4"),
	}
	node.Status.Capacity = node.Status.Allocatable
	ni := nodeInfo(node, benchPods(30)...)
	for _, bc := range []struct {
		name  string
		reads []string
	}{
		{"labels+taints+resources", []string{"node.labels", "node.taints", "node.resources"}},
		{"labels", []string{"node.labels"}},
		{"resources", []string{"node.resources"}},
		{"30 pods", []string{"node.pods"}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			enc := view.NewEncoder(newTable(), bc.reads)
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if buf, err = enc.Node(buf[:0], ni); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(buf)), "bytes/record")
		})
	}
}

func BenchmarkPod(b *testing.B) {
	full, plain := fullPod(b), benchPods(1)[0]
	for _, bc := range []struct {
		name  string
		pod   *v1.Pod
		reads []string
	}{
		{"plain, labels+resources+tolerations", plain, []string{"pod.labels", "pod.resources", "pod.tolerations"}},
		{"plain, all", plain, allSections()},
		{"full, all", full, allSections()},
	} {
		b.Run(bc.name, func(b *testing.B) {
			enc := view.NewEncoder(newTable(), bc.reads)
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if buf, err = enc.Pod(buf[:0], bc.pod); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(buf)), "bytes/record")
		})
	}
}
