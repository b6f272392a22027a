// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/test/lab"
)

// gangOf are the pods of a gang that ask for a core each.
func (g *gallery) gangOf(name string, size, pods int, change ...func(p *corev1.Pod)) []*corev1.Pod {
	list := make([]*corev1.Pod, pods)
	for i := range list {
		more := append([]func(p *corev1.Pod){labels("berth.dev/gang", name, "berth.dev/gang-size", fmt.Sprint(size))}, change...)
		list[i] = g.pod(fmt.Sprintf("%s-%d", name, i), "1", more...)
	}
	return list
}

// placed is how many of the pods with a label have a node.
func (g *gallery) placed(selector string) (n int) {
	g.t.Helper()
	list, err := cluster.Client.CoreV1().Pods(g.name).List(g.ctx, metav1.ListOptions{LabelSelector: selector})
	g.check(err)
	for _, p := range list.Items {
		if p.Spec.NodeName != "" {
			n++
		}
	}
	return n
}

func cores(n string) lab.NodeOption { return lab.Capacity(corev1.ResourceCPU, n) }

// A gang for which there is no room holds no node; one more node places it whole.
func TestGangWaitsForRoom(t *testing.T) {
	g := openGallery(t, gallerySetup{Nodes: lab.Nodes("gang", 2, cores("1"))})
	g.load("gang", nil)
	g.create(g.gangOf("job", 3, 3)...)
	g.says("job-0", "there is no room for the whole gang")
	g.create(g.pod("single", "1"))
	g.bound("single") // nothing holds a node
	g.delete("single")
	if n := g.placed("berth.dev/gang=job"); n != 0 {
		t.Errorf("want no pod of the gang placed, got %d", n)
	}
	more := lab.Nodes("gang-more", 1, cores("1"))
	more[0].Labels[galleryLabel] = g.name
	g.check(cluster.CreateNodes(g.ctx, more))
	g.until("the gang to be placed", func() bool { return g.placed("berth.dev/gang=job") == 3 })
}

// Two gangs that don't fit together don't take half of the nodes each.
func TestGangsDoNotBlockEachOther(t *testing.T) {
	g := openGallery(t, gallerySetup{Nodes: lab.Nodes("gangs", 4, cores("1"))})
	g.load("gang", func(doc map[string]any) {
		doc["config"] = map[string]any{"timeoutSeconds": 20, "pauseSeconds": 1}
	})
	red, blue := g.gangOf("red", 3, 3), g.gangOf("blue", 3, 3)
	for i := range red {
		g.create(red[i], blue[i])
	}
	first, second := "red", "blue"
	g.until("one of the gangs to be placed", func() bool {
		if g.placed("berth.dev/gang=blue") == 3 {
			first, second = second, first
		}
		return g.placed("berth.dev/gang="+first) == 3
	})
	if n := g.placed("berth.dev/gang=" + second); n != 0 {
		t.Errorf("want no pod of the other gang placed, got %d", n)
	}
	for i := range 3 {
		g.delete(fmt.Sprintf("%s-%d", first, i))
	}
	g.until("the other gang to be placed", func() bool { return g.placed("berth.dev/gang="+second) == 3 })
}

// Pods whose gang doesn't come give their nodes back.
func TestGangTimesOut(t *testing.T) {
	g := openGallery(t, gallerySetup{Nodes: lab.Nodes("timeout", 3, cores("1"))})
	g.load("gang", func(doc map[string]any) {
		doc["config"] = map[string]any{"timeoutSeconds": 2, "pauseSeconds": 300}
	})
	g.create(g.gangOf("half", 3, 2)...)
	g.says("half-0", "gang")
	for i := range 3 {
		g.create(g.pod(fmt.Sprintf("filler-%d", i), "1"))
	}
	for i := range 3 {
		g.bound(fmt.Sprintf("filler-%d", i))
	}
	if n := g.placed("berth.dev/gang=half"); n != 0 {
		t.Errorf("want no pod of the gang placed, got %d", n)
	}
}

// A more important gang takes the place of a whole other one, not of a part.
func TestGangPreemptsJobs(t *testing.T) {
	g := openGallery(t, gallerySetup{Nodes: lab.Nodes("jobs", 3, cores("1"))})
	g.load("gang", func(doc map[string]any) {
		doc["config"] = map[string]any{"timeoutSeconds": 60, "pauseSeconds": 1}
	})
	g.classes("gang-low", 10, "gang-high", 1000)
	g.create(g.gangOf("low", 2, 2, class("gang-low"))...)
	g.until("the first gang to be placed", func() bool { return g.placed("berth.dev/gang=low") == 2 })
	g.create(g.gangOf("high", 2, 2, class("gang-high"))...)
	g.gone("low-0")
	g.gone("low-1")
	g.until("the second gang to be placed", func() bool { return g.placed("berth.dev/gang=high") == 2 })
}
