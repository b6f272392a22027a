// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
)

// NewClient is a fake API server that holds objects.
func NewClient(objects ...runtime.Object) *fake.Clientset {
	client := fake.NewClientset(objects...)
	bindOnCreate(client)
	return client
}

// bindOnCreate makes the fake API server do what a binding asks for.
func bindOnCreate(client *fake.Clientset) {
	pods := v1.SchemeGroupVersion.WithResource("pods")
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "binding" {
			return false, nil, nil
		}
		b := action.(clienttesting.CreateAction).GetObject().(*v1.Binding)
		obj, err := client.Tracker().Get(pods, b.Namespace, b.Name)
		if err != nil {
			return true, nil, err
		}
		pod := obj.(*v1.Pod).DeepCopy()
		if pod.Spec.NodeName != "" {
			return true, nil, fmt.Errorf("pod %s is already assigned to node %q", pod.Name, pod.Spec.NodeName)
		}
		pod.Spec.NodeName = b.Target.Name
		for k, v := range b.Annotations {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, k, v)
		}
		return true, b, client.Tracker().Update(pods, pod, pod.Namespace)
	})
}

// recorder keeps events as "name: reason: note".
type recorder struct {
	mu    sync.Mutex
	lines []string
}

var _ events.EventRecorderLogger = &recorder{}

// Eventf implements events.EventRecorder.
func (r *recorder) Eventf(regarding, _ runtime.Object, _, reason, _, note string, args ...any) {
	name := "?"
	if m, err := apimeta.Accessor(regarding); err == nil {
		name = m.GetName()
	} else if ref, ok := regarding.(*v1.ObjectReference); ok {
		name = ref.Name
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf("%s: %s: %s", name, reason, fmt.Sprintf(note, args...)))
}

// WithLogger implements events.EventRecorderLogger.
func (r *recorder) WithLogger(klog.Logger) events.EventRecorderLogger { return r }

// has says whether an event begins with a text and contains all others.
func (r *recorder) has(prefix string, parts ...string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lines {
		all := strings.HasPrefix(l, prefix)
		for _, p := range parts {
			all = all && strings.Contains(l, p)
		}
		if all {
			return true
		}
	}
	return false
}

func (r *recorder) all() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.lines, "\n")
}
