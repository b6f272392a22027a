// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
)

func (e *Encoder) nodeSections(ni fwk.NodeInfo) {
	node := ni.Node()
	e.nodeMeta(node)
	for i := range abi.NodeSections {
		index := abi.NodeSections[i].Index
		if e.node&(1<<index) == 0 {
			continue
		}
		switch index {
		case abi.NodeLabels:
			e.pairSection(index, node.Labels)
		case abi.NodeAnnotations:
			e.annotationSection(index, node.Annotations)
		case abi.NodeTaints:
			e.nodeTaints(node.Spec.Taints)
		case abi.NodeConditions:
			e.nodeConditions(node.Status.Conditions)
		case abi.NodeResources:
			e.nodeResources(ni)
		case abi.NodePorts:
			e.nodePorts(ni.GetUsedPorts())
		case abi.NodeImages:
			e.nodeImages(ni.GetImageStates())
		case abi.NodePods:
			e.nodePods(ni.GetPods())
		case abi.NodePVCs:
			e.nodePVCs(ni.GetPVCRefCounts())
		case abi.NodeFeatures:
			e.nodeFeatures(node.Status.DeclaredFeatures)
		case abi.NodePodAffinity:
			e.nodePodAffinity(ni.GetPods())
		}
	}
}

func (e *Encoder) nodeMeta(node *v1.Node) {
	off := e.section(abi.NodeMeta, abi.NodeMetaSize)
	e.w.text(off+abi.NodeMetaName, node.Name)
	e.w.text(off+abi.NodeMetaUID, string(node.UID))
	e.w.i64(off+abi.NodeMetaCreated, seconds(&node.CreationTimestamp))
	if node.Spec.Unschedulable {
		e.w.u32(off+abi.NodeMetaUnschedulable, 1)
	}
}

func (e *Encoder) nodeTaints(taints []v1.Taint) {
	off := e.listSection(abi.NodeTaints, len(taints), abi.TaintSize)
	for i := range taints {
		t := &taints[i]
		e.w.u32(off+abi.TaintKey, e.id(t.Key))
		e.w.u32(off+abi.TaintValue, e.id(t.Value))
		e.w.u32(off+abi.TaintEffect, effect(t.Effect))
		e.w.i64(off+abi.TaintAdded, seconds(t.TimeAdded))
		off += abi.TaintSize
	}
}

func effect(t v1.TaintEffect) uint32 {
	switch t {
	case v1.TaintEffectNoSchedule:
		return abi.EffectNoSchedule
	case v1.TaintEffectPreferNoSchedule:
		return abi.EffectPreferNoSchedule
	case v1.TaintEffectNoExecute:
		return abi.EffectNoExecute
	}
	return abi.EffectAny
}

func (e *Encoder) nodeConditions(list []v1.NodeCondition) {
	off := e.listSection(abi.NodeConditions, len(list), abi.ConditionSize)
	for i := range list {
		c := &list[i]
		e.w.u32(off+abi.ConditionType, e.id(string(c.Type)))
		switch c.Status {
		case v1.ConditionTrue:
			e.w.u32(off+abi.ConditionStatus, abi.ConditionTrue)
		case v1.ConditionFalse:
			e.w.u32(off+abi.ConditionStatus, abi.ConditionFalse)
		}
		e.w.u32(off+abi.ConditionReason, e.id(c.Reason))
		e.w.i64(off+abi.ConditionTransition, seconds(&c.LastTransitionTime))
		off += abi.ConditionSize
	}
}

// hostPort is a port in use on a node.
type hostPort struct {
	ip, protocol     string
	ipID, protocolID uint32
	port             int32
}

func (e *Encoder) nodePorts(used fwk.HostPortInfo) {
	ports := e.ports[:0]
	for ip, list := range used {
		for p := range list {
			ports = append(ports, hostPort{ip: ip, protocol: p.Protocol, port: p.Port})
		}
	}
	e.ports = ports
	slices.SortFunc(ports, func(a, b hostPort) int {
		return cmp.Or(cmp.Compare(a.port, b.port), cmp.Compare(a.protocol, b.protocol), cmp.Compare(a.ip, b.ip))
	})
	for i := range ports {
		ports[i].ipID, ports[i].protocolID = e.id(ports[i].ip), e.id(ports[i].protocol)
	}
	slices.SortFunc(ports, func(a, b hostPort) int {
		return cmp.Or(cmp.Compare(a.port, b.port), cmp.Compare(a.protocolID, b.protocolID), cmp.Compare(a.ipID, b.ipID))
	})
	off := e.listSection(abi.NodePorts, len(ports), abi.PortSize)
	for i := range ports {
		e.w.u32(off+abi.PortIP, ports[i].ipID)
		e.w.u32(off+abi.PortProtocol, ports[i].protocolID)
		e.w.i32(off+abi.PortHost, ports[i].port)
		off += abi.PortSize
	}
}

// image is one name of an image on a node.
type image struct {
	name  string
	id    uint32
	nodes uint32
	bytes int64
}

func (e *Encoder) nodeImages(states map[string]*fwk.ImageStateSummary) {
	list, known := e.images[:0], true
	e.strings.RLock()
	for name, s := range states {
		if s == nil {
			continue
		}
		id, ok := e.strings.Known(name)
		known = known && ok
		list = append(list, image{name, id, uint32(s.NumNodes), s.Size})
	}
	e.strings.RUnlock()
	e.images = list
	if !known { // interned in the order of their names, as in sorted
		slices.SortFunc(list, func(a, b image) int { return cmp.Compare(a.name, b.name) })
		for i := range list {
			list[i].id = e.id(list[i].name)
		}
	}
	slices.SortFunc(list, func(a, b image) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.name, b.name)) })
	off := e.listSection(abi.NodeImages, len(list), abi.NodeImageSize)
	for i := range list {
		e.w.u32(off+abi.NodeImageName, list[i].id)
		e.w.u32(off+abi.NodeImageNodes, list[i].nodes)
		e.w.i64(off+abi.NodeImageBytes, list[i].bytes)
		off += abi.NodeImageSize
	}
}

func (e *Encoder) nodePods(pods []fwk.PodInfo) {
	off := e.listSection(abi.NodePods, len(pods), abi.NodePodStructSize)
	for _, pi := range pods {
		e.nodePod(off, pi)
		off += abi.NodePodStructSize
		if len(e.w.b)-e.w.base > MaxRecordBytes {
			return // record says so
		}
	}
}

func (e *Encoder) nodePod(off uint32, pi fwk.PodInfo) {
	pod := pi.GetPod()
	e.w.u32(off+abi.NodePodNamespace, e.id(pod.Namespace))
	if pod.DeletionTimestamp != nil {
		e.w.u32(off+abi.NodePodFlags, abi.NodePodTerminating)
	}
	e.w.text(off+abi.NodePodName, pod.Name)
	e.w.text(off+abi.NodePodUID, string(pod.UID))
	e.w.i32(off+abi.NodePodPriority, priority(pod))
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		e.w.u32(off+abi.NodePodOwnerKind, e.id(owner.Kind))
		e.w.text(off+abi.NodePodOwnerName, owner.Name)
		e.w.text(off+abi.NodePodOwnerUID, string(owner.UID))
	}
	e.w.i64(off+abi.NodePodStarted, seconds(pod.Status.StartTime))
	e.w.i64(off+abi.NodePodDeletion, seconds(pod.DeletionTimestamp))
	e.pairList(off+abi.NodePodLabels, pod.Labels)

	total := pi.CalculateResource().Resource // cached since the node info counted it
	e.addCounted(0, total, false)
	e.quantityList(off + abi.NodePodRequests)
	e.addLimits(0, pod, total)
	e.quantityList(off + abi.NodePodLimits)
}

func (e *Encoder) nodePVCs(counts map[string]int) {
	names := e.names[:0]
	for name := range counts {
		names = append(names, name)
	}
	e.names = names
	slices.Sort(names)
	off := e.listSection(abi.NodePVCs, len(names), abi.NodePVCSize)
	for _, name := range names {
		e.w.text(off+abi.NodePVCName, name)
		e.w.u32(off+abi.NodePVCCount, uint32(counts[name]))
		off += abi.NodePVCSize
	}
}

func (e *Encoder) nodeFeatures(features []string) {
	ids := e.idents[:0]
	for _, f := range features {
		ids = append(ids, e.id(f))
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	e.idents = ids
	off := e.listSection(abi.NodeFeatures, len(ids), abi.FeatureSize)
	for _, id := range ids {
		e.w.u32(off, id)
		off += abi.FeatureSize
	}
}

func priority(pod *v1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}
