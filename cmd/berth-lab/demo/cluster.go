// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/test/lab"
)

// namespace is where all of the demo's pods are.
const namespace = "demo"

var zones = []string{"zone-a", "zone-b", "zone-c"}

// pool is a group of equal nodes. Half of them, in turn, are spot capacity at a
// third of the price.
type pool struct {
	name  string
	nodes int
	price string // an hour, on demand
	spot  string
}

// pools are 50 nodes in all, with room for every pod wherever the rules send
// it. The overflow pools are cheap, so that cost-aware sends pods there that
// may go. No rule leads to general; only the stock scheduler's pods do.
var pools = []pool{
	{name: "pool-a", nodes: 10, price: "0.40", spot: "0.13"},
	{name: "pool-b", nodes: 10, price: "0.36", spot: "0.12"},
	{name: "pool-c", nodes: 8, price: "0.38", spot: "0.13"},
	{name: "shared", nodes: 8, price: "0.30", spot: "0.10"},
	{name: "reserve", nodes: 8, price: "0.30", spot: "0.10"},
	{name: "general", nodes: 6, price: "0.32", spot: "0.11"},
}

func (p pool) build() []*corev1.Node {
	return lab.Nodes(p.name, p.nodes,
		lab.Label(poolLabel, p.name),
		lab.Zones(zones...),
		lab.Capacity(corev1.ResourceCPU, "8"),
		lab.Label(capacityLabel, "on-demand", "spot"),
		lab.Label(priceLabel, p.price, p.spot),
	)
}

// startCluster starts the cluster with its nodes, its kubelet and the
// namespace, but without a scheduler.
func startCluster(ctx context.Context, logDir string) (*lab.Cluster, error) {
	c, err := lab.Start(ctx, lab.Options{LogDir: logDir})
	if err != nil {
		return nil, err
	}
	var nodes []*corev1.Node
	for _, p := range pools {
		nodes = append(nodes, p.build()...)
	}
	if err := c.CreateNodes(ctx, nodes); err != nil {
		return c, err
	}
	if err := c.StartKubelet(lab.KubeletOptions{}); err != nil {
		return c, err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	_, err = c.Client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
	return c, err
}
