// SPDX-License-Identifier: Apache-2.0

package evictor

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"
)

// clearNominations takes back the nominations of pods of lower priority to the
// nodes where a pod is nominated or loses a victim: they may not fit any more,
// and find another place sooner than by waiting.
func clearNominations(ctx context.Context, p *Preemption) error {
	nodes := slices.Clone(p.Nodes)
	for _, v := range p.Victims {
		nodes = append(nodes, v.Node)
	}
	slices.Sort(nodes)
	var errs []error
	for _, node := range slices.Compact(nodes) {
		for _, info := range p.Handle.NominatedPodsForNode(node) {
			pod := info.GetPod()
			if corev1.PodPriority(pod) >= p.Priority || p.isFor(pod.UID) {
				continue
			}
			if err := clearNomination(ctx, p.Handle, pod); err != nil && !apierrors.IsNotFound(err) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// isFor says whether a pod is one of those that need the room.
func (p *Preemption) isFor(uid types.UID) bool {
	return slices.ContainsFunc(p.Pods, func(pod *v1.Pod) bool { return pod.UID == uid })
}

func clearNomination(ctx context.Context, h fwk.Handle, pod *v1.Pod) error {
	if cacher := h.APICacher(); cacher != nil {
		_, err := cacher.PatchPodStatus(pod, nil, &fwk.NominatingInfo{NominatingMode: fwk.ModeOverride})
		return err
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status":   map[string]any{"nominatedNodeName": nil},
	})
	if err != nil {
		return err
	}
	_, err = h.ClientSet().CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}
