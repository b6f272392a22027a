// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
)

// Pod is the pod that is being scheduled, or the one that AddPod and RemovePod
// are about. It is a small value that points into guest memory: nothing that
// reads it allocates, and it is valid during the call. Strings that it returns
// are, too, unless their doc says more; strings.Clone keeps one.
type Pod struct{ rec unsafe.Pointer }

func (p Pod) meta() item     { return item{p.rec, section(p.rec, abi.PodMeta)} }
func (p Pod) identity() item { return item{p.rec, section(p.rec, abi.PodIdentity)} }

// Namespace is the pod's namespace.
func (p Pod) Namespace() ID { return p.meta().id(abi.PodMetaNamespace) }

// SchedulerName is the profile that schedules the pod.
func (p Pod) SchedulerName() ID { return p.meta().id(abi.PodMetaScheduler) }

// Priority is the pod's priority, 0 where it has none.
func (p Pod) Priority() int32 { return p.meta().i32(abi.PodMetaPriority) }

// PriorityClass is the name of the pod's priority class.
func (p Pod) PriorityClass() ID { return p.meta().id(abi.PodMetaPriorityClass) }

// RuntimeClass is the name of the pod's runtime class.
func (p Pod) RuntimeClass() ID { return p.meta().id(abi.PodMetaRuntimeClass) }

// ServiceAccount is the name of the pod's service account.
func (p Pod) ServiceAccount() ID { return p.meta().id(abi.PodMetaServiceAccount) }

// HostNetwork says whether the pod uses the host's network.
func (p Pod) HostNetwork() bool { return p.meta().u32(abi.PodMetaFlags)&abi.PodHostNetwork != 0 }

// NeverPreempts says whether the pod's preemption policy is Never.
func (p Pod) NeverPreempts() bool { return p.meta().u32(abi.PodMetaFlags)&abi.PodNeverPreempt != 0 }

// HasOwnRequests says whether the pod requests something as a whole, beside what
// its containers request.
func (p Pod) HasOwnRequests() bool { return p.meta().u32(abi.PodMetaFlags)&abi.PodOwnRequests != 0 }

// QoS is a pod's quality of service class.
type QoS uint32

// Quality of service classes.
const (
	BestEffort QoS = abi.QoSBestEffort
	Burstable  QoS = abi.QoSBurstable
	Guaranteed QoS = abi.QoSGuaranteed
)

// QoS is the pod's quality of service class.
func (p Pod) QoS() QoS { return QoS(p.meta().u32(abi.PodMetaQoS)) }

// Name is the pod's name. It reads PodIdentity, as do UID, Created, Deletion,
// NominatedNode and AssignedNode.
func (p Pod) Name() string { return p.identity().str(abi.PodIdentityName) }

// UID is the pod's UID.
func (p Pod) UID() string { return p.identity().str(abi.PodIdentityUID) }

// Created is when the pod was created, in Unix seconds.
func (p Pod) Created() int64 { return p.identity().i64(abi.PodIdentityCreated) }

// Deletion is when the pod is to be gone, in Unix seconds; 0 where it stays.
func (p Pod) Deletion() int64 { return p.identity().i64(abi.PodIdentityDeletion) }

// NominatedNode is the node that preemption makes room on for the pod.
func (p Pod) NominatedNode() string { return p.identity().str(abi.PodIdentityNominatedNode) }

// AssignedNode is the node that the pod is on or bound to, empty where there is
// none yet.
func (p Pod) AssignedNode() string { return p.identity().str(abi.PodIdentityNode) }

// Labels are the pod's labels. It reads PodLabels, as do LabelID, Label,
// HasLabel and LabelIs.
func (p Pod) Labels() Labels { return Labels{list[Pair](p.rec, abi.PodLabels)} }

// LabelID is the ID of a label's value.
func (p Pod) LabelID(key Symbol) (ID, bool) {
	return pairValue(lookup(p.rec, abi.PodLabels, key.ID()))
}

// Label is a label's value, valid as long as the instance lives.
func (p Pod) Label(key Symbol) (string, bool) { return pairText(p.LabelID(key)) }

// HasLabel says whether the pod has a label, whatever its value.
func (p Pod) HasLabel(key Symbol) bool {
	return lookup(p.rec, abi.PodLabels, key.ID()) != nil
}

// LabelIs says whether the pod has a label of this value.
func (p Pod) LabelIs(key, value Symbol) bool {
	id, ok := p.LabelID(key)
	return ok && id == value.ID()
}

// Annotations are the pod's annotations. It reads PodAnnotations.
func (p Pod) Annotations() Annotations {
	return Annotations{list[Annotation](p.rec, abi.PodAnnotations)}
}

// Annotation is an annotation's value. It reads PodAnnotations.
func (p Pod) Annotation(key Symbol) (string, bool) { return p.Annotations().Value(key) }

// Owners are the pod's owner references. It reads PodOwners.
func (p Pod) Owners() List[Owner] { return list[Owner](p.rec, abi.PodOwners) }

// Resources are what the pod asks for in all. It reads PodResources.
func (p Pod) Resources() List[PodResource] { return list[PodResource](p.rec, abi.PodResources) }

// Resource is what the pod asks for of a resource; all its amounts are 0 where
// it asks for none. It reads PodResources.
func (p Pod) Resource(name Symbol) PodResource {
	return PodResource{p.rec, lookup(p.rec, abi.PodResources, name.ID())}
}

// Containers are the pod's init containers and containers. It reads
// PodContainers.
func (p Pod) Containers() List[Container] { return list[Container](p.rec, abi.PodContainers) }

// NodeSelector is the pod's node selector. It reads PodNodeSelector.
func (p Pod) NodeSelector() Labels { return Labels{list[Pair](p.rec, abi.PodNodeSelector)} }

// NodeAffinity are the pod's node affinity terms, required ones first. It
// reads PodNodeAffinity.
func (p Pod) NodeAffinity() List[NodeTerm] { return list[NodeTerm](p.rec, abi.PodNodeAffinity) }

// PodAffinity are the pod's terms of affinity and anti-affinity to pods. It
// reads PodPodAffinity.
func (p Pod) PodAffinity() List[PodTerm] { return list[PodTerm](p.rec, abi.PodPodAffinity) }

// Tolerations are the pod's tolerations. It reads PodTolerations.
func (p Pod) Tolerations() List[Toleration] { return list[Toleration](p.rec, abi.PodTolerations) }

// SpreadConstraints are the pod's topology spread constraints. It reads
// PodSpread.
func (p Pod) SpreadConstraints() List[SpreadConstraint] {
	return list[SpreadConstraint](p.rec, abi.PodSpread)
}

// Ports are the ports of the pod's containers. It reads PodPorts.
func (p Pod) Ports() List[Port] { return list[Port](p.rec, abi.PodPorts) }

// Images are the images of the pod's containers. It reads PodImages.
func (p Pod) Images() List[Image] { return list[Image](p.rec, abi.PodImages) }

// Volumes are the pod's volumes. It reads PodVolumes.
func (p Pod) Volumes() List[Volume] { return list[Volume](p.rec, abi.PodVolumes) }

// Gates are the pod's scheduling gates. It reads PodGates.
func (p Pod) Gates() List[Gate] { return list[Gate](p.rec, abi.PodGates) }

// Group is the name of the pod's pod group, empty where it is in none. It reads
// PodGroup.
func (p Pod) Group() string {
	l := list[item](p.rec, abi.PodGroup)
	if l.Len() == 0 {
		return ""
	}
	return l.at(0).str(0)
}
