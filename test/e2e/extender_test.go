// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	"github.com/berth-scheduler/berth/test/lab"
)

// The ported extender hands out licences, one node after the other.
func TestExtender(t *testing.T) {
	nodes := lab.Nodes("extender", 3)
	for i, licences := range []string{"1", "2"} {
		nodes[i].Annotations = map[string]string{"berth.dev/licences": licences}
	}
	g := openGallery(t, gallerySetup{Nodes: nodes})
	g.load("extender", nil)
	used := map[string]int{}
	for i := range 3 {
		name := fmt.Sprintf("licensed-%d", i)
		g.create(g.pod(name, "100m", labels("berth.dev/licence", "cad")))
		used[g.bound(name).Spec.NodeName]++
	}
	if used["extender-000"] != 1 || used["extender-001"] != 2 {
		t.Errorf("want 1 and 2 licences in use, got %v", used)
	}
	g.create(g.pod("late", "100m", labels("berth.dev/licence", "cad")))
	g.says("late", "2 extender: all licences of the node are in use")
	g.create(g.pod("free", "100m"))
	if node := g.bound("free").Spec.NodeName; node != "extender-002" {
		t.Errorf("want the pod without a licence on extender-002, got %s", node)
	}
	g.delete("licensed-0")
	g.bound("late")
}
