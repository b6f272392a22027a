// SPDX-License-Identifier: Apache-2.0

package berth

import "github.com/berth-scheduler/berth/abi"

// Owner is an owner reference.
type Owner item

// APIVersion is the owner's API version.
func (o Owner) APIVersion() ID { return item(o).id(abi.OwnerAPIVersion) }

// Kind is the owner's kind.
func (o Owner) Kind() ID { return item(o).id(abi.OwnerKind) }

// Name is the owner's name.
func (o Owner) Name() string { return item(o).str(abi.OwnerName) }

// UID is the owner's UID.
func (o Owner) UID() string { return item(o).str(abi.OwnerUID) }

// Controller says whether the owner manages the pod.
func (o Owner) Controller() bool { return item(o).u32(abi.OwnerController) != 0 }

// PodResource is what a pod asks for of a resource: cpu in millicores,
// everything else in its unit. All amounts of the zero PodResource are 0.
type PodResource item

func (r PodResource) amount(off uintptr) int64 {
	if r.at == nil {
		return 0
	}
	return item(r).i64(off)
}

// Name is the resource's name.
func (r PodResource) Name() ID {
	if r.at == nil {
		return 0
	}
	return item(r).id(abi.PodResourceName)
}

// Request is what the pod requests in all, overhead included.
func (r PodResource) Request() int64 { return r.amount(abi.PodResourceRequest) }

// NonZeroRequest is Request with the scheduler's minimum of cpu and memory for
// containers that request none.
func (r PodResource) NonZeroRequest() int64 { return r.amount(abi.PodResourceNonZeroRequest) }

// Limit is the pod's limit, 0 where it has none.
func (r PodResource) Limit() int64 { return r.amount(abi.PodResourceLimit) }

// Overhead is what the pod's runtime takes.
func (r PodResource) Overhead() int64 { return r.amount(abi.PodResourceOverhead) }

// ContainerKind says when a container runs.
type ContainerKind uint32

// Kinds of containers.
const (
	MainContainer    ContainerKind = abi.ContainerMain
	InitContainer    ContainerKind = abi.ContainerInit
	SidecarContainer ContainerKind = abi.ContainerSidecar
)

// Container is a container of a pod.
type Container item

// Name is the container's name.
func (c Container) Name() string { return item(c).str(abi.ContainerName) }

// Kind says when the container runs.
func (c Container) Kind() ContainerKind { return ContainerKind(item(c).u32(abi.ContainerKind)) }

// Image is the container's image.
func (c Container) Image() ID { return item(c).id(abi.ContainerImage) }

// Requests are the container's requests.
func (c Container) Requests() Quantities {
	return Quantities{inline[Quantity](item(c), abi.ContainerRequests, abi.QuantitySize)}
}

// Limits are the container's limits.
func (c Container) Limits() Quantities {
	return Quantities{inline[Quantity](item(c), abi.ContainerLimits, abi.QuantitySize)}
}

// Ports are the container's ports.
func (c Container) Ports() List[Port] {
	return inline[Port](item(c), abi.ContainerPorts, abi.PortSize)
}

// Image is an image of a pod.
type Image item

// Name is the image's name as the pod's spec has it.
func (i Image) Name() ID { return item(i).id(0) }

// Volume is a volume of a pod.
type Volume item

// Name is the volume's name.
func (v Volume) Name() string { return item(v).str(abi.VolumeName) }

// Claim is the name of the volume's persistent volume claim, empty where it has
// none.
func (v Volume) Claim() string { return item(v).str(abi.VolumeClaim) }

// Kind is the name of the volume's source, like persistentVolumeClaim.
func (v Volume) Kind() ID { return item(v).id(abi.VolumeKind) }

// Image is the reference of an image volume, 0 for another volume.
func (v Volume) Image() ID { return item(v).id(abi.VolumeImage) }

// Gate is a scheduling gate.
type Gate item

// Name is the gate's name.
func (g Gate) Name() ID { return item(g).id(0) }

// WhenUnsatisfiable says what a spread constraint that can't be met does.
type WhenUnsatisfiable uint32

// What a spread constraint that can't be met does.
const (
	DoNotSchedule  WhenUnsatisfiable = abi.SpreadDoNotSchedule
	ScheduleAnyway WhenUnsatisfiable = abi.SpreadScheduleAnyway
)

// SpreadConstraint is a topology spread constraint.
type SpreadConstraint item

// MaxSkew is how far the number of pods may differ.
func (s SpreadConstraint) MaxSkew() int32 { return item(s).i32(abi.SpreadMaxSkew) }

// TopologyKey is the node label whose values are the domains.
func (s SpreadConstraint) TopologyKey() ID { return item(s).id(abi.SpreadTopologyKey) }

// When says what happens if the constraint can't be met.
func (s SpreadConstraint) When() WhenUnsatisfiable {
	return WhenUnsatisfiable(item(s).u32(abi.SpreadWhen))
}

// MinDomains is the number of domains there should be.
func (s SpreadConstraint) MinDomains() int32 { return item(s).i32(abi.SpreadMinDomains) }

// HonorsNodeAffinity says whether nodes that the pod can't select don't count.
func (s SpreadConstraint) HonorsNodeAffinity() bool {
	return item(s).u32(abi.SpreadAffinityPolicy) == abi.SpreadHonor
}

// HonorsTaints says whether nodes that the pod doesn't tolerate don't count.
func (s SpreadConstraint) HonorsTaints() bool {
	return item(s).u32(abi.SpreadTaintsPolicy) == abi.SpreadHonor
}

// Selector says which pods count.
func (s SpreadConstraint) Selector() Selector { return selector(item(s), abi.SpreadSelector) }

// MatchLabelKeys are the label keys in which counted pods equal this one.
func (s SpreadConstraint) MatchLabelKeys() IDs { return item(s).ids(abi.SpreadLabelKeys) }
