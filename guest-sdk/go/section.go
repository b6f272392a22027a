// SPDX-License-Identifier: Apache-2.0

package berth

import "github.com/berth-scheduler/berth/abi"

// Section is a part of what the host knows of a node or a pod. A policy lists
// those that it reads in Policy.Reads: the host encodes nothing else, and a
// change of something else isn't news to the policy. Names, namespaces,
// priorities and the like of Node and Pod need no section, where their doc names
// none.
type Section string

// Sections of nodes.
const (
	NodeLabels      Section = "node.labels"
	NodeAnnotations Section = "node.annotations"
	NodeTaints      Section = "node.taints"
	NodeConditions  Section = "node.conditions"
	NodeResources   Section = "node.resources"
	NodePorts       Section = "node.ports"
	NodeImages      Section = "node.images"
	NodePods        Section = "node.pods"
	NodePVCs        Section = "node.pvcs"
	NodeFeatures    Section = "node.features"
	NodePodAffinity Section = "node.pod_affinity"
)

// Sections of pods.
const (
	PodLabels       Section = "pod.labels"
	PodAnnotations  Section = "pod.annotations"
	PodOwners       Section = "pod.owners"
	PodResources    Section = "pod.resources"
	PodContainers   Section = "pod.containers"
	PodNodeSelector Section = "pod.node_selector"
	PodNodeAffinity Section = "pod.node_affinity"
	PodPodAffinity  Section = "pod.pod_affinity"
	PodTolerations  Section = "pod.tolerations"
	PodSpread       Section = "pod.spread"
	PodPorts        Section = "pod.ports"
	PodImages       Section = "pod.images"
	PodVolumes      Section = "pod.volumes"
	PodGates        Section = "pod.gates"
	PodGroup        Section = "pod.group"
	// PodIdentity is name, UID, times and nominated node. Pods that differ in
	// nothing else can't be scheduled in batches if a policy reads it.
	PodIdentity Section = "pod.identity"
)

// The sections by their place in a record, in as few bytes of a module as can
// be: the ABI's tables hold all of their documentation.
var (
	nodeSections = []Section{
		abi.NodeMeta: "node.meta", abi.NodeLabels: NodeLabels, abi.NodeAnnotations: NodeAnnotations,
		abi.NodeTaints: NodeTaints, abi.NodeConditions: NodeConditions, abi.NodeResources: NodeResources,
		abi.NodePorts: NodePorts, abi.NodeImages: NodeImages, abi.NodePods: NodePods, abi.NodePVCs: NodePVCs,
		abi.NodeFeatures: NodeFeatures, abi.NodePodAffinity: NodePodAffinity,
	}
	podSections = []Section{
		abi.PodMeta: "pod.meta", abi.PodLabels: PodLabels, abi.PodAnnotations: PodAnnotations,
		abi.PodOwners: PodOwners, abi.PodResources: PodResources, abi.PodContainers: PodContainers,
		abi.PodNodeSelector: PodNodeSelector, abi.PodNodeAffinity: PodNodeAffinity,
		abi.PodPodAffinity: PodPodAffinity, abi.PodTolerations: PodTolerations, abi.PodSpread: PodSpread,
		abi.PodPorts: PodPorts, abi.PodImages: PodImages, abi.PodVolumes: PodVolumes, abi.PodGates: PodGates,
		abi.PodGroup: PodGroup, abi.PodIdentity: PodIdentity,
	}
)

// masks are the declared sections of nodes and of pods, as bits.
func masks(reads []Section) (node, pod uint32) {
	bits := func(table []Section) (mask uint32) {
		for i, s := range table {
			for _, r := range reads {
				if s == r {
					mask |= 1 << i
				}
			}
		}
		return mask
	}
	return bits(nodeSections) | 1<<abi.NodeMeta, bits(podSections) | 1<<abi.PodMeta
}
