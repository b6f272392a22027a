// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/host/evictor"
)

// evicting is a framework's handle for an evictor without a scheduler. Its
// informers hold what a test puts there, however old.
type evicting struct {
	fwk.Handle
	informers informers.SharedInformerFactory
	recorder  *events.FakeRecorder
}

func (h *evicting) ClientSet() kubernetes.Interface                        { return cluster.Client }
func (h *evicting) SharedInformerFactory() informers.SharedInformerFactory { return h.informers }
func (h *evicting) EventRecorder() events.EventRecorderLogger              { return h.recorder }
func (h *evicting) APICacher() fwk.APICacher                               { return nil }
func (h *evicting) GetWaitingPod(types.UID) fwk.WaitingPod                 { return nil }
func (h *evicting) GetPodInPreBind(types.UID) fwk.PodInPreBind             { return nil }
func (h *evicting) NominatedPodsForNode(string) []fwk.PodInfo              { return nil }

// The API server's preconditions keep an eviction from hitting another pod than
// the one that was chosen, and let it hit that one in a newer version.
func TestEvictionPreconditions(t *testing.T) {
	w := newWorld(t)
	api := cluster.Client.CoreV1().Pods(w.name)
	create := func(name string) *corev1.Pod {
		p := w.pod(name, "team-a")
		p.Spec.NodeName = "node-000"
		p.Finalizers = []string{"berth.dev/e2e"} // so that a deletion can be looked at
		p, err := api.Create(w.ctx, p, metav1.CreateOptions{})
		w.check(err)
		return p
	}
	free := func(name string) {
		_, err := api.Patch(w.ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		w.check(err)
	}
	// evict has an evictor whose knowledge ends with old evict it.
	evict := func(old *corev1.Pod) {
		h := &evicting{informers: informers.NewSharedInformerFactory(cluster.Client, 0), recorder: events.NewFakeRecorder(10)}
		w.check(h.informers.Core().V1().Pods().Informer().GetStore().Add(old))
		done := make(chan struct{}, 1)
		ev := evictor.New(func([]*corev1.Pod) { done <- struct{}{} })
		defer ev.Close()
		preemptor := w.pod("preemptor", "team-a")
		preemptor.UID = "preemptor"
		ev.Start(&evictor.Preemption{
			Policy: "room", Handle: h, Pods: []*corev1.Pod{preemptor}, Kind: "pod", UID: preemptor.UID, Object: preemptor, Priority: 10,
			Victims: []evictor.Victim{{Pod: old, Node: "node-000"}}, Logger: klog.FromContext(w.ctx),
		})
		select {
		case <-done: // there is nothing to wait for
		case <-h.recorder.Events: // it was deleted
		case <-w.ctx.Done():
			t.Fatal("want an end of the eviction, got none")
		}
	}
	marked := func(p *corev1.Pod) bool {
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.DisruptionTarget {
				return c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonPreemptionByScheduler
			}
		}
		return false
	}

	old := create("replaced")
	now := int64(0)
	w.check(api.Delete(w.ctx, "replaced", metav1.DeleteOptions{GracePeriodSeconds: &now}))
	free("replaced")
	w.until("the first pod to be gone", func() bool {
		_, err := api.Get(w.ctx, "replaced", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	create("replaced")
	evict(old)
	if p, err := api.Get(w.ctx, "replaced", metav1.GetOptions{}); err != nil || p.DeletionTimestamp != nil || marked(p) {
		t.Errorf("want the pod of the same name untouched, got %v, %v", p, err)
	}
	free("replaced")

	old = create("changed")
	_, err := api.Patch(w.ctx, "changed", types.MergePatchType, []byte(`{"metadata":{"labels":{"newer":"yes"}}}`), metav1.PatchOptions{})
	w.check(err)
	evict(old)
	if p, err := api.Get(w.ctx, "changed", metav1.GetOptions{}); err != nil || p.UID != old.UID || p.DeletionTimestamp == nil || !marked(p) || p.Labels["newer"] != "yes" {
		t.Errorf("want the chosen pod evicted in its newer version, with the condition, got %v, %v", p, err)
	}
	free("changed")
}
