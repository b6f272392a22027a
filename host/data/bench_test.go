// SPDX-License-Identifier: Apache-2.0

package data

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi"
)

// A pod of ordinary size: what its tree and its record cost, of which the fuel of
// reads is made.
func BenchmarkPod(b *testing.B) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-7d9c6b5f4-x2x9z", UID: "8a6e0f5e-1d1f-4c52-9c0e-3a1b2c3d4e5f", Labels: map[string]string{"app": "web", "tier": "front", "pod-template-hash": "7d9c6b5f4"}}}
	for i := range 2 {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{
			Name: fmt.Sprint("c", i), Image: "registry.example.com/team/app:1.2.3",
			Env:       []v1.EnvVar{{Name: "A", Value: "b"}, {Name: "C", Value: "d"}},
			Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("1Gi")}},
		})
	}
	for i := range 3 {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: fmt.Sprint("v", i), VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}})
		pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: "Ready", Status: "True"})
	}
	b.Run("tree", func(b *testing.B) {
		for b.Loop() {
			if _, err := Tree(pod); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("record", func(b *testing.B) {
		tree, err := Tree(pod)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for b.Loop() {
			record, err := abi.EncodeValue(tree)
			if err != nil {
				b.Fatal(err)
			}
			n = len(record)
		}
		b.ReportMetric(float64(n), "bytes")
	})
}
