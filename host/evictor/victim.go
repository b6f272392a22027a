// SPDX-License-Identifier: Apache-2.0

package evictor

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/berth-scheduler/berth/host/metrics"
)

// conflicts is how often an eviction is tried again because the pod changed
// under it; the kubelet may write its status at any time.
const conflicts = 3

// bindWait is how long a victim whose binding is beyond recall may take to be
// bound before it counts as gone.
const bindWait = 2 * time.Second

// How an eviction ended.
const (
	evicted   = iota // deleted, or being deleted already
	cancelled        // it never got to its node
	gone             // it isn't on the node any more
	failed
)

type outcome struct {
	how int
	err error
}

func (o outcome) String() string { return metrics.EvictionResults[o.how] }

// evict makes one victim leave: one that waits in Permit or is on its way to be
// bound in memory, others by deleting them.
func (e *Evictor) evict(ctx context.Context, p *Preemption, v Victim) outcome {
	uid := v.Pod.UID
	o := outcome{how: cancelled}
	const why = "preempted by a pod of higher priority"
	if w := p.Handle.GetWaitingPod(uid); w != nil && w.Preempt(pluginName, why) {
		e.say(p, v, " (it was waiting to be bound)")
	} else if b := p.Handle.GetPodInPreBind(uid); b != nil && b.CancelPod(why) {
		e.say(p, v, " (it was about to be bound)")
	} else if o = e.remove(ctx, p, v); o.how == evicted && v.Pod.DeletionTimestamp == nil {
		e.say(p, v, "")
	}
	p.Logger.V(2).Info("Victim", "policy", p.Policy, "pod", klog.KObj(v.Pod), "node", v.Node, "preemptor", p.UID, "result", o.String(), "err", o.err)
	return o
}

// pluginName is what the framework knows the host's plugin by.
const pluginName = "Berth"

// say writes the victim's event. It tells the preemptor's UID only: who may read
// the victim's events need not know of pods in other namespaces.
func (e *Evictor) say(p *Preemption, v Victim, how string) {
	if v.Violates != "" {
		how += ", in violation of PodDisruptionBudget " + v.Violates
	}
	p.Handle.EventRecorder().Eventf(v.Pod, p.Object, v1.EventTypeNormal, "Preempted", "Preempting", "Preempted by policy %s for %s %s on node %s%s", p.Policy, p.Kind, p.UID, v.Node, how)
}

// remove deletes a victim, but only the very pod that was chosen, on the node
// where it was seen, in the version that carries the condition.
func (e *Evictor) remove(ctx context.Context, p *Preemption, v Victim) outcome {
	api := p.Handle.ClientSet().CoreV1().Pods(v.Pod.Namespace)
	pod, err := p.Handle.SharedInformerFactory().Core().V1().Pods().Lister().Pods(v.Pod.Namespace).Get(v.Pod.Name)
	if err == nil && pod.UID == v.Pod.UID && pod.Spec.NodeName == "" {
		pod, err = awaitBound(ctx, p, v)
	}
	for try := 0; ; try++ {
		switch {
		case apierrors.IsNotFound(err), err == nil && (pod.UID != v.Pod.UID || pod.Spec.NodeName != v.Node):
			return outcome{how: gone}
		case err != nil:
			return outcome{failed, err}
		case pod.DeletionTimestamp != nil:
			return outcome{how: evicted}
		}
		var marked *v1.Pod
		if marked, err = mark(ctx, p, pod); err == nil {
			err = api.Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: preconditions(marked)})
		}
		switch {
		case err == nil:
			return outcome{how: evicted}
		case apierrors.IsNotFound(err):
		case apierrors.IsConflict(err) && try < conflicts:
			pod, err = api.Get(ctx, v.Pod.Name, metav1.GetOptions{})
		default:
			return outcome{failed, err}
		}
	}
}

// preconditions let only this version of this pod be deleted.
func preconditions(pod *v1.Pod) *metav1.Preconditions {
	p := &metav1.Preconditions{UID: &pod.UID}
	if pod.ResourceVersion != "" {
		p.ResourceVersion = &pod.ResourceVersion
	}
	return p
}

// awaitBound waits until a victim that can't be called back is on its node. One
// that is being forgotten never gets there.
func awaitBound(ctx context.Context, p *Preemption, v Victim) (pod *v1.Pod, err error) {
	since := time.Now()
	_ = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		pod, err = p.Handle.ClientSet().CoreV1().Pods(v.Pod.Namespace).Get(ctx, v.Pod.Name, metav1.GetOptions{})
		if p.Handle.GetPodInPreBind(v.Pod.UID) != nil {
			since = time.Now()
		}
		return err != nil || pod.Spec.NodeName != "" || time.Since(since) > bindWait, nil
	})
	if pod == nil && err == nil {
		err = ctx.Err()
	}
	return pod, err
}

// mark gives a pod the condition that says why it is disrupted. The patch holds
// the UID: another pod of the same name is a conflict.
func mark(ctx context.Context, p *Preemption, pod *v1.Pod) (*v1.Pod, error) {
	c := v1.PodCondition{
		Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonPreemptionByScheduler,
		Message:            Message(p.Pods[0].Spec.SchedulerName, p.Policy, p.Kind, p.UID),
		LastTransitionTime: metav1.Now(), ObservedGeneration: pod.Generation,
	}
	for _, old := range pod.Status.Conditions {
		if old.Type == c.Type && old.Status == c.Status && old.Reason == c.Reason && old.Message == c.Message {
			return pod, nil // an eviction before this one didn't get further
		}
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status":   map[string]any{"conditions": []v1.PodCondition{c}},
	})
	if err != nil {
		return nil, err
	}
	return p.Handle.ClientSet().CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
}

// Message is the message of a victim's condition. It ends with the preemptor's
// UID, so that the host knows its victims again after a restart.
func Message(scheduler, policy, kind string, uid types.UID) string {
	return fmt.Sprintf("%s: policy %s preempts it to accommodate %s %s", scheduler, policy, kind, uid)
}
