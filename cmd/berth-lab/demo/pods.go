// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/berth-scheduler/berth/test/lab"
)

// partLabel says which part of the demo created a pod.
const partLabel = "berth.dev/demo-part"

// The parts, as values of partLabel.
const (
	partStock   = "stock"
	partOne     = "phase-1"
	partSwap    = "swap"
	partTwo     = "phase-2"
	partPending = "pending"
)

// newPod is pod i of a part: the teams in turn; half of their pods prefer spot
// capacity and half avoid it; half, cutting across, ask for overflow.
func newPod(part string, i int, scheduler, cpu string) *corev1.Pod {
	labels := map[string]string{partLabel: part, teamLabel: teams[i%len(teams)]}
	labels[spotLabel] = "avoid"
	if i/len(teams)%2 == 0 {
		labels[spotLabel] = "prefer"
	}
	if i/len(teams)/2%2 == 0 {
		labels[overflowLabel] = "true"
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%04d", part, i), Labels: labels},
		Spec: corev1.PodSpec{
			SchedulerName: scheduler,
			Containers: []corev1.Container{{
				Name: "app", Image: "registry.k8s.io/pause:3.10",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU:    resource.MustParse(cpu),
					corev1.ResourceMemory: resource.MustParse("64Mi"),
				}},
			}},
		},
	}
}

// runPods creates n pods of all teams and waits until they are Running.
func (d *demo) runPods(ctx context.Context, part, scheduler string, n int) error {
	pods := make([]*corev1.Pod, n)
	for i := range pods {
		pods[i] = newPod(part, i, scheduler, "250m")
	}
	start := time.Now()
	if err := d.cluster.CreatePods(ctx, pods); err != nil {
		return err
	}
	if _, err := d.cluster.WaitPods(ctx, namespace, partLabel+"="+part, n, lab.Running); err != nil {
		return err
	}
	d.progress("%s: %d pods Running after %.1fs", part, n, time.Since(start).Seconds())
	return nil
}

// schedulingFailure waits until the scheduler has said in an Event why it finds
// no node for a pod, and returns its words.
func (d *demo) schedulingFailure(ctx context.Context, pod string) (string, error) {
	selector := fields.Set{"involvedObject.name": pod, "reason": "FailedScheduling"}.AsSelector().String()
	var message string
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		list, err := d.cluster.Client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: selector})
		if err != nil || len(list.Items) == 0 {
			return false, err
		}
		message = list.Items[len(list.Items)-1].Message
		return true, nil
	})
	if err != nil {
		return "", fmt.Errorf("wait for the event of pod %q: %w", pod, err)
	}
	return message, nil
}
