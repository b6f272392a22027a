// SPDX-License-Identifier: Apache-2.0

package berthtest

import "github.com/berth-scheduler/berth/abi"

// record writes the pod's view record.
func (p *PodBuilder) record(mask uint32) *record {
	r := newRecord(abi.PodRecord, len(abi.PodSections), mask)
	r.one(abi.PodMeta, abi.PodMetaSize, func(at uint32) {
		r.id(at+abi.PodMetaNamespace, p.namespace)
		r.id(at+abi.PodMetaScheduler, p.scheduler)
		r.u32(at+abi.PodMetaPriority, uint32(p.priority))
		r.id(at+abi.PodMetaPriorityClass, p.class)
		r.u32(at+abi.PodMetaQoS, p.qos())
		r.u32(at+abi.PodMetaFlags, p.flags)
		r.id(at+abi.PodMetaRuntimeClass, p.runtimeClass)
		r.id(at+abi.PodMetaServiceAccount, p.account)
	})
	r.one(abi.PodIdentity, abi.PodIdentitySize, func(at uint32) {
		r.str(at+abi.PodIdentityName, p.name)
		r.str(at+abi.PodIdentityUID, p.uid)
		r.i64(at+abi.PodIdentityCreated, p.created)
		r.i64(at+abi.PodIdentityDeletion, p.deletion)
		r.str(at+abi.PodIdentityNominatedNode, p.nominatedNode)
		r.str(at+abi.PodIdentityNode, p.node)
	})
	r.pairs(abi.PodLabels, p.labels)
	r.annotations(abi.PodAnnotations, p.annotations)
	list(r, abi.PodOwners, abi.OwnerSize, p.owners, func(at uint32, o owner) {
		r.id(at+abi.OwnerAPIVersion, o.apiVersion)
		r.id(at+abi.OwnerKind, o.kind)
		r.str(at+abi.OwnerName, o.name)
		r.str(at+abi.OwnerUID, "uid-"+o.name)
		r.u32(at+abi.OwnerController, 1)
	})
	all := map[string]bool{"cpu": true, "memory": true}
	for _, m := range []map[string]int64{p.requests, p.limits} {
		for name := range m {
			all[name] = true
		}
	}
	list(r, abi.PodResources, abi.PodResourceSize, byID(all), func(at uint32, name string) {
		r.id(at+abi.PodResourceName, name)
		r.i64(at+abi.PodResourceRequest, p.requests[name])
		r.i64(at+abi.PodResourceNonZeroRequest, nonZero(p.requests, name))
		r.i64(at+abi.PodResourceLimit, p.limits[name])
	})
	list(r, abi.PodContainers, abi.ContainerStructSize, []string{"main"}, func(at uint32, name string) {
		r.str(at+abi.ContainerName, name)
		r.id(at+abi.ContainerImage, p.image)
		r.quantities(at+abi.ContainerRequests, p.requests)
		r.quantities(at+abi.ContainerLimits, p.limits)
		inline(r, at+abi.ContainerPorts, abi.PortSize, p.ports, r.port)
	})
	r.pairs(abi.PodNodeSelector, p.nodeSelector)
	p.affinity(r)
	list(r, abi.PodTolerations, abi.TolerationSize, p.tolerations, func(at uint32, t toleration) {
		r.id(at+abi.TolerationKey, t.key)
		r.u32(at+abi.TolerationOp, known("toleration operator", operators, t.op))
		r.id(at+abi.TolerationValue, t.value)
		r.u32(at+abi.TolerationEffect, known("toleration effect", effects, t.effect))
		r.i64(at+abi.TolerationSeconds, -1)
	})
	list(r, abi.PodPorts, abi.PortSize, p.ports, r.port)
	list(r, abi.PodImages, abi.ImageSize, []string{p.image}, r.id)
	list(r, abi.PodVolumes, abi.VolumeSize, p.volumes, func(at uint32, v volume) {
		r.str(at+abi.VolumeName, v.name)
		r.str(at+abi.VolumeClaim, v.claim)
		r.id(at+abi.VolumeKind, v.kind)
		r.id(at+abi.VolumeImage, v.image)
	})
	list(r, abi.PodGates, abi.GateSize, p.gates, r.id)
	var groups []string
	if p.group != "" {
		groups = append(groups, p.group)
	}
	list(r, abi.PodGroup, abi.GroupSize, groups, r.str)
	return r
}

// onNode writes the pod as one of a node's.
func (p *PodBuilder) onNode(r *record, at uint32) {
	r.id(at+abi.NodePodNamespace, p.namespace)
	r.str(at+abi.NodePodName, p.name)
	r.str(at+abi.NodePodUID, p.uid)
	r.u32(at+abi.NodePodPriority, uint32(p.priority))
	if len(p.owners) > 0 {
		r.id(at+abi.NodePodOwnerKind, p.owners[0].kind)
		r.str(at+abi.NodePodOwnerName, p.owners[0].name)
		r.str(at+abi.NodePodOwnerUID, "uid-"+p.owners[0].name)
	}
	r.i64(at+abi.NodePodStarted, p.started)
	r.i64(at+abi.NodePodDeletion, p.deletion)
	if p.deletion != 0 {
		r.u32(at+abi.NodePodFlags, abi.NodePodTerminating)
	}
	inline(r, at+abi.NodePodLabels, abi.PairSize, byID(p.labels), func(at uint32, k string) { r.pair(at, k, p.labels[k]) })
	r.quantities(at+abi.NodePodRequests, p.requests)
	r.quantities(at+abi.NodePodLimits, p.limits)
}
