// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/test/lab"
)

// nodeMetrics serves metrics.k8s.io as metrics-server does, from objects that the
// test writes: nodes that aren't there can't be measured, so metrics-server itself
// can't run here.
const nodeMetrics = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: nodes.metrics.k8s.io
  annotations: {api-approved.kubernetes.io: "unapproved, test only"}
spec:
  group: metrics.k8s.io
  scope: Cluster
  names: {kind: NodeMetrics, listKind: NodeMetricsList, plural: nodes, singular: node}
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// measure says what a node uses.
func (g *gallery) measure(node, cpu string, at time.Time) {
	g.t.Helper()
	g.apply(fmt.Sprintf(`
apiVersion: metrics.k8s.io/v1beta1
kind: NodeMetrics
metadata: {name: %s}
timestamp: %q
window: 20s
usage: {cpu: %s, memory: 1Gi}
`, node, at.UTC().Format(time.RFC3339), cpu))
}

// Load-aware follows what is measured, keeps pods off busy nodes, and forgets
// measurements that are too old.
func TestLoadAware(t *testing.T) {
	g := openGallery(t, gallerySetup{Nodes: lab.Nodes("load", 2, cores("4"))})
	g.apply(nodeMetrics)
	g.measure("load-000", "3900m", time.Now())
	g.measure("load-001", "100m", time.Now())
	g.load("load-aware", func(doc map[string]any) {
		doc["dataSets"].([]any)[0].(map[string]any)["intervalSeconds"] = 5
		doc["config"] = map[string]any{"limit": 80, "maxAgeSeconds": 30, "margin": 0}
	})
	for i := range 2 {
		name := fmt.Sprintf("quiet-%d", i)
		g.create(g.pod(name, "100m"))
		if node := g.bound(name).Spec.NodeName; node != "load-001" {
			t.Errorf("want %s on the node that is little used, got %s", name, node)
		}
	}
	g.create(g.pod("large", "3300m"))
	g.says("large", "load-aware: the node is in use beyond the limit")
	// The measurement of the busy node is an old one: its pods' requests count.
	g.measure("load-000", "3900m", time.Now().Add(-time.Hour))
	g.measure("load-001", "3900m", time.Now())
	if node := g.bound("large").Spec.NodeName; node != "load-000" {
		t.Errorf("want large on the node of which nothing is known, got %s", node)
	}
}
