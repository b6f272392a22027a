// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrCheck is in the chain of Run's error if the demo ran to its end and
// something that it checks did not hold.
var ErrCheck = errors.New("check failed")

// check reads the pods and nodes as the API server has them in the end and
// fills in what the result says about them.
func (d *demo) check(ctx context.Context) error {
	pods, err := d.cluster.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	nodes, err := d.cluster.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	byName := map[string]*corev1.Node{}
	for i := range nodes.Items {
		byName[nodes.Items[i].Name] = &nodes.Items[i]
	}
	d.result.Nodes = len(byName)

	var problems []error
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Labels[partLabel] == partPending {
			if pod.Spec.NodeName != "" {
				problems = append(problems, fmt.Errorf("pod %s is on node %s, want it pending", pod.Name, pod.Spec.NodeName))
			}
			continue
		}
		node := byName[pod.Spec.NodeName]
		violated := d.violation(pod, node)
		if violated != nil {
			problems = append(problems, violated)
		}
		d.placed.add(pod, node, violated != nil)
	}
	for i := range d.result.Phases {
		p := &d.result.Phases[i]
		p.Bound, p.Violations = d.placed.totals(p.part)
		if p.Bound != p.Pods {
			problems = append(problems, fmt.Errorf("%s: %d of %d pods are bound", p.Name, p.Bound, p.Pods))
		}
	}
	for name, p := range d.stream {
		if i := slices.IndexFunc(pods.Items, func(pod corev1.Pod) bool { return pod.Name == name }); i < 0 || pods.Items[i].Spec.NodeName == "" {
			problems = append(problems, fmt.Errorf("pod %s is lost or not bound", name))
		} else if d.swapped.during(p) {
			d.result.Swap.PodsDuringBound++
		}
	}
	if d.result.SchedulerRestarts > 0 {
		problems = append(problems, errors.New("berth-scheduler was restarted"))
	}
	for _, p := range d.result.Pending {
		if !strings.Contains(p.Message, teamPoolsTwo.name+": ") {
			problems = append(problems, fmt.Errorf("event of pod %s: want it to name the policy %s, got %q", p.Pod, teamPoolsTwo.name, p.Message))
		}
	}
	return checkError(problems)
}

// violation says in what way the pod is where the rule of its time doesn't
// allow it. A pod without a node violates nothing: it is counted as not bound.
func (d *demo) violation(pod *corev1.Pod, node *corev1.Node) error {
	if pod.Spec.NodeName == "" {
		return nil
	}
	if node == nil {
		return fmt.Errorf("pod %s is on node %q, which doesn't exist", pod.Name, pod.Spec.NodeName)
	}
	var rules []rule
	switch pod.Labels[partLabel] {
	case partStock:
		return nil
	case partOne:
		rules = []rule{ruleOne}
	case partTwo:
		rules = []rule{ruleTwo}
	case partSwap:
		p := d.stream[pod.Name]
		if p == nil {
			return fmt.Errorf("pod %s wasn't created by the demo", pod.Name)
		}
		rules = d.swapped.rules(p)
	}
	if slices.ContainsFunc(rules, func(r rule) bool { return r.allows(pod.Labels, node) }) {
		return nil
	}
	var want []string
	for _, r := range rules {
		want = append(want, r.want(pod.Labels))
	}
	return fmt.Errorf("pod %s of %s is in pool %q, want %s", pod.Name, pod.Labels[teamLabel], node.Labels[poolLabel], strings.Join(want, " or "))
}

// maxProblems is how many problems an error lists; the first ones tell enough.
const maxProblems = 10

func checkError(problems []error) error {
	if len(problems) == 0 {
		return nil
	}
	n := len(problems)
	if n > maxProblems {
		problems = append(slices.Clip(problems[:maxProblems]), fmt.Errorf("and %d more", n-maxProblems))
	}
	return fmt.Errorf("%w: %w", ErrCheck, errors.Join(problems...))
}
