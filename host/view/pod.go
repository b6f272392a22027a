// SPDX-License-Identifier: Apache-2.0

package view

import (
	v1 "k8s.io/api/core/v1"
	podresource "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"

	"github.com/berth-scheduler/berth/abi"
)

func (e *Encoder) podSections(pod *v1.Pod) {
	e.podMeta(pod)
	spec := &pod.Spec
	for i := range abi.PodSections {
		index := abi.PodSections[i].Index
		if e.pod&(1<<index) == 0 {
			continue
		}
		switch index {
		case abi.PodLabels:
			e.pairSection(index, pod.Labels)
		case abi.PodAnnotations:
			e.annotationSection(index, pod.Annotations)
		case abi.PodOwners:
			e.podOwners(pod)
		case abi.PodResources:
			e.podResources(pod)
		case abi.PodContainers:
			e.podContainers(spec)
		case abi.PodNodeSelector:
			e.pairSection(index, spec.NodeSelector)
		case abi.PodNodeAffinity:
			e.podNodeAffinity(spec.Affinity)
		case abi.PodPodAffinity:
			e.podPodAffinity(pod)
		case abi.PodTolerations:
			e.podTolerations(spec.Tolerations)
		case abi.PodSpread:
			e.podSpread(spec.TopologySpreadConstraints)
		case abi.PodPorts:
			e.podPorts(spec)
		case abi.PodImages:
			e.podImages(spec)
		case abi.PodVolumes:
			e.podVolumes(pod)
		case abi.PodGates:
			off := e.listSection(index, len(spec.SchedulingGates), abi.GateSize)
			for i := range spec.SchedulingGates {
				e.w.u32(off+uint32(i)*abi.GateSize, e.id(spec.SchedulingGates[i].Name))
			}
		case abi.PodGroup:
			e.podGroup(spec.SchedulingGroup)
		case abi.PodIdentity:
			e.podIdentity(pod)
		}
	}
}

func (e *Encoder) podMeta(pod *v1.Pod) {
	off := e.section(abi.PodMeta, abi.PodMetaSize)
	e.w.u32(off+abi.PodMetaNamespace, e.id(pod.Namespace))
	e.w.u32(off+abi.PodMetaScheduler, e.id(pod.Spec.SchedulerName))
	e.w.i32(off+abi.PodMetaPriority, priority(pod))
	e.w.u32(off+abi.PodMetaPriorityClass, e.id(pod.Spec.PriorityClassName))
	switch qos.GetPodQOS(pod) {
	case v1.PodQOSGuaranteed:
		e.w.u32(off+abi.PodMetaQoS, abi.QoSGuaranteed)
	case v1.PodQOSBurstable:
		e.w.u32(off+abi.PodMetaQoS, abi.QoSBurstable)
	}
	var flags uint32
	if pod.Spec.HostNetwork {
		flags |= abi.PodHostNetwork
	}
	if p := pod.Spec.PreemptionPolicy; p != nil && *p == v1.PreemptNever {
		flags |= abi.PodNeverPreempt
	}
	if podresource.IsPodLevelRequestsSet(pod) {
		flags |= abi.PodOwnRequests
	}
	e.w.u32(off+abi.PodMetaFlags, flags)
	if c := pod.Spec.RuntimeClassName; c != nil {
		e.w.u32(off+abi.PodMetaRuntimeClass, e.id(*c))
	}
	e.w.u32(off+abi.PodMetaServiceAccount, e.id(pod.Spec.ServiceAccountName))
}

func (e *Encoder) podIdentity(pod *v1.Pod) {
	off := e.section(abi.PodIdentity, abi.PodIdentitySize)
	e.w.text(off+abi.PodIdentityName, pod.Name)
	e.w.text(off+abi.PodIdentityUID, string(pod.UID))
	e.w.i64(off+abi.PodIdentityCreated, seconds(&pod.CreationTimestamp))
	e.w.i64(off+abi.PodIdentityDeletion, seconds(pod.DeletionTimestamp))
	e.w.text(off+abi.PodIdentityNominatedNode, pod.Status.NominatedNodeName)
	e.w.text(off+abi.PodIdentityNode, pod.Spec.NodeName)
}

func (e *Encoder) podOwners(pod *v1.Pod) {
	off := e.listSection(abi.PodOwners, len(pod.OwnerReferences), abi.OwnerSize)
	for i := range pod.OwnerReferences {
		o := &pod.OwnerReferences[i]
		e.w.u32(off+abi.OwnerAPIVersion, e.id(o.APIVersion))
		e.w.u32(off+abi.OwnerKind, e.id(o.Kind))
		e.w.text(off+abi.OwnerName, o.Name)
		e.w.text(off+abi.OwnerUID, string(o.UID))
		if o.Controller != nil && *o.Controller {
			e.w.u32(off+abi.OwnerController, 1)
		}
		off += abi.OwnerSize
	}
}

func (e *Encoder) podContainers(spec *v1.PodSpec) {
	off := e.listSection(abi.PodContainers, len(spec.InitContainers)+len(spec.Containers), abi.ContainerStructSize)
	put := func(c *v1.Container, kind uint32) {
		e.w.text(off+abi.ContainerName, c.Name)
		e.w.u32(off+abi.ContainerKind, kind)
		e.w.u32(off+abi.ContainerImage, e.id(c.Image))
		e.addList(0, c.Resources.Requests, nil, true)
		e.quantityList(off + abi.ContainerRequests)
		e.addList(0, c.Resources.Limits, nil, true)
		e.quantityList(off + abi.ContainerLimits)
		e.putPorts(e.w.list(off+abi.ContainerPorts, len(c.Ports), abi.PortSize), c.Ports)
		off += abi.ContainerStructSize
	}
	for i := range spec.InitContainers {
		kind := uint32(abi.ContainerInit)
		if sidecar(&spec.InitContainers[i]) {
			kind = abi.ContainerSidecar
		}
		put(&spec.InitContainers[i], kind)
	}
	for i := range spec.Containers {
		put(&spec.Containers[i], abi.ContainerMain)
	}
}

// sidecar says whether an init container runs as long as its pod.
func sidecar(c *v1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
}

// podPorts writes the ports that are open while the pod runs: those that the
// scheduler's NodePorts looks at and, with them, those without a host port.
func (e *Encoder) podPorts(spec *v1.PodSpec) {
	n := 0
	for i := range spec.InitContainers {
		if sidecar(&spec.InitContainers[i]) {
			n += len(spec.InitContainers[i].Ports)
		}
	}
	for i := range spec.Containers {
		n += len(spec.Containers[i].Ports)
	}
	off := e.listSection(abi.PodPorts, n, abi.PortSize)
	for i := range spec.InitContainers {
		if sidecar(&spec.InitContainers[i]) {
			off = e.putPorts(off, spec.InitContainers[i].Ports)
		}
	}
	for i := range spec.Containers {
		off = e.putPorts(off, spec.Containers[i].Ports)
	}
}

// putPorts writes ports from off on and returns the offset behind them.
func (e *Encoder) putPorts(off uint32, ports []v1.ContainerPort) uint32 {
	for i := range ports {
		p := &ports[i]
		ip, protocol := p.HostIP, string(p.Protocol)
		if ip == "" { // both as in the scheduler's HostPortInfo
			ip = "0.0.0.0"
		}
		if protocol == "" {
			protocol = string(v1.ProtocolTCP)
		}
		e.w.u32(off+abi.PortIP, e.id(ip))
		e.w.u32(off+abi.PortProtocol, e.id(protocol))
		e.w.i32(off+abi.PortHost, p.HostPort)
		e.w.i32(off+abi.PortContainer, p.ContainerPort)
		off += abi.PortSize
	}
	return off
}

func (e *Encoder) podImages(spec *v1.PodSpec) {
	off := e.listSection(abi.PodImages, len(spec.InitContainers)+len(spec.Containers), abi.ImageSize)
	for _, list := range [][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			e.w.u32(off, e.id(list[i].Image))
			off += abi.ImageSize
		}
	}
}

func (e *Encoder) podVolumes(pod *v1.Pod) {
	volumes := pod.Spec.Volumes
	off := e.listSection(abi.PodVolumes, len(volumes), abi.VolumeSize)
	for i := range volumes {
		v := &volumes[i]
		e.w.text(off+abi.VolumeName, v.Name)
		switch {
		case v.PersistentVolumeClaim != nil:
			e.w.text(off+abi.VolumeClaim, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			e.w.text(off+abi.VolumeClaim, ephemeral.VolumeClaimName(pod, v))
		}
		e.w.u32(off+abi.VolumeKind, e.id(volumeKind(&v.VolumeSource)))
		if v.Image != nil {
			e.w.u32(off+abi.VolumeImage, e.id(v.Image.Reference))
		}
		off += abi.VolumeSize
	}
}

// podGroup writes the section of a pod's group, with at most one entry.
func (e *Encoder) podGroup(g *v1.PodSchedulingGroup) {
	if g == nil || g.PodGroupName == nil {
		e.listSection(abi.PodGroup, 0, abi.GroupSize)
		return
	}
	e.w.text(e.listSection(abi.PodGroup, 1, abi.GroupSize), *g.PodGroupName)
}
