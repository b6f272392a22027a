// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// KubeletOptions configures the simulated kubelet.
type KubeletOptions struct {
	// Heartbeat is the time between two renewals of every node's conditions.
	// Zero means never: nothing in the lab minds an old heartbeat.
	Heartbeat time.Duration
}

// kubeletWorkers is how many pods are served at once.
const kubeletWorkers = 8

// StartKubelet runs the simulated kubelet until the cluster stops.
func (c *Cluster) StartKubelet(opts KubeletOptions) error {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- RunKubelet(ctx, c.Client, opts) }()
	stop := func() error { cancel(); return <-ended }
	if !c.onStop(stop) {
		return errors.Join(errStopped, stop())
	}
	return nil
}

// RunKubelet stands in for the kubelets of all nodes until ctx ends: a bound
// pod becomes Running and ready at once, and a pod that is being deleted is
// gone at once, whatever its grace period. It starts no container.
func RunKubelet(ctx context.Context, client kubernetes.Interface, opts KubeletOptions) error {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
	}))
	pods := factory.Core().V1().Pods()
	k := &kubelet{
		client: client,
		pods:   pods.Lister(),
		queue:  workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]()),
	}
	if _, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    k.enqueue,
		UpdateFunc: func(_, pod any) { k.enqueue(pod) },
	}); err != nil {
		return fmt.Errorf("kubelet: %w", err)
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()

	var workers sync.WaitGroup
	for range kubeletWorkers {
		workers.Go(func() { k.work(ctx) })
	}
	if opts.Heartbeat > 0 {
		workers.Go(func() { wait.UntilWithContext(ctx, k.heartbeat, opts.Heartbeat) })
	}
	<-ctx.Done()
	k.queue.ShutDown()
	workers.Wait()
	return nil
}

type kubelet struct {
	client kubernetes.Interface
	pods   corelisters.PodLister
	queue  workqueue.TypedRateLimitingInterface[types.NamespacedName]
}

func (k *kubelet) enqueue(obj any) {
	pod := obj.(*corev1.Pod)
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodPending {
		k.queue.Add(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
	}
}

func (k *kubelet) work(ctx context.Context) {
	for {
		key, shutdown := k.queue.Get()
		if shutdown {
			return
		}
		if err := k.sync(ctx, key); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Simulated kubelet, will retry", "pod", key)
			k.queue.AddRateLimited(key)
		} else {
			k.queue.Forget(key)
		}
		k.queue.Done(key)
	}
}

// sync brings one pod to where it wants to be. Both requests name the UID: a
// pod that was deleted and made again under its name is another pod.
func (k *kubelet) sync(ctx context.Context, key types.NamespacedName) error {
	pod, err := k.pods.Pods(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case pod.DeletionTimestamp != nil:
		var now int64
		err = k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: &now,
			Preconditions:      metav1.NewUIDPreconditions(string(pod.UID)),
		})
	case pod.Status.Phase == corev1.PodPending:
		var patch []byte
		if patch, err = json.Marshal(map[string]any{
			"metadata": map[string]any{"uid": pod.UID},
			"status":   runningStatus(pod),
		}); err != nil {
			return err
		}
		_, err = k.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // gone, or another pod whose own event follows
	}
	return err
}

func runningStatus(pod *corev1.Pod) corev1.PodStatus {
	now := metav1.Now()
	status := corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &now}
	for _, t := range []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{
			Type: t, Status: corev1.ConditionTrue, LastTransitionTime: now,
		})
	}
	started := true
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: true, Started: &started,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	return status
}

// heartbeat renews every node's conditions, keeping those that aren't the
// lab's and the status of those that a test has changed.
func (k *kubelet) heartbeat(ctx context.Context) {
	nodes, err := k.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err == nil {
		now := metav1.Now()
		err = inParallel(ctx, len(nodes.Items), func(i int) error {
			node := &nodes.Items[i]
			for j := range node.Status.Conditions {
				node.Status.Conditions[j].LastHeartbeatTime = now
			}
			_, err := k.client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
			if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
				return nil // the next heartbeat sees the node as it is then
			}
			return err
		})
	}
	if err != nil && ctx.Err() == nil {
		klog.ErrorS(err, "Simulated kubelet, renew node conditions")
	}
}
