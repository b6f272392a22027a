// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
)

// createWorkers is how many objects are created at once. More don't help: the
// API server and its client share this process's processors.
const createWorkers = 16

// NodeOption changes node i of those that Nodes builds, counted from 0.
type NodeOption func(i int, n *corev1.Node)

// Label gives the label key to the nodes, its values in turn.
func Label(key string, values ...string) NodeOption {
	return func(i int, n *corev1.Node) { n.Labels[key] = values[i%len(values)] }
}

// Zones spreads the nodes over the zones in turn.
func Zones(zones ...string) NodeOption { return Label(corev1.LabelTopologyZone, zones...) }

// Taint adds a taint to every node.
func Taint(key, value string, effect corev1.TaintEffect) NodeOption {
	return func(_ int, n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: value, Effect: effect})
	}
}

// Capacity sets how much of a resource every node has and may allocate, as a
// Kubernetes quantity. It panics if the quantity doesn't parse.
func Capacity(name corev1.ResourceName, quantity string) NodeOption {
	q := resource.MustParse(quantity)
	return func(_ int, n *corev1.Node) {
		n.Status.Capacity[name] = q
		n.Status.Allocatable[name] = q
	}
}

// Nodes builds n ready nodes called prefix-000, prefix-001, … with 16 cores,
// 64 GiB and room for 110 pods each, changed by the options in their order.
// Change the result further as needed before CreateNodes.
func Nodes(prefix string, n int, opts ...NodeOption) []*corev1.Node {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("16"),
		corev1.ResourceMemory:           resource.MustParse("64Gi"),
		corev1.ResourcePods:             resource.MustParse("110"),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
	}
	now := metav1.Now()
	nodes := make([]*corev1.Node, n)
	for i := range nodes {
		name := fmt.Sprintf("%s-%03d", prefix, i)
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
				corev1.LabelHostname:   name,
				corev1.LabelOSStable:   "linux",
				corev1.LabelArchStable: "amd64",
			}},
			Status: corev1.NodeStatus{
				Capacity:    maps.Clone(capacity),
				Allocatable: maps.Clone(capacity),
				Conditions:  nodeConditions(now, now),
			},
		}
		for _, opt := range opts {
			opt(i, node)
		}
		nodes[i] = node
	}
	return nodes
}

// nodeConditions are those of a node that has been well since a time and last
// said so at another.
func nodeConditions(since, heartbeat metav1.Time) []corev1.NodeCondition {
	condition := func(t corev1.NodeConditionType, status corev1.ConditionStatus) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: t, Status: status, Reason: "Simulated", Message: "simulated node",
			LastTransitionTime: since, LastHeartbeatTime: heartbeat,
		}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeReady, corev1.ConditionTrue),
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse),
	}
}

// CreateNodes creates the nodes, status included, several at a time. The error
// joins those of all nodes that could not be created.
func (c *Cluster) CreateNodes(ctx context.Context, nodes []*corev1.Node) error {
	return inParallel(ctx, len(nodes), func(i int) error {
		// Unlike a pod, a node keeps the status it is created with.
		_, err := c.Client.CoreV1().Nodes().Create(ctx, nodes[i], metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create node %q: %w", nodes[i].Name, err)
		}
		return nil
	})
}

// inParallel calls f for 0 to n-1 and joins the errors. When ctx ends, the
// calls that haven't begun are left out and the error says so.
func inParallel(ctx context.Context, n int, f func(i int) error) error {
	errs := make([]error, n)
	workqueue.ParallelizeUntil(ctx, createWorkers, n, func(i int) { errs[i] = f(i) })
	return errors.Join(append(errs, ctx.Err())...)
}
