// SPDX-License-Identifier: Apache-2.0

package equality

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Quantities from ordinary to odd. Those of memory stay below 92 Pi, of which a
// hundred times is all that the plugins' int64 hold.
var (
	nodeCPU    = quantities("4", "1", "2", "64", "4500m", "0", "1m", "300m")
	nodeMemory = quantities("8Gi", "1Gi", "300Mi", "1Ti", "64Pi", "1500M", "7", "0")
	nodePods   = quantities("110", "1", "2", "4", "0")
	cpu        = quantities("100m", "0", "1", "1500m", "1m", "3", "100")
	memory     = quantities("128Mi", "0", "1Gi", "1", "1e3", "1.5Gi", "100M", "20Pi", "500m")
	counts     = quantities("1", "0", "2", "8")

	// What a pod requests as a whole is less than terabytes: see docs/equality.md.
	podMemory = quantities("128Mi", "0", "1Gi", "1", "100M")
)

// quantities are as the API server hands them out, in canonical form.
func quantities(texts ...string) []resource.Quantity {
	var list []resource.Quantity
	for _, text := range texts {
		q := resource.MustParse(text)
		list = append(list, resource.MustParse(q.String()))
	}
	return list
}

// extended are resources that are neither cpu, memory nor storage.
var extended = []v1.ResourceName{"example.com/gpu", "example.com/fpga", "other.io/tpu", "hugepages-2Mi"}

func (d dice) quantity(list []resource.Quantity) resource.Quantity { return one(d, list...).DeepCopy() }

// requests are what a container asks for.
func (d dice) requests() v1.ResourceList {
	list := v1.ResourceList{}
	if d.chance(70) {
		list[v1.ResourceCPU] = d.quantity(cpu)
	}
	if d.chance(70) {
		list[v1.ResourceMemory] = d.quantity(memory)
	}
	if d.chance(d.focus.resources / 2) {
		list[v1.ResourceEphemeralStorage] = d.quantity(memory)
	}
	if d.chance(d.focus.resources) {
		list[one(d, extended...)] = d.quantity(counts)
	}
	return list
}

// resources gives a pod containers, with all that they bring, and an overhead.
func (d dice) resources(spec *v1.PodSpec) {
	always := v1.ContainerRestartPolicyAlways
	for range 1 + d.upTo(1) {
		spec.Containers = append(spec.Containers, d.container())
	}
	if d.chance(d.focus.resources/2 + d.focus.images/4 + d.focus.ports/4) {
		spec.InitContainers = many(d, 2, func(d dice) v1.Container {
			c := d.container()
			if d.chance(50) {
				c.RestartPolicy = &always
			}
			return c
		})
	}
	if d.chance(d.focus.resources / 4) {
		spec.Overhead = v1.ResourceList{v1.ResourceCPU: d.quantity(cpu), v1.ResourceMemory: d.quantity(memory)}
	}
	if d.chance(d.focus.resources / 8) {
		list := v1.ResourceList{v1.ResourceCPU: d.quantity(cpu)}
		if d.chance(70) {
			list[v1.ResourceMemory] = d.quantity(podMemory)
		}
		spec.Resources = &v1.ResourceRequirements{Requests: list}
	}
}

func (d dice) container() v1.Container {
	c := v1.Container{Name: "c", Image: "web:1"}
	if d.focus.images > 0 {
		c.Image = one(d, imageNames...)
	}
	if d.focus.resources > 0 {
		c.Resources.Requests = d.requests()
	}
	if d.chance(d.focus.ports) {
		c.Ports = many(d, 2, func(d dice) v1.ContainerPort {
			return v1.ContainerPort{
				ContainerPort: 80,
				HostPort:      one[int32](d, 0, 80, 8080),
				Protocol:      one(d, "", v1.ProtocolTCP, v1.ProtocolUDP),
				HostIP:        one(d, "", "0.0.0.0", "127.0.0.1", "10.0.0.1"),
			}
		})
	}
	return c
}

// imageNames are with and without tag, digest, registry and port.
var imageNames = []string{"web:1", "db", "registry.io:5000/cache", "registry.io:5000/cache:2", "ns/app@sha256:0a", "db:latest"}

func (d dice) nodeImage() v1.ContainerImage {
	names := []string{one(d, "web:1", "db:latest", "registry.io:5000/cache:latest", "registry.io:5000/cache:2", "ns/app@sha256:0a")}
	if d.chance(20) {
		names = append(names, "alias:1")
	}
	return v1.ContainerImage{Names: names, SizeBytes: one[int64](d, 200<<20, 10<<20, 23<<20, 900<<20, 3<<30, 0, 40<<30, 123456789)}
}
