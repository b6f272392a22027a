// SPDX-License-Identifier: Apache-2.0

package evictor

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// stage is a framework's handle over a fake API server, and an Evictor.
type stage struct {
	fwk.Handle
	*testing.T
	client    *fake.Clientset
	informers informers.SharedInformerFactory
	recorder  *events.FakeRecorder
	evictor   *Evictor

	mu        sync.Mutex
	nominated map[string][]*v1.Pod
	waiting   map[types.UID]bool
	prebind   map[types.UID]bool // whether it can be cancelled
	activated []string
}

func (s *stage) ClientSet() clientset.Interface                         { return s.client }
func (s *stage) SharedInformerFactory() informers.SharedInformerFactory { return s.informers }
func (s *stage) EventRecorder() events.EventRecorderLogger              { return s.recorder }
func (s *stage) APICacher() fwk.APICacher                               { return nil }

func (s *stage) NominatedPodsForNode(node string) (list []fwk.PodInfo) {
	for _, p := range s.nominated[node] {
		info, err := framework.NewPodInfo(p)
		if err != nil {
			s.Fatal(err)
		}
		list = append(list, info)
	}
	return list
}

// inMemory is a pod that waits in Permit or is in PreBind.
type inMemory struct {
	fwk.WaitingPod
	may bool
}

func (m *inMemory) Preempt(string, string) bool { return m.may }
func (m *inMemory) CancelPod(string) bool       { return m.may }
func (m *inMemory) MarkPrebound() bool          { return false }

func (s *stage) GetWaitingPod(uid types.UID) fwk.WaitingPod {
	if may, ok := s.waiting[uid]; ok {
		return &inMemory{may: may}
	}
	return nil
}

func (s *stage) GetPodInPreBind(uid types.UID) fwk.PodInPreBind {
	if may, ok := s.prebind[uid]; ok {
		return &inMemory{may: may}
	}
	return nil
}

func newStage(t *testing.T, objects ...runtime.Object) *stage {
	s := &stage{T: t, client: fake.NewClientset(objects...), recorder: events.NewFakeRecorder(100)}
	s.informers = informers.NewSharedInformerFactory(s.client, 0)
	s.evictor = New(func(pods []*v1.Pod) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, p := range pods {
			s.activated = append(s.activated, p.Name)
		}
	})
	s.evictor.retry = time.Millisecond
	if _, err := s.informers.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		DeleteFunc: func(obj any) { s.evictor.Gone(obj.(*v1.Pod).UID) },
	}); err != nil {
		t.Fatal(err)
	}
	s.informers.Policy().V1().PodDisruptionBudgets().Informer()
	ctx, cancel := context.WithCancel(context.Background())
	s.informers.Start(ctx.Done())
	s.informers.WaitForCacheSync(ctx.Done())
	t.Cleanup(func() {
		s.evictor.Close()
		cancel()
		s.informers.Shutdown()
	})
	return s
}

// preempt starts a preemption for a pod of priority 10.
func (s *stage) preempt(node string, victims ...Victim) *Preemption {
	p := testPod("high", "", 10)
	pre := &Preemption{
		Policy: "room", Handle: s, Pods: []*v1.Pod{p}, Kind: "pod", UID: p.UID, Object: p, Priority: 10,
		Nodes: []string{node}, Victims: victims, Logger: klog.Background(),
	}
	s.evictor.Start(pre)
	return pre
}

func (s *stage) until(what string, done func() bool) {
	s.Helper()
	err := wait.PollUntilContextTimeout(context.Background(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return done(), nil
	})
	if err != nil {
		s.Fatal("waited for ", what)
	}
}

// deleted are the UIDs in the preconditions of deletions.
func (s *stage) deleted() (uids []string) {
	for _, a := range s.client.Actions() {
		if d, ok := a.(clienttesting.DeleteAction); ok {
			uids = append(uids, string(*d.GetDeleteOptions().Preconditions.UID))
		}
	}
	slices.Sort(uids)
	return uids
}

// keep makes the API server note a deletion and let the pod terminate.
func (s *stage) keep() {
	s.client.PrependReactor("delete", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) { return true, nil, nil })
}

// fails makes a verb fail so often.
func (s *stage) fails(verb string, times int) {
	s.client.PrependReactor(verb, "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		times--
		return times >= 0, nil, errors.New("the API server is ill")
	})
}

func testPod(name, node string, priority int32) *v1.Pod {
	grace := int64(1)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{"app": name}},
		Spec:       v1.PodSpec{NodeName: node, Priority: &priority, SchedulerName: "berth", TerminationGracePeriodSeconds: &grace},
	}
}
