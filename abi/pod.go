// SPDX-License-Identifier: Apache-2.0

package abi

// Sections of a pod record, by their place in the section table.
const (
	PodMeta = iota
	PodLabels
	PodAnnotations
	PodOwners
	PodResources
	PodContainers
	PodNodeSelector
	PodNodeAffinity
	PodPodAffinity
	PodTolerations
	PodSpread
	PodPorts
	PodImages
	PodVolumes
	PodGates
	PodGroup
	PodIdentity
)

// PodSections is the table of a pod record's sections.
var PodSections = []Section{
	{"pod.meta", PodMeta, 0, &PodMetaStruct, false, "namespace, priority, classes, QoS: what equal pods share; always present"},
	{"pod.labels", PodLabels, 0, &PairStruct, true, "metadata.labels, sorted by key id"},
	{"pod.annotations", PodAnnotations, 0, &AnnotationStruct, true, "metadata.annotations, sorted by key id"},
	{"pod.owners", PodOwners, 0, &OwnerStruct, true, "metadata.ownerReferences, in their order"},
	{"pod.resources", PodResources, 0, &PodResourceStruct, true, "totals of the pod as the scheduler counts them, sorted by name id: cpu and memory always, others where a column isn't 0"},
	{"pod.containers", PodContainers, 0, &ContainerStruct, true, "init containers, then containers, in their order"},
	{"pod.node_selector", PodNodeSelector, 0, &PairStruct, true, "spec.nodeSelector, sorted by key id"},
	{"pod.node_affinity", PodNodeAffinity, 0, &NodeTermStruct, true, "required terms (they are or-ed), then preferred ones"},
	{"pod.pod_affinity", PodPodAffinity, 0, &PodTermStruct, true, "required affinity, required anti-affinity, preferred affinity and preferred anti-affinity terms"},
	{"pod.tolerations", PodTolerations, 0, &TolerationStruct, true, "spec.tolerations, in their order"},
	{"pod.spread", PodSpread, 0, &SpreadStruct, true, "spec.topologySpreadConstraints, in their order"},
	{"pod.ports", PodPorts, 0, &PortStruct, true, "ports that are open while the pod runs: those of sidecars, then of containers, in their order"},
	{"pod.images", PodImages, 0, &ImageStruct, true, "images of the containers, init ones first, in their order"},
	{"pod.volumes", PodVolumes, 0, &VolumeStruct, true, "spec.volumes, in their order"},
	{"pod.gates", PodGates, 0, &GateStruct, true, "spec.schedulingGates, in their order"},
	{"pod.group", PodGroup, 0, &GroupStruct, true, "spec.schedulingGroup; empty where none"},
	{"pod.identity", PodIdentity, 0, &PodIdentityStruct, false, "name, UID, times, node and nominated node: what sets a pod apart from its equals; a policy that reads it is never batched"},
}

// QoS classes.
const (
	QoSBestEffort = 0
	QoSBurstable  = 1
	QoSGuaranteed = 2
)

// Flags of a pod.
const (
	PodHostNetwork  = 1
	PodNeverPreempt = 2
	PodOwnRequests  = 4
)

// Offsets in pod.meta.
const (
	PodMetaNamespace      = 0
	PodMetaScheduler      = 4
	PodMetaPriority       = 8
	PodMetaPriorityClass  = 12
	PodMetaQoS            = 16
	PodMetaFlags          = 20
	PodMetaRuntimeClass   = 24
	PodMetaServiceAccount = 28
	PodMetaSize           = 32
)

// PodMetaStruct is the layout of pod.meta.
var PodMetaStruct = Struct{"pod_meta", PodMetaSize, []Field{
	{"namespace", PodMetaNamespace, ID, "metadata.namespace"},
	{"scheduler", PodMetaScheduler, ID, "spec.schedulerName"},
	{"priority", PodMetaPriority, S32, "spec.priority; 0 where none"},
	{"priority_class", PodMetaPriorityClass, ID, "spec.priorityClassName"},
	{"qos", PodMetaQoS, U32, "best_effort 0, burstable 1, guaranteed 2"},
	{"flags", PodMetaFlags, Flags, "1 host network, 2 preemptionPolicy Never, 4 spec.resources requests for the pod as a whole"},
	{"runtime_class", PodMetaRuntimeClass, ID, "spec.runtimeClassName"},
	{"service_account", PodMetaServiceAccount, ID, "spec.serviceAccountName"},
}}

// Offsets in pod.identity.
const (
	PodIdentityName          = 0
	PodIdentityUID           = 8
	PodIdentityCreated       = 16
	PodIdentityDeletion      = 24
	PodIdentityNominatedNode = 32
	PodIdentityNode          = 40
	PodIdentitySize          = 48
)

// PodIdentityStruct is the layout of pod.identity.
var PodIdentityStruct = Struct{"pod_identity", PodIdentitySize, []Field{
	{"name", PodIdentityName, Str, "metadata.name"},
	{"uid", PodIdentityUID, Str, "metadata.uid"},
	{"created", PodIdentityCreated, S64, "creationTimestamp, Unix seconds; 0 is none"},
	{"deletion", PodIdentityDeletion, S64, "deletionTimestamp, Unix seconds; 0 is none"},
	{"nominated_node", PodIdentityNominatedNode, Str, "status.nominatedNodeName"},
	{"node", PodIdentityNode, Str, "spec.nodeName; empty before the pod is assigned"},
}}

// Offsets in a resource of a pod.
const (
	PodResourceName           = 0
	PodResourceRequest        = 8
	PodResourceNonZeroRequest = 16
	PodResourceLimit          = 24
	PodResourceOverhead       = 32
	PodResourceSize           = 40
)

// PodResourceStruct is the layout of a resource of a pod.
var PodResourceStruct = Struct{"pod_resource", PodResourceSize, []Field{
	{"name", PodResourceName, ID, ""},
	{"request", PodResourceRequest, S64, "of the whole pod, overhead included; cpu in millicores"},
	{"non_zero_request", PodResourceNonZeroRequest, S64, "cpu and memory: with the scheduler's minimum for containers that request none; else as request"},
	{"limit", PodResourceLimit, S64, "of the whole pod; 0 where none"},
	{"overhead", PodResourceOverhead, S64, "spec.overhead"},
}}

// Kinds of containers.
const (
	ContainerMain    = 0
	ContainerInit    = 1
	ContainerSidecar = 2 // an init container that restarts always
)

// Offsets in a container.
const (
	ContainerName       = 0
	ContainerKind       = 8
	ContainerImage      = 12
	ContainerRequests   = 16
	ContainerLimits     = 24
	ContainerPorts      = 32
	ContainerStructSize = 40
)

// ContainerStruct is the layout of a container.
var ContainerStruct = Struct{"container", ContainerStructSize, []Field{
	{"name", ContainerName, Str, ""},
	{"kind", ContainerKind, U32, "main 0, init 1, sidecar 2"},
	{"image", ContainerImage, ID, ""},
	{"requests", ContainerRequests, "list<quantity>", "sorted by name id"},
	{"limits", ContainerLimits, "list<quantity>", "sorted by name id"},
	{"ports", ContainerPorts, "list<port>", "in their order"},
}}

// Offsets in a node affinity term.
const (
	NodeTermRequired = 0
	NodeTermWeight   = 4
	NodeTermLabels   = 8
	NodeTermFields   = 16
	NodeTermSize     = 24
)

// NodeTermStruct is the layout of a node affinity term.
var NodeTermStruct = Struct{"node_term", NodeTermSize, []Field{
	{"required", NodeTermRequired, U32, "1 for a required term"},
	{"weight", NodeTermWeight, S32, "1..100 of a preferred term"},
	{"labels", NodeTermLabels, "list<requirement>", "matchExpressions; they are and-ed; a term without any matches nothing"},
	{"fields", NodeTermFields, "list<field_requirement>", "matchFields"},
}}

// Flags of a pod affinity term.
const (
	PodTermAnti     = 1
	PodTermRequired = 2
)

// Offsets in a pod affinity term.
const (
	PodTermFlags             = 0
	PodTermWeight            = 4
	PodTermTopologyKey       = 8
	PodTermPod               = 12
	PodTermSelector          = 16
	PodTermNamespaces        = 32
	PodTermNamespaceSelector = 40
	PodTermSize              = 56
)

// PodTermStruct is the layout of a pod affinity term.
var PodTermStruct = Struct{"pod_term", PodTermSize, []Field{
	{"flags", PodTermFlags, Flags, "1 anti-affinity, 2 required"},
	{"weight", PodTermWeight, S32, "1..100 of a preferred term"},
	{"topology_key", PodTermTopologyKey, ID, ""},
	{"pod", PodTermPod, U32, "in node.pod_affinity: place in node.pods of the pod that has the term; else 0"},
	{"selector_kind", PodTermSelector, U32, "selector.kind of labelSelector"},
	{"selector", PodTermSelector + 8, "list<requirement>", "its requirements, those of matchLabelKeys included"},
	{"namespaces", PodTermNamespaces, "list<id>", "the pod's own where the term names none and has no selector"},
	{"namespace_selector_kind", PodTermNamespaceSelector, U32, "selector.kind of namespaceSelector"},
	{"namespace_selector", PodTermNamespaceSelector + 8, "list<requirement>", ""},
}}

// Offsets in a toleration.
const (
	TolerationKey     = 0
	TolerationOp      = 4
	TolerationValue   = 8
	TolerationEffect  = 12
	TolerationSeconds = 16
	TolerationSize    = 24
)

// TolerationStruct is the layout of a toleration.
var TolerationStruct = Struct{"toleration", TolerationSize, []Field{
	{"key", TolerationKey, ID, "0 tolerates every key"},
	{"op", TolerationOp, U32, "exists 3, gt 5, lt 6, equal 7"},
	{"value", TolerationValue, ID, ""},
	{"effect", TolerationEffect, U32, "any 0, no_schedule 1, prefer_no_schedule 2, no_execute 3"},
	{"seconds", TolerationSeconds, S64, "tolerationSeconds; -1 is none"},
}}

// What a spread constraint does when it can't be met, and its policies.
const (
	SpreadDoNotSchedule  = 1
	SpreadScheduleAnyway = 2
	SpreadIgnore         = 0
	SpreadHonor          = 1
)

// Offsets in a topology spread constraint.
const (
	SpreadMaxSkew        = 0
	SpreadTopologyKey    = 4
	SpreadWhen           = 8
	SpreadMinDomains     = 12
	SpreadAffinityPolicy = 16
	SpreadTaintsPolicy   = 20
	SpreadSelector       = 24
	SpreadLabelKeys      = 40
	SpreadSize           = 48
)

// SpreadStruct is the layout of a topology spread constraint.
var SpreadStruct = Struct{"spread", SpreadSize, []Field{
	{"max_skew", SpreadMaxSkew, S32, ""},
	{"topology_key", SpreadTopologyKey, ID, ""},
	{"when", SpreadWhen, U32, "do_not_schedule 1, schedule_anyway 2"},
	{"min_domains", SpreadMinDomains, S32, "1 where none"},
	{"node_affinity_policy", SpreadAffinityPolicy, U32, "ignore 0, honor 1"},
	{"node_taints_policy", SpreadTaintsPolicy, U32, "ignore 0, honor 1"},
	{"selector_kind", SpreadSelector, U32, "selector.kind of labelSelector"},
	{"selector", SpreadSelector + 8, "list<requirement>", "its requirements"},
	{"match_label_keys", SpreadLabelKeys, "list<id>", ""},
}}

// ImageSize is the stride of images.
const ImageSize = 8

// ImageStruct is the layout of an image of a pod.
var ImageStruct = Struct{"image", ImageSize, []Field{{"name", 0, ID, ""}}}

// Offsets in a volume.
const (
	VolumeName  = 0
	VolumeClaim = 8
	VolumeKind  = 16
	VolumeImage = 20
	VolumeSize  = 24
)

// VolumeStruct is the layout of a volume.
var VolumeStruct = Struct{"volume", VolumeSize, []Field{
	{"name", VolumeName, Str, ""},
	{"claim", VolumeClaim, Str, "name of its PersistentVolumeClaim, an ephemeral volume's own included; empty where none"},
	{"kind", VolumeKind, ID, "the volume source's field name, as persistentVolumeClaim"},
	{"image", VolumeImage, ID, "reference of an image volume; 0 for another"},
}}

// GateSize is the stride of scheduling gates.
const GateSize = 8

// GateStruct is the layout of a scheduling gate.
var GateStruct = Struct{"gate", GateSize, []Field{{"name", 0, ID, ""}}}

// GroupSize is the size of a scheduling group.
const GroupSize = 8

// GroupStruct is the layout of a scheduling group.
var GroupStruct = Struct{"group", GroupSize, []Field{{"name", 0, Str, "podGroupName of spec.schedulingGroup"}}}

// PodStructs are the structures of pod records alone.
var PodStructs = []*Struct{&PodMetaStruct, &PodIdentityStruct, &PodResourceStruct, &ContainerStruct, &NodeTermStruct, &PodTermStruct, &TolerationStruct, &SpreadStruct, &ImageStruct, &VolumeStruct, &GateStruct, &GroupStruct}
