// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/test/lab"
)

// Two teams want more than there is. The one that came last gets its share, by
// weight, and when pods end, those who hold less than they are due are next.
func TestFairShare(t *testing.T) {
	const cpus = 6
	g := openGallery(t, gallerySetup{
		Nodes: lab.Nodes("fair", 1, lab.Capacity("cpu", fmt.Sprint(cpus))),
		Plugins: map[string]string{
			"queueSort":  `{disabled: [{name: "*"}], enabled: [{name: BerthQueueSort}]}`,
			"preEnqueue": `{enabled: [{name: BerthQueueSort}]}`,
		},
	})
	g.load("fair-share", func(doc map[string]any) {
		doc["config"] = map[string]any{"teams": "Label", "capacity": map[string]any{"cpu": fmt.Sprint(cpus)}, "weights": map[string]any{"blue": 2}}
	})
	g.whileDown(func() {
		for _, team := range []string{"red", "blue"} {
			for i := range cpus {
				g.create(g.pod(fmt.Sprintf("%s-%d", team, i), "1", labels("berth.dev/team", team)))
			}
		}
	})
	g.holds(2, 4)

	// Whoever loses pods is next, though the other's have waited for longer.
	g.whileDown(func() {
		for _, p := range g.bounds("blue") {
			g.delete(p)
		}
		for i := range cpus {
			g.create(g.pod(fmt.Sprintf("blue-again-%d", i), "1", labels("berth.dev/team", "blue")))
		}
	})
	g.holds(2, 4)
	g.whileDown(func() {
		g.delete(g.bounds("red")...)
	})
	g.holds(2, 4)
}

// bounds are the names of a team's pods that have a node.
func (g *gallery) bounds(team string) (names []string) {
	g.t.Helper()
	list, err := cluster.Client.CoreV1().Pods(g.name).List(g.ctx, metav1.ListOptions{LabelSelector: "berth.dev/team=" + team})
	g.check(err)
	for i := range list.Items {
		if lab.Bound(&list.Items[i]) {
			names = append(names, list.Items[i].Name)
		}
	}
	return names
}

// holds waits until the node is full, and fails unless the teams have so many
// pods each on it.
func (g *gallery) holds(red, blue int) {
	g.t.Helper()
	var r, b int
	g.until("the node to be full", func() bool {
		r, b = len(g.bounds("red")), len(g.bounds("blue"))
		return r+b == red+blue
	})
	if r != red || b != blue {
		g.t.Errorf("want %d pods of red and %d of blue on the node, got %d and %d", red, blue, r, b)
	}
}
