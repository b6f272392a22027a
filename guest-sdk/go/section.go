// SPDX-License-Identifier: Apache-2.0

package berth

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
