// SPDX-License-Identifier: Apache-2.0

package abi

// Sections of a node record, by their place in the section table.
const (
	NodeMeta = iota
	NodeLabels
	NodeAnnotations
	NodeTaints
	NodeConditions
	NodeResources
	NodePorts
	NodeImages
	NodePods
	NodePVCs
	NodeFeatures
	NodePodAffinity
)

// NodeSections is the table of a node record's sections.
var NodeSections = []Section{
	{"node.meta", NodeMeta, 0, &NodeMetaStruct, false, "name, UID, spec.unschedulable; always present"},
	{"node.labels", NodeLabels, 0, &PairStruct, true, "metadata.labels, sorted by key id"},
	{"node.annotations", NodeAnnotations, 0, &AnnotationStruct, true, "metadata.annotations, sorted by key id"},
	{"node.taints", NodeTaints, 0, &TaintStruct, true, "spec.taints, in their order"},
	{"node.conditions", NodeConditions, 0, &ConditionStruct, true, "status.conditions, in their order, without heartbeats"},
	{"node.resources", NodeResources, 0, &NodeResourceStruct, true, "what the scheduler counts, sorted by name id: cpu, memory, ephemeral-storage and pods always, others where a column isn't 0"},
	{"node.ports", NodePorts, 0, &PortStruct, true, "host ports in use, sorted by port, protocol id, ip id"},
	{"node.images", NodeImages, 0, &NodeImageStruct, true, "images on the node, one entry a name, sorted by name id"},
	{"node.pods", NodePods, 0, &NodePodStruct, true, "pods that are on the node or assumed there, in the order of the node info"},
	{"node.pvcs", NodePVCs, 0, &NodePVCStruct, true, "persistent volume claims in use, sorted by name"},
	{"node.features", NodeFeatures, 0, &FeatureStruct, true, "declared features of the node, sorted by id"},
	{"node.pod_affinity", NodePodAffinity, 0, &PodTermStruct, true, "terms of affinity and anti-affinity to pods of the pods on the node, in the order of node.pods and, for each, of pod.pod_affinity"},
}

// Offsets in node.meta.
const (
	NodeMetaName          = 0
	NodeMetaUID           = 8
	NodeMetaCreated       = 16
	NodeMetaUnschedulable = 24
	NodeMetaSize          = 32
)

// NodeMetaStruct is the layout of node.meta.
var NodeMetaStruct = Struct{"node_meta", NodeMetaSize, []Field{
	{"name", NodeMetaName, Str, "metadata.name"},
	{"uid", NodeMetaUID, Str, "metadata.uid"},
	{"created", NodeMetaCreated, S64, "metadata.creationTimestamp, Unix seconds; 0 is none"},
	{"unschedulable", NodeMetaUnschedulable, U32, "1 if spec.unschedulable"},
}}

// Offsets in a taint.
const (
	TaintKey    = 0
	TaintValue  = 4
	TaintEffect = 8
	TaintAdded  = 16
	TaintSize   = 24
)

// TaintStruct is the layout of a taint.
var TaintStruct = Struct{"taint", TaintSize, []Field{
	{"key", TaintKey, ID, ""},
	{"value", TaintValue, ID, ""},
	{"effect", TaintEffect, U32, "no_schedule 1, prefer_no_schedule 2, no_execute 3"},
	{"added", TaintAdded, S64, "timeAdded, Unix seconds; 0 is none"},
}}

// Condition statuses.
const (
	ConditionUnknown = 0
	ConditionTrue    = 1
	ConditionFalse   = 2
)

// Offsets in a condition.
const (
	ConditionType       = 0
	ConditionStatus     = 4
	ConditionReason     = 8
	ConditionTransition = 16
	ConditionSize       = 24
)

// ConditionStruct is the layout of a condition. Heartbeats are left out, so
// that they don't move a view's version.
var ConditionStruct = Struct{"condition", ConditionSize, []Field{
	{"type", ConditionType, ID, ""},
	{"status", ConditionStatus, U32, "unknown 0, true 1, false 2"},
	{"reason", ConditionReason, ID, ""},
	{"transition", ConditionTransition, S64, "lastTransitionTime, Unix seconds; 0 is none"},
}}

// Offsets in a resource of a node.
const (
	NodeResourceName             = 0
	NodeResourceAllocatable      = 8
	NodeResourceCapacity         = 16
	NodeResourceRequested        = 24
	NodeResourceNonZeroRequested = 32
	NodeResourceSize             = 40
)

// NodeResourceStruct is the layout of a resource of a node.
var NodeResourceStruct = Struct{"node_resource", NodeResourceSize, []Field{
	{"name", NodeResourceName, ID, "cpu, memory, ephemeral-storage, pods, or an extended resource"},
	{"allocatable", NodeResourceAllocatable, S64, "cpu in millicores, every other resource in its unit"},
	{"capacity", NodeResourceCapacity, S64, "status.capacity"},
	{"requested", NodeResourceRequested, S64, "sum over the node's pods, assumed ones included; for pods their number"},
	{"non_zero_requested", NodeResourceNonZeroRequested, S64, "cpu and memory: with the scheduler's minimum for containers that request none; else as requested"},
}}

// Offsets in an image of a node.
const (
	NodeImageName  = 0
	NodeImageNodes = 4
	NodeImageBytes = 8
	NodeImageSize  = 16
)

// NodeImageStruct is the layout of an image of a node.
var NodeImageStruct = Struct{"node_image", NodeImageSize, []Field{
	{"name", NodeImageName, ID, "one of the image's names"},
	{"nodes", NodeImageNodes, U32, "number of nodes that have it"},
	{"bytes", NodeImageBytes, S64, "size of the image"},
}}

// Flags of a pod on a node.
const (
	NodePodNominated   = 1
	NodePodTerminating = 2
)

// Offsets in a pod on a node.
const (
	NodePodNamespace  = 0
	NodePodFlags      = 4
	NodePodName       = 8
	NodePodUID        = 16
	NodePodPriority   = 24
	NodePodOwnerKind  = 28
	NodePodOwnerName  = 32
	NodePodOwnerUID   = 40
	NodePodStarted    = 48
	NodePodDeletion   = 56
	NodePodLabels     = 64
	NodePodRequests   = 72
	NodePodLimits     = 80
	NodePodStructSize = 88
)

// NodePodStruct is the layout of a pod on a node.
var NodePodStruct = Struct{"node_pod", NodePodStructSize, []Field{
	{"namespace", NodePodNamespace, ID, ""},
	{"flags", NodePodFlags, Flags, "1 nominated to the node and not on it (never set by a host of minor 0), 2 being deleted"},
	{"name", NodePodName, Str, ""},
	{"uid", NodePodUID, Str, ""},
	{"priority", NodePodPriority, S32, "spec.priority; 0 where none"},
	{"owner_kind", NodePodOwnerKind, ID, "kind of the managing controller; 0 where none"},
	{"owner_name", NodePodOwnerName, Str, ""},
	{"owner_uid", NodePodOwnerUID, Str, ""},
	{"started", NodePodStarted, S64, "status.startTime, Unix seconds; 0 is none"},
	{"deletion", NodePodDeletion, S64, "deletionTimestamp, Unix seconds; 0 is none"},
	{"labels", NodePodLabels, "list<pair>", "sorted by key id"},
	{"requests", NodePodRequests, "list<quantity>", "of the whole pod as the scheduler counts it, without zeros, sorted by name id"},
	{"limits", NodePodLimits, "list<quantity>", "of the whole pod, sorted by name id"},
}}

// Offsets in a claim in use on a node.
const (
	NodePVCName  = 0
	NodePVCCount = 8
	NodePVCSize  = 16
)

// NodePVCStruct is the layout of a claim in use on a node.
var NodePVCStruct = Struct{"node_pvc", NodePVCSize, []Field{
	{"name", NodePVCName, Str, "namespace/name"},
	{"count", NodePVCCount, U32, "pods on the node that use it"},
}}

// FeatureSize is the stride of declared features.
const FeatureSize = 8

// FeatureStruct is the layout of a declared feature.
var FeatureStruct = Struct{"feature", FeatureSize, []Field{{"name", 0, ID, ""}}}

// NodeStructs are the structures of node records alone.
var NodeStructs = []*Struct{&NodeMetaStruct, &TaintStruct, &ConditionStruct, &NodeResourceStruct, &NodeImageStruct, &NodePodStruct, &NodePVCStruct, &FeatureStruct}
