// SPDX-License-Identifier: Apache-2.0

package equality

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

// scene is a random cluster and a pod to schedule in it.
type scene struct {
	Nodes     []*v1.Node
	Pods      []*v1.Pod // on nodes
	Nominated []*v1.Pod // to nodes
	Pod       *v1.Pod
	Members   []*v1.Pod // of a group that begins with Pod
	Places    []int     // where the group's pods are taken to be, as indices of Nodes
	Toggles   []int     // which pods of a node go or come back in a dry run
}

// GoString is the scene in YAML; rapid prints the smallest that fails.
func (sc *scene) GoString() string {
	b, err := yaml.Marshal(sc)
	if err != nil {
		return err.Error()
	}
	return "\n" + string(b)
}

// focus is what scenes are rich in: of a hundred objects that many have it.
type focus struct {
	taints, selectors, affinity, ports, resources, images, spread, pods, names int
}

// dice draws what a scene is made of. What it draws at 0 is the simplest.
type dice struct {
	*rapid.T
	focus focus
}

// upTo is 0 to n, each as likely as the others. (Rapid's ranges prefer small
// numbers, and with them what is simple.)
func (d dice) upTo(n int) int {
	v, over := 0, 1
	for ; over < 16*(n+1); over *= 2 {
		v *= 2
		if coin.Draw(d.T, "") {
			v++
		}
	}
	return v * (n + 1) / over
}

var coin = rapid.Bool()

// chance is true in so many of a hundred cases.
func (d dice) chance(percent int) bool { return d.upTo(99) >= 100-percent }

// one is one of a list, of which the first is the simplest.
func one[T any](d dice, list ...T) T { return list[d.upTo(len(list)-1)] }

// many are up to n values, nil of none as from the API server. As a slice of
// rapid's they are shrunk one by one.
func many[T any](d dice, n int, make func(dice) T) []T {
	list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) T { return make(dice{t, d.focus}) }), 0, n).Draw(d.T, "")
	if len(list) == 0 {
		return nil
	}
	return list
}

// named gives pods their names, and the UIDs that go with them.
func named(pods []*v1.Pod, prefix string) []*v1.Pod {
	for i, p := range pods {
		p.Name = fmt.Sprint(prefix, i)
		p.UID = types.UID(p.Name)
	}
	return pods
}

// scenes generates scenes rich in what a port looks at.
func scenes(f focus) *rapid.Generator[*scene] {
	return rapid.Custom(func(t *rapid.T) *scene {
		d := dice{t, f}
		sc := &scene{}
		for i := range 1 + d.upTo(one(d, 2, 5, 11)) {
			sc.Nodes = append(sc.Nodes, d.node(i))
		}
		anyNode := func(d dice) string { return sc.Nodes[d.upTo(len(sc.Nodes)-1)].Name }
		sc.Pods = named(many(d, one(d, 6, 16), func(d dice) *v1.Pod {
			p := d.pod()
			p.Spec.NodeName = anyNode(d)
			if d.chance(15) {
				now := metav1.Unix(1_700_000_000, 0)
				p.DeletionTimestamp = &now
			}
			return p
		}), "there-")
		sc.Pod = named([]*v1.Pod{d.pod()}, "pod-")[0]
		if d.chance(f.names) {
			sc.Pod.Spec.NodeName = one(d, anyNode(d), anyNode(d), "ghost")
		}
		sc.Nominated = named(many(d, 3, func(d dice) *v1.Pod {
			p := d.pod()
			p.Status.NominatedNodeName = anyNode(d)
			return p
		}), "nominated-")
		sc.Members = named(many(d, 2, dice.pod), "member-")
		for range 1 + len(sc.Members) {
			sc.Places = append(sc.Places, d.upTo(len(sc.Nodes)-1))
		}
		sc.Toggles = many(d, 4, func(d dice) int { return d.upTo(7) })
		return sc
	})
}

func (d dice) node(i int) *v1.Node {
	name := fmt.Sprint("n", i)
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{}}}
	if d.chance(90) {
		n.Labels[v1.LabelHostname] = name
	}
	if d.chance(85) {
		n.Labels[v1.LabelTopologyZone] = one(d, "a", "b", "c")
	}
	if d.chance(d.focus.selectors) {
		n.Labels["disk"] = one(d, "ssd", "hdd", "")
	}
	if d.chance(d.focus.selectors) {
		n.Labels["cores"] = one(d, "4", "16", "007", "many", "9223372036854775808")
	}
	n.Spec.Unschedulable = d.chance(d.focus.taints / 3)
	if d.chance(d.focus.taints) {
		n.Spec.Taints = many(d, 3, func(d dice) v1.Taint { return d.taint() })
	}
	list := v1.ResourceList{v1.ResourceCPU: d.quantity(nodeCPU), v1.ResourceMemory: d.quantity(nodeMemory), v1.ResourcePods: d.quantity(nodePods)}
	if d.chance(d.focus.resources) {
		list[v1.ResourceEphemeralStorage] = d.quantity(memory)
	}
	for _, name := range extended {
		if d.chance(d.focus.resources / 2) {
			list[name] = d.quantity(counts)
		}
	}
	n.Status.Allocatable, n.Status.Capacity = list, list
	if d.chance(d.focus.images) {
		n.Status.Images = many(d, 4, func(d dice) v1.ContainerImage { return d.nodeImage() })
	}
	return n
}

func (d dice) pod() *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: one(d, "default", "default", "other", "gone"), Labels: map[string]string{}}}
	p.Spec.SchedulerName = "Berth"
	if d.chance(80) {
		p.Labels["app"] = one(d, "web", "db")
	}
	if d.chance(50) {
		p.Labels["tier"] = one(d, "x", "y", "")
	}
	if d.chance(70) {
		priority := one[int32](d, 0, 10, 100, -5)
		p.Spec.Priority = &priority
	}
	if d.chance(d.focus.taints) {
		p.Spec.Tolerations = many(d, 3, func(d dice) v1.Toleration { return d.toleration() })
	}
	d.resources(&p.Spec)
	if d.chance(d.focus.images) && d.chance(30) {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: "image", VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: one(d, imageNames...)}}})
	}
	p.Spec.Affinity = d.affinity()
	if d.chance(d.focus.selectors / 2) {
		p.Spec.NodeSelector = map[string]string{one(d, "disk", v1.LabelTopologyZone): one(d, "ssd", "a", "")}
	}
	if d.chance(d.focus.spread) {
		p.Spec.TopologySpreadConstraints = many(d, 3, func(d dice) v1.TopologySpreadConstraint { return d.spread() })
	}
	return p
}
