// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/randfill"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/view"
)

func quantity(s string) *resource.Quantity {
	q := resource.MustParse(s)
	return &q
}

// oneOf fills a type with one of some values.
func oneOf[T any](values ...T) func(*T, randfill.Continue) {
	return func(v *T, c randfill.Continue) { *v = values[c.Intn(len(values))] }
}

// filler makes objects with more in common than random text has: few words,
// resources and enumerations with a stranger among them.
func filler(f *randfill.Filler) *randfill.Filler {
	return f.NilChance(0.3).NumElements(0, 4).Funcs(
		oneOf("", "a", "b", "zone", "größe", "x\xff", "example.com/long-name", "n1", "10.0.0.1"),
		oneOf[v1.ResourceName]("cpu", "memory", "ephemeral-storage", "pods", "example.com/gpu", "hugepages-2Mi", "storage", "odd name", "attachable-volumes-csi-x"),
		oneOf(*quantity("0"), *quantity("1"), *quantity("100m"), *quantity("1n"), *quantity("1.5"), *quantity("3Gi"), *quantity("9223372036854775807"),
			*quantity("9223372036854775808"), *quantity("10E"), *quantity("1e30"), *quantity("-1e30"), *quantity("0.0001Ki")),
		oneOf(v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute, "", "Odd"),
		oneOf(v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown, "Odd"),
		oneOf[v1.NodeSelectorOperator]("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "", "Odd"),
		oneOf[metav1.LabelSelectorOperator]("In", "NotIn", "Exists", "DoesNotExist", "Odd"),
		oneOf[v1.TolerationOperator]("Exists", "Equal", "Gt", "Lt", "", "Odd"),
		oneOf[v1.PodQOSClass]("", v1.PodQOSBestEffort, v1.PodQOSBurstable, v1.PodQOSGuaranteed),
		oneOf[v1.Protocol]("", "TCP", "UDP", "SCTP"),
		oneOf[v1.UnsatisfiableConstraintAction](v1.DoNotSchedule, v1.ScheduleAnyway, "Odd"),
		oneOf[v1.NodeInclusionPolicy](v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore),
		oneOf[v1.PreemptionPolicy](v1.PreemptNever, v1.PreemptLowerPriority),
		oneOf[v1.ContainerRestartPolicy](v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyNever),
		oneOf(metav1.Time{}, metav1.Unix(0, 0), metav1.Unix(-5, 0), metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC))),
		oneOf(0, int32(1), -1, 100, 8080, 1<<31-1, -1<<31),
		func(s *v1.VolumeSource, c randfill.Continue) {
			*s = v1.VolumeSource{}
			f := reflect.ValueOf(s).Elem().Field(c.Intn(reflect.TypeFor[v1.VolumeSource]().NumField()))
			f.Set(reflect.New(f.Type().Elem()))
		},
		func(l *v1.ResourceList, c randfill.Continue) {
			*l = v1.ResourceList{}
			for range c.Intn(4) {
				var name v1.ResourceName
				var q resource.Quantity
				c.Fill(&name)
				if c.Fill(&q); c.Intn(2) == 0 {
					q = *quantity(fmt.Sprint(c.Intn(5)))
				}
				(*l)[name] = q
			}
		},
		func(m *metav1.ManagedFieldsEntry, c randfill.Continue) {},
	)
}

func randomPod(f *randfill.Filler) *v1.Pod {
	pod := &v1.Pod{}
	f.Fill(&pod.ObjectMeta)
	f.Fill(&pod.Spec)
	f.Fill(&pod.Status)
	return pod
}

// plainPod is a random pod as most are: its containers' limits are all that it
// has, and what the kubelet reports is often the same.
func plainPod(f *randfill.Filler) *v1.Pod {
	pod := randomPod(f)
	pod.Spec.InitContainers, pod.Spec.Overhead, pod.Spec.Resources = nil, nil, nil
	pod.Status.Resources, pod.Status.NodeAllocatableResourceClaimStatuses, pod.Status.InitContainerStatuses = nil, nil, nil
	pod.Status.Conditions = nil
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; i < len(pod.Spec.Containers) && s.Resources != nil {
			s.Name, s.Resources.Limits = pod.Spec.Containers[i].Name, pod.Spec.Containers[i].Resources.Limits
		}
	}
	return pod
}

func checkRandom(t *testing.T, f *randfill.Filler) {
	node := &v1.Node{}
	f.Fill(&node.ObjectMeta)
	f.Fill(&node.Spec)
	f.Fill(&node.Status)
	ni := nodeInfo(node, randomPod(f), plainPod(f), plainPod(f), randomPod(f))
	pod := randomPod(f)
	table := newTable()
	checkNode(t, table, ni)
	checkPod(t, table, pod)

	enc := view.NewEncoder(table, allSections())
	first, err := enc.Node(nil, fresh(ni))
	if err != nil {
		t.Fatal(err)
	}
	if second, _ := view.NewEncoder(table, allSections()).Node(nil, fresh(ni)); !bytes.Equal(first, second) {
		t.Error("another encoder, same table: want the same bytes")
	}
	for _, v := range []any{node, pod} {
		rec, err := view.ValueOf(v)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := abi.OpenValue(rec); err != nil {
			t.Error(err)
		}
	}
}

// TestRandomObjects is in place of a fuzz test, for which Go would build all of
// Kubernetes with instrumentation.
func TestRandomObjects(t *testing.T) {
	for seed := range int64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { checkRandom(t, filler(randfill.NewWithSeed(seed))) })
	}
}
