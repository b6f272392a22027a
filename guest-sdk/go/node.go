// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
)

// Node is a node as the scheduler sees it in this call, assumed pods included.
// It is a small value that points into guest memory: nothing that reads it
// allocates, and it is valid during the call. Strings that it returns are, too,
// unless their doc says more; strings.Clone keeps one.
type Node struct{ rec unsafe.Pointer }

func (n Node) meta() item { return item{n.rec, section(n.rec, abi.NodeMeta)} }

// Name is the node's name.
func (n Node) Name() string { return n.meta().str(abi.NodeMetaName) }

// UID is the node's UID.
func (n Node) UID() string { return n.meta().str(abi.NodeMetaUID) }

// Created is when the node was created, in Unix seconds.
func (n Node) Created() int64 { return n.meta().i64(abi.NodeMetaCreated) }

// Unschedulable says whether the node is cordoned.
func (n Node) Unschedulable() bool { return n.meta().u32(abi.NodeMetaUnschedulable) != 0 }

// Labels are the node's labels. It reads NodeLabels, as do LabelID, Label,
// HasLabel and LabelIs.
func (n Node) Labels() Labels { return Labels{list[Pair](n.rec, abi.NodeLabels)} }

// LabelID is the ID of a label's value.
func (n Node) LabelID(key Symbol) (ID, bool) {
	return pairValue(lookup(n.rec, abi.NodeLabels, key.ID()))
}

// Label is a label's value, valid as long as the instance lives.
func (n Node) Label(key Symbol) (string, bool) { return pairText(n.LabelID(key)) }

// HasLabel says whether the node has a label, whatever its value.
func (n Node) HasLabel(key Symbol) bool {
	return lookup(n.rec, abi.NodeLabels, key.ID()) != nil
}

// LabelIs says whether the node has a label of this value.
func (n Node) LabelIs(key, value Symbol) bool {
	id, ok := n.LabelID(key)
	return ok && id == value.ID()
}

// Annotations are the node's annotations. It reads NodeAnnotations.
func (n Node) Annotations() Annotations {
	return Annotations{list[Annotation](n.rec, abi.NodeAnnotations)}
}

// Annotation is an annotation's value. It reads NodeAnnotations.
func (n Node) Annotation(key Symbol) (string, bool) { return n.Annotations().Value(key) }

// Taints are the node's taints in their order. It reads NodeTaints.
func (n Node) Taints() List[Taint] { return list[Taint](n.rec, abi.NodeTaints) }

// Conditions are the node's conditions. It reads NodeConditions.
func (n Node) Conditions() List[Condition] { return list[Condition](n.rec, abi.NodeConditions) }

// Condition is the status of a condition, ConditionUnknown where there is none.
// It reads NodeConditions.
func (n Node) Condition(kind Symbol) ConditionStatus {
	id := kind.ID()
	for c := range n.Conditions().All() {
		if c.Type() == id {
			return c.Status()
		}
	}
	return ConditionUnknown
}

// Resources are what the node has of each resource. It reads NodeResources.
func (n Node) Resources() List[NodeResource] {
	return list[NodeResource](n.rec, abi.NodeResources)
}

// Resource is what the node has of a resource; all its amounts are 0 where the
// node has nothing of it. It reads NodeResources.
func (n Node) Resource(name Symbol) NodeResource { return n.ResourceByID(name.ID()) }

// ResourceByID is Resource for a name that was read, as from the pod.
func (n Node) ResourceByID(name ID) NodeResource {
	return NodeResource{n.rec, lookup(n.rec, abi.NodeResources, name)}
}

// Ports are the host ports in use. It reads NodePorts.
func (n Node) Ports() List[Port] { return list[Port](n.rec, abi.NodePorts) }

// Images are the images on the node, one element a name. It reads NodeImages.
func (n Node) Images() List[NodeImage] { return list[NodeImage](n.rec, abi.NodeImages) }

// Image finds an image on the node. It reads NodeImages.
func (n Node) Image(name ID) (NodeImage, bool) {
	p := lookup(n.rec, abi.NodeImages, name)
	return NodeImage{n.rec, p}, p != nil
}

// Pods are the pods on the node, assumed ones included. It reads NodePods.
func (n Node) Pods() List[NodePod] { return list[NodePod](n.rec, abi.NodePods) }

// PVCs are the persistent volume claims that the node's pods use. It reads
// NodePVCs.
func (n Node) PVCs() List[NodePVC] { return list[NodePVC](n.rec, abi.NodePVCs) }

// HasFeature says whether the node declares a feature. It reads NodeFeatures.
func (n Node) HasFeature(name Symbol) bool {
	return lookup(n.rec, abi.NodeFeatures, name.ID()) != nil
}

// Features are the node's declared features. It reads NodeFeatures.
func (n Node) Features() List[Feature] { return list[Feature](n.rec, abi.NodeFeatures) }

// PodAffinity are the terms of affinity and anti-affinity to pods that the
// node's pods have. It reads NodePodAffinity.
func (n Node) PodAffinity() List[PodTerm] { return list[PodTerm](n.rec, abi.NodePodAffinity) }
