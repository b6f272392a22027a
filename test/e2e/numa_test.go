// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-scheduler/berth/test/lab"
)

// topology reports a node's two zones of 8 cores, as an agent on the node would.
func (g *gallery) topology(node, free0, free1 string) {
	g.t.Helper()
	g.apply(`
apiVersion: berth.dev/v1alpha1
kind: NodeTopology
metadata: {name: ` + node + `}
zones:
- {name: "0", milliCPU: 8000, freeMilliCPU: ` + free0 + `, freeMemory: 34359738368}
- {name: "1", milliCPU: 8000, freeMilliCPU: ` + free1 + `, freeMemory: 34359738368}
`)
}

// guaranteed gives a pod limits equal to its requests.
func guaranteed(p *corev1.Pod) {
	r := &p.Spec.Containers[0].Resources
	r.Requests[corev1.ResourceMemory] = resource.MustParse("1Gi")
	r.Limits = r.Requests
}

// Numa places a guaranteed pod where one zone holds it, and again when a report
// changes.
func TestNuma(t *testing.T) {
	g := openGallery(t, gallerySetup{Nodes: lab.Nodes("numa", 3)})
	g.load("numa", nil)
	g.topology("numa-000", "3000", "3000")
	g.topology("numa-001", "8000", "1000")
	g.create(g.pod("wide", "6", guaranteed))
	if node := g.bound("wide").Spec.NodeName; node != "numa-001" {
		t.Errorf("want wide on numa-001, whose zone 0 holds it, got %s", node)
	}
	g.create(g.pod("next", "6", guaranteed))
	g.says("next", "1 numa: nothing is known of the node's NUMA zones")
	g.says("next", "2 numa: no NUMA zone of the node has room for the pod")
	g.create(g.pod("burstable", "500m"))
	g.bound("burstable") // needs no zone
	g.topology("numa-000", "3000", "7000")
	if node := g.bound("next").Spec.NodeName; node != "numa-000" {
		t.Errorf("want next on numa-000, got %s", node)
	}
}
