// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/test/lab"
)

// Team-pools, as an operator installs it, keeps pods on their team's pool.
func TestTeamPools(t *testing.T) {
	g := openGallery(t, gallerySetup{Nodes: lab.Nodes("pools", 4, lab.Label("berth.dev/pool", "payments", "burst"))})
	g.load("team-pools", func(doc map[string]any) {
		doc["config"].(map[string]any)["namespaces"] = map[string]any{g.name: "payments"}
	})
	g.create(g.pod("web", "100m"), g.pod("ads", "100m", labels("berth.dev/team", "ads")))
	if node := g.bound("web").Spec.NodeName; node != "pools-000" && node != "pools-002" {
		t.Errorf("want web on a node of its team, got %s", node)
	}
	g.says("ads", "team-pools: the node's pool belongs to another team")
	n, err := cluster.Client.CoreV1().Nodes().Get(g.ctx, "pools-001", metav1.GetOptions{})
	g.check(err)
	n.Labels["berth.dev/pool"] = "ads"
	_, err = cluster.Client.CoreV1().Nodes().Update(g.ctx, n, metav1.UpdateOptions{})
	g.check(err)
	g.bound("ads")
}
