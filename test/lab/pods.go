// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// podPoll is the time between two looks at the pods that WaitPods waits for.
const podPoll = 50 * time.Millisecond

// CreatePods creates the pods several at a time, in no fixed order. The error
// joins those of all pods that could not be created.
func (c *Cluster) CreatePods(ctx context.Context, pods []*corev1.Pod) error {
	return inParallel(ctx, len(pods), func(i int) error {
		p := pods[i]
		if _, err := c.Client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create pod %s/%s: %w", p.Namespace, p.Name, err)
		}
		return nil
	})
}

// Bound says that a pod has a node.
func Bound(p *corev1.Pod) bool { return p.Spec.NodeName != "" }

// Running says that the kubelet has started a pod.
func Running(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning }

// WaitPods waits until exactly want pods of the namespace match the label
// selector and cond holds for each of them, and returns them in the order of
// their names. When ctx ends before, the error says how far they got and what
// the scheduler said about one that is left behind.
func (c *Cluster) WaitPods(ctx context.Context, namespace, selector string, want int, cond func(*corev1.Pod) bool) ([]corev1.Pod, error) {
	var pods []corev1.Pod
	var good int
	var behind *corev1.Pod
	err := wait.PollUntilContextCancel(ctx, podPoll, true, func(ctx context.Context) (bool, error) {
		list, err := c.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return false, err
		}
		pods, good, behind = list.Items, 0, nil
		for i := range pods {
			if cond(&pods[i]) {
				good++
			} else if behind == nil {
				behind = &pods[i]
			}
		}
		return len(pods) == want && good == want, nil
	})
	if err == nil {
		return pods, nil
	}
	err = fmt.Errorf("wait for %d pods %q in %q: %d exist, %d are there: %w", want, selector, namespace, len(pods), good, err)
	if behind != nil {
		err = fmt.Errorf("%w; %s is %s%s", err, behind.Name, behind.Status.Phase, scheduledMessage(behind))
	}
	return pods, err
}

func scheduledMessage(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status != corev1.ConditionTrue {
			return ": " + c.Message
		}
	}
	return ""
}
