// SPDX-License-Identifier: Apache-2.0

package berthtest

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// NodeBuilder makes a node. Its methods change it and return it.
type NodeBuilder struct {
	name, uid           string
	created             int64
	unschedulable       bool
	labels, annotations map[string]string
	taints              []taint
	conditions          []condition
	allocatable         map[string]int64
	capacity            map[string]int64
	images              map[string]image
	features            map[string]bool
	pods                []*PodBuilder
	fields              map[string]any // beside what follows from the others
}

type taint struct{ key, value, effect string }

type condition struct {
	kind, reason string
	status       uint32
}

type image struct {
	bytes int64
	nodes int
}

// Node returns a node with nothing but a name, and the label
// kubernetes.io/hostname that every node has.
func Node(name string) *NodeBuilder {
	return &NodeBuilder{
		name: name, uid: "uid-" + name,
		labels: map[string]string{"kubernetes.io/hostname": name}, annotations: map[string]string{},
		allocatable: map[string]int64{}, capacity: map[string]int64{},
		images: map[string]image{}, features: map[string]bool{},
	}
}

// Name is the node's name.
func (n *NodeBuilder) Name() string { return n.name }

// Label sets a label.
func (n *NodeBuilder) Label(key, value string) *NodeBuilder {
	n.labels[key] = value
	return n
}

// Annotation sets an annotation.
func (n *NodeBuilder) Annotation(key, value string) *NodeBuilder {
	n.annotations[key] = value
	return n
}

// Taint adds a taint of effect NoSchedule, PreferNoSchedule or NoExecute.
func (n *NodeBuilder) Taint(key, value, effect string) *NodeBuilder {
	n.taints = append(n.taints, taint{key, value, effect})
	return n
}

// Unschedulable cordons the node.
func (n *NodeBuilder) Unschedulable() *NodeBuilder {
	n.unschedulable = true
	return n
}

// Created sets the time of creation, in Unix seconds.
func (n *NodeBuilder) Created(seconds int64) *NodeBuilder {
	n.created = seconds
	return n
}

// Condition adds a condition of status True, False or Unknown.
func (n *NodeBuilder) Condition(kind, status, reason string) *NodeBuilder {
	statuses := map[string]uint32{"True": abi.ConditionTrue, "False": abi.ConditionFalse, "Unknown": abi.ConditionUnknown}
	n.conditions = append(n.conditions, condition{kind, reason, known("condition status", statuses, status)})
	return n
}

// Allocatable sets what the node has of a resource, as capacity, too: cpu in
// millicores, everything else in its unit.
func (n *NodeBuilder) Allocatable(resource string, amount int64) *NodeBuilder {
	n.allocatable[resource] = amount
	n.capacity[resource] = amount
	return n
}

// Capacity sets a capacity that differs from what is allocatable.
func (n *NodeBuilder) Capacity(resource string, amount int64) *NodeBuilder {
	n.capacity[resource] = amount
	return n
}

// Image adds an image of a size that so many nodes have.
func (n *NodeBuilder) Image(name string, bytes int64, nodes int) *NodeBuilder {
	n.images[name] = image{bytes, nodes}
	return n
}

// Feature declares a feature.
func (n *NodeBuilder) Feature(name string) *NodeBuilder {
	n.features[name] = true
	return n
}

// Pod puts pods on the node: what they request counts.
func (n *NodeBuilder) Pod(pods ...*PodBuilder) *NodeBuilder {
	n.pods = append(n.pods, pods...)
	return n
}

// record writes the node's view record.
func (n *NodeBuilder) record(mask uint32) *record {
	r := newRecord(abi.NodeRecord, len(abi.NodeSections), mask)
	r.one(abi.NodeMeta, abi.NodeMetaSize, func(at uint32) {
		r.str(at+abi.NodeMetaName, n.name)
		r.str(at+abi.NodeMetaUID, n.uid)
		r.i64(at+abi.NodeMetaCreated, n.created)
		r.flag(at+abi.NodeMetaUnschedulable, n.unschedulable)
	})
	r.pairs(abi.NodeLabels, n.labels)
	r.annotations(abi.NodeAnnotations, n.annotations)
	list(r, abi.NodeTaints, abi.TaintSize, n.taints, func(at uint32, t taint) {
		r.id(at+abi.TaintKey, t.key)
		r.id(at+abi.TaintValue, t.value)
		r.u32(at+abi.TaintEffect, known("taint effect", effects, t.effect))
	})
	list(r, abi.NodeConditions, abi.ConditionSize, n.conditions, func(at uint32, c condition) {
		r.id(at+abi.ConditionType, c.kind)
		r.u32(at+abi.ConditionStatus, c.status)
		r.id(at+abi.ConditionReason, c.reason)
	})
	n.resources(r)
	var ports []port
	claims := map[string]uint32{}
	for _, p := range n.pods {
		for _, p := range p.ports {
			if p.host != 0 {
				ports = append(ports, port{p.ip, p.protocol, p.host, 0})
			}
		}
		for _, v := range p.volumes {
			if v.claim != "" {
				claims[p.namespace+"/"+v.claim]++
			}
		}
	}
	slices.SortFunc(ports, func(a, b port) int { return int(a.host - b.host) })
	list(r, abi.NodePorts, abi.PortSize, ports, r.port)
	list(r, abi.NodeImages, abi.NodeImageSize, byID(n.images), func(at uint32, name string) {
		r.id(at+abi.NodeImageName, name)
		r.u32(at+abi.NodeImageNodes, uint32(n.images[name].nodes))
		r.i64(at+abi.NodeImageBytes, n.images[name].bytes)
	})
	list(r, abi.NodePods, abi.NodePodStructSize, n.pods, func(at uint32, p *PodBuilder) { p.onNode(r, at) })
	names := byID(claims)
	slices.Sort(names)
	list(r, abi.NodePVCs, abi.NodePVCSize, names, func(at uint32, name string) {
		r.str(at+abi.NodePVCName, name)
		r.u32(at+abi.NodePVCCount, claims[name])
	})
	list(r, abi.NodeFeatures, abi.FeatureSize, byID(n.features), r.id)
	type placed struct {
		podTerm
		pod   *PodBuilder
		place int
	}
	var terms []placed
	for i, p := range n.pods {
		for _, t := range p.podTerms {
			terms = append(terms, placed{t, p, i})
		}
	}
	list(r, abi.NodePodAffinity, abi.PodTermSize, terms, func(at uint32, t placed) { r.podTerm(at, t.pod, t.podTerm, t.place) })
	return r
}

// resources writes node.resources: what the pods request is summed up.
func (n *NodeBuilder) resources(r *record) {
	type amounts struct{ requested, nonZero int64 }
	all := map[string]amounts{"cpu": {}, "memory": {}, "ephemeral-storage": {}}
	for name := range n.capacity {
		all[name] = amounts{}
	}
	for _, p := range n.pods {
		names := map[string]bool{"cpu": true, "memory": true}
		for name := range p.requests {
			names[name] = true
		}
		for name := range names {
			a := all[name]
			a.requested += p.requests[name]
			a.nonZero += nonZero(p.requests, name)
			all[name] = a
		}
	}
	count := int64(len(n.pods))
	all["pods"] = amounts{count, count}
	list(r, abi.NodeResources, abi.NodeResourceSize, byID(all), func(at uint32, name string) {
		r.id(at+abi.NodeResourceName, name)
		r.i64(at+abi.NodeResourceAllocatable, n.allocatable[name])
		r.i64(at+abi.NodeResourceCapacity, n.capacity[name])
		r.i64(at+abi.NodeResourceRequested, all[name].requested)
		r.i64(at+abi.NodeResourceNonZeroRequested, all[name].nonZero)
	})
}
