// SPDX-License-Identifier: Apache-2.0

package host

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/policy"
)

// makesRoom says whether next may help pods that old left to others: one that
// gains post_filter. What it would do concerns all that wait, whoever turned them
// down.
func makesRoom(old, next *version) bool {
	return next != nil && next.points[abi.PostFilter] && (old == nil || !old.points[abi.PostFilter])
}

// pending are the pods without a node that match a policy.
func (h *Host) pending(p *policy.Policy) []*v1.Pod {
	factory := h.first.handle.SharedInformerFactory()
	if factory == nil {
		return nil
	}
	all, err := factory.Core().V1().Pods().Lister().List(labels.Everything())
	if err != nil {
		return nil // the lister reads memory: there is nothing to say
	}
	var pods []*v1.Pod
	for _, pod := range all {
		if pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && p.Matches(pod.Spec.SchedulerName, pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}
