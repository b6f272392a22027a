// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
)

// eventSections says which sections of a policy's reads an event can change.
// A policy that reads none of them isn't helped by the event. nil: the event
// may help any policy.
var eventSections = []struct {
	resource fwk.EventResource
	action   fwk.ActionType
	sections []string
}{
	{fwk.Node, fwk.Add, nil},
	{fwk.Node, fwk.UpdateNodeLabel, names(abi.NodeSections, abi.NodeLabels)},
	{fwk.Node, fwk.UpdateNodeTaint, names(abi.NodeSections, abi.NodeMeta, abi.NodeTaints)},
	{fwk.Node, fwk.UpdateNodeAllocatable, names(abi.NodeSections, abi.NodeResources)},
	{fwk.Node, fwk.UpdateNodeCondition, names(abi.NodeSections, abi.NodeConditions)},
	{fwk.Node, fwk.UpdateNodeAnnotation, names(abi.NodeSections, abi.NodeAnnotations)},
	{fwk.Node, fwk.UpdateNodeDeclaredFeature, names(abi.NodeSections, abi.NodeFeatures)},
	{fwk.AssignedPod, fwk.Add, names(abi.NodeSections, abi.NodePods)},
	{fwk.AssignedPod, fwk.Delete, names(abi.NodeSections, abi.NodePods, abi.NodeResources, abi.NodePorts, abi.NodePVCs)},
	{fwk.AssignedPod, fwk.UpdatePodLabel, names(abi.NodeSections, abi.NodePods)},
	{fwk.AssignedPod, fwk.UpdatePodScaleDown, names(abi.NodeSections, abi.NodePods, abi.NodeResources)},
	{fwk.TargetPod, fwk.UpdatePodLabel, names(abi.PodSections, abi.PodLabels)},
	{fwk.TargetPod, fwk.UpdatePodScaleDown, names(abi.PodSections, abi.PodResources, abi.PodContainers)},
	{fwk.TargetPod, fwk.UpdatePodToleration, names(abi.PodSections, abi.PodTolerations)},
	{fwk.TargetPod, fwk.UpdatePodSchedulingGatesEliminated, names(abi.PodSections, abi.PodGates)},
}

func names(table []abi.Section, indices ...int) []string {
	out := make([]string, len(indices))
	for i, x := range indices {
		out[i] = table[x].Name
	}
	return out
}

// EventsToRegister lists the events that may help a pod which a policy turned
// down. The list is fixed at start, so it holds what any policy may read.
// General updates of pods are left out unless podUpdateEvents is set: with
// them every kubelet status update would walk all unschedulable pods.
func (b *Berth) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	events := make([]fwk.ClusterEventWithHint, 0, len(eventSections)+1)
	for _, e := range eventSections {
		events = append(events, fwk.ClusterEventWithHint{
			Event:          fwk.ClusterEvent{Resource: e.resource, ActionType: e.action},
			QueueingHintFn: b.hint(e.sections),
		})
	}
	if b.host.args.PodUpdateEvents {
		events = append(events, fwk.ClusterEventWithHint{
			Event:          fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Update},
			QueueingHintFn: b.hint(nil),
		})
	}
	return events, nil
}

// hint answers for one kind of event: Queue if any policy that turned the pod
// down reads what the event may have changed. A label change of the pod itself
// may also change which policies match. A policy that isn't the one that decides
// any more has its pods activated by the swap.
func (b *Berth) hint(sections []string) fwk.QueueingHintFn {
	own := len(sections) > 0 && sections[0] == abi.PodSections[abi.PodLabels].Name
	return func(_ klog.Logger, pod *v1.Pod, _, _ any) (fwk.QueueingHint, error) {
		by := b.host.rejections.by(pod.UID)
		if sections == nil || own || len(by) == 0 {
			return fwk.Queue, nil
		}
		for _, e := range by {
			if e.version == nil {
				continue // recovery activates its pods
			}
			for _, s := range sections {
				if e.version.reads[s] || s == abi.NodeSections[abi.NodeMeta].Name {
					return fwk.Queue, nil
				}
			}
		}
		return fwk.QueueSkip, nil
	}
}
