// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/test/lab"
)

// on puts a pod on a node, by the node's name.
func on(node string) func(p *corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector[corev1.LabelHostname] = node }
}

// apartInZones keeps a pod out of zones with pods of a label.
func apartInZones(key, value string) func(p *corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey:   corev1.LabelTopologyZone,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}},
			}},
		}}
	}
}

// Pods on two nodes of a zone leave for one that must not share the zone with
// them. The scheduler's own preemption can't do it.
func TestCrossNodePreemption(t *testing.T) {
	g := openGallery(t, gallerySetup{Nodes: lab.Nodes("cross", 4, cores("4"), lab.Zones("a", "b"))})
	g.classes("cross-low", 10, "cross-mid", 100, "cross-high", 1000)
	// Zone a (nodes 0, 2): two unimportant pods. Zone b (1, 3): important ones.
	for i, name := range []string{"cross-low", "cross-high", "cross-low", "cross-high"} {
		g.create(g.pod(fmt.Sprintf("noisy-%d", i), "1", labels("noise", "loud"), class(name), on(fmt.Sprintf("cross-%03d", i))))
	}
	for i := range 4 {
		g.bound(fmt.Sprintf("noisy-%d", i))
	}
	g.create(g.pod("quiet", "1", class("cross-mid"), apartInZones("noise", "loud")))
	g.says("quiet", "No preemption victims found")
	g.load("cross-node-preemption", nil)
	g.gone("noisy-0")
	g.gone("noisy-2")
	if node := g.bound("quiet").Spec.NodeName; node != "cross-000" && node != "cross-002" {
		t.Errorf("want quiet in zone a, got %s", node)
	}
	if n := g.placed("noise=loud"); n != 2 {
		t.Errorf("want the important pods where they were, got %d", n)
	}
}

// A budget on victims keeps more pods than it from being evicted.
func TestCrossNodePreemptionBudget(t *testing.T) {
	g := openGallery(t, gallerySetup{Nodes: lab.Nodes("budget", 2, cores("4"), lab.Zones("a"))})
	g.load("cross-node-preemption", func(doc map[string]any) { doc["config"] = map[string]any{"maxVictims": 1} })
	g.classes("budget-low", 10, "budget-high", 1000)
	for i := range 2 {
		g.create(g.pod(fmt.Sprintf("noisy-%d", i), "1", labels("noise", "loud"), class("budget-low"), on(fmt.Sprintf("budget-%03d", i))))
		g.bound(fmt.Sprintf("noisy-%d", i))
	}
	g.create(g.pod("quiet", "1", class("budget-high"), apartInZones("noise", "loud")))
	g.says("quiet", "0/")
	g.delete("noisy-1")
	g.bound("quiet") // one victim is within the budget
	g.gone("noisy-0")
}
