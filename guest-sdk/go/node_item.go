// SPDX-License-Identifier: Apache-2.0

package berth

import "github.com/berth-scheduler/berth/abi"

// ConditionStatus is the status of a node's condition.
type ConditionStatus uint32

// Statuses of conditions.
const (
	ConditionUnknown ConditionStatus = abi.ConditionUnknown
	ConditionTrue    ConditionStatus = abi.ConditionTrue
	ConditionFalse   ConditionStatus = abi.ConditionFalse
)

// Condition is a condition of a node.
type Condition item

// Type is what the condition is about: "Ready".
func (c Condition) Type() ID { return item(c).id(abi.ConditionType) }

// Status says whether it holds.
func (c Condition) Status() ConditionStatus {
	return ConditionStatus(item(c).u32(abi.ConditionStatus))
}

// Reason is why, in one word.
func (c Condition) Reason() ID { return item(c).id(abi.ConditionReason) }

// Changed is when the status changed last, in Unix seconds.
func (c Condition) Changed() int64 { return item(c).i64(abi.ConditionTransition) }

// NodeResource is what a node has of a resource: cpu in millicores, everything
// else in its unit. All amounts of the zero NodeResource are 0.
type NodeResource item

func (r NodeResource) amount(off uintptr) int64 {
	if r.at == nil {
		return 0
	}
	return item(r).i64(off)
}

// Name is the resource's name.
func (r NodeResource) Name() ID {
	if r.at == nil {
		return 0
	}
	return item(r).id(abi.NodeResourceName)
}

// Allocatable is what pods may request in all.
func (r NodeResource) Allocatable() int64 { return r.amount(abi.NodeResourceAllocatable) }

// Capacity is what the node has, the system's share included.
func (r NodeResource) Capacity() int64 { return r.amount(abi.NodeResourceCapacity) }

// Requested is what the node's pods request, assumed ones included; of "pods"
// it is their number.
func (r NodeResource) Requested() int64 { return r.amount(abi.NodeResourceRequested) }

// NonZeroRequested is Requested with the scheduler's minimum of cpu and memory
// for containers that request none.
func (r NodeResource) NonZeroRequested() int64 { return r.amount(abi.NodeResourceNonZeroRequested) }

// Free is what is left of Allocatable; it may be negative.
func (r NodeResource) Free() int64 { return r.Allocatable() - r.Requested() }

// NodeImage is an image on a node.
type NodeImage item

// Name is one of the image's names.
func (i NodeImage) Name() ID { return item(i).id(abi.NodeImageName) }

// Nodes is the number of nodes that have the image.
func (i NodeImage) Nodes() int { return int(item(i).u32(abi.NodeImageNodes)) }

// Bytes is the size of the image.
func (i NodeImage) Bytes() int64 { return item(i).i64(abi.NodeImageBytes) }

// NodePod is a pod on a node.
type NodePod item

// Namespace is the pod's namespace.
func (p NodePod) Namespace() ID { return item(p).id(abi.NodePodNamespace) }

// Name is the pod's name.
func (p NodePod) Name() string { return item(p).str(abi.NodePodName) }

// UID is the pod's UID.
func (p NodePod) UID() string { return item(p).str(abi.NodePodUID) }

// Priority is the pod's priority.
func (p NodePod) Priority() int32 { return item(p).i32(abi.NodePodPriority) }

// OwnerKind is the kind of the pod's managing controller, 0 where it has none.
func (p NodePod) OwnerKind() ID { return item(p).id(abi.NodePodOwnerKind) }

// OwnerName is the name of the pod's managing controller.
func (p NodePod) OwnerName() string { return item(p).str(abi.NodePodOwnerName) }

// OwnerUID is the UID of the pod's managing controller.
func (p NodePod) OwnerUID() string { return item(p).str(abi.NodePodOwnerUID) }

// Started is when the pod started, in Unix seconds; 0 where it hasn't.
func (p NodePod) Started() int64 { return item(p).i64(abi.NodePodStarted) }

// Deletion is when the pod is to be gone, in Unix seconds; 0 where it stays.
func (p NodePod) Deletion() int64 { return item(p).i64(abi.NodePodDeletion) }

// Terminating says whether the pod is being deleted.
func (p NodePod) Terminating() bool {
	return item(p).u32(abi.NodePodFlags)&abi.NodePodTerminating != 0
}

// Nominated says that the pod isn't on the node yet, but is to be.
func (p NodePod) Nominated() bool {
	return item(p).u32(abi.NodePodFlags)&abi.NodePodNominated != 0
}

// Labels are the pod's labels.
func (p NodePod) Labels() Labels {
	return Labels{inline[Pair](item(p), abi.NodePodLabels, abi.PairSize)}
}

// Requests are what the pod requests in all.
func (p NodePod) Requests() Quantities {
	return Quantities{inline[Quantity](item(p), abi.NodePodRequests, abi.QuantitySize)}
}

// Limits are the pod's limits in all.
func (p NodePod) Limits() Quantities {
	return Quantities{inline[Quantity](item(p), abi.NodePodLimits, abi.QuantitySize)}
}

// NodePVC is a persistent volume claim that pods on a node use.
type NodePVC item

// Name is the claim's "namespace/name".
func (c NodePVC) Name() string { return item(c).str(abi.NodePVCName) }

// Pods is the number of pods on the node that use it.
func (c NodePVC) Pods() int { return int(item(c).u32(abi.NodePVCCount)) }

// Feature is a feature that a node declares.
type Feature item

// Name is the feature's name.
func (f Feature) Name() ID { return item(f).id(0) }
