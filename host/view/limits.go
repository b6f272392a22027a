// SPDX-License-Identifier: Apache-2.0

package view

import (
	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	resourcehelper "k8s.io/component-helpers/resource"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
)

// addLimits adds the limits of a whole pod, of the resources that the scheduler
// counts. Upstream's PodLimits makes half a dozen maps a call, which for a node
// of a hundred pods took 1 ms; most pods need none of what it can do.
func (e *Encoder) addLimits(column int, pod *v1.Pod, counted fwk.Resource) {
	start := len(e.amounts)
	if !e.addPlainLimits(column, pod, counted) {
		e.amounts = e.amounts[:start]
		e.addList(column, podLimits(pod), counted, false)
	}
}

// podLimits is the limits of a whole pod, under the feature gates that the
// scheduler counts requests under (PodInfo.CalculateResource).
func podLimits(pod *v1.Pod) v1.ResourceList {
	gates := utilfeature.DefaultFeatureGate
	return resourcehelper.PodLimits(pod, resourcehelper.PodResourcesOptions{
		UseStatusResources: gates.Enabled(features.InPlacePodVerticalScaling),
		InPlacePodLevelResourcesVerticalScalingEnabled: gates.Enabled(features.InPlacePodLevelResourcesVerticalScaling),
		SkipPodLevelResources:                          !gates.Enabled(features.PodLevelResources),
		UseDRANodeAllocatableResourceClaimStatus:       gates.Enabled(features.DRANodeAllocatableResources),
	})
}

// addPlainLimits adds up the containers' limits, and is false for a pod where
// the whole's limits are more than that sum or the sum isn't exact.
func (e *Encoder) addPlainLimits(column int, pod *v1.Pod, counted fwk.Resource) bool {
	const maxNames, maxContainers = 8, 64 // what a linear search and exact stand
	spec, status := &pod.Spec, &pod.Status
	if len(spec.InitContainers) > 0 || len(spec.Overhead) > 0 || spec.Resources != nil || len(spec.Containers) > maxContainers ||
		status.Resources != nil || len(status.InitContainerStatuses) > 0 || len(status.NodeAllocatableResourceClaimStatuses) > 0 || resized(pod) {
		return false
	}
	start := len(e.amounts)
	for i := range spec.Containers {
		for name, q := range spec.Containers[i].Resources.Limits {
			v, ok := exact(name, &q)
			if !ok || len(e.amounts) == start+maxNames {
				return false
			}
			if countable(name, counted) {
				e.sum(start, column, name, v)
			}
		}
	}
	return true
}

// sum adds v to the amount of name among those from start on.
func (e *Encoder) sum(start, column int, name v1.ResourceName, v int64) {
	for i := start; i < len(e.amounts); i++ {
		if e.amounts[i].name == string(name) {
			e.amounts[i].value += v
			return
		}
	}
	e.add(column, name, v, false)
}

// resized says whether the limits in effect may not be those of the spec. A
// kubelet reports them for every running container, mostly the same.
func resized(pod *v1.Pod) bool {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == v1.PodResizePending {
			return true
		}
	}
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		if s.Resources == nil {
			continue
		}
		for j := range pod.Spec.Containers {
			if c := &pod.Spec.Containers[j]; c.Name == s.Name && !within(s.Resources.Limits, c.Resources.Limits) {
				return true
			}
		}
	}
	return false
}

// within says whether every quantity of a is in b.
func within(a, b v1.ResourceList) bool {
	for name, q := range a {
		if p, ok := b[name]; !ok || q.Cmp(p) != 0 {
			return false
		}
	}
	return true
}
