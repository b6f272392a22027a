// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/module"
	"github.com/berth-scheduler/berth/host/policy"
)

// fakeHandle is a framework's handle that notes which pods are activated.
type fakeHandle struct {
	fwk.Handle
	mu        sync.Mutex
	activated []string
	waiting   map[types.UID]*fakeWaiting
	states    []*cycleState // kept from being cleaned up
}

func (h *fakeHandle) Activate(_ klog.Logger, pods map[string]*v1.Pod) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name := range pods {
		h.activated = append(h.activated, name)
	}
}

// testHost has a clock that stands still and a plugin of the profile "berth".
func testHost(entries ...*entry) (*Host, *Berth, *fakeHandle) {
	h := New(Options{})
	now := time.Unix(1000, 0)
	h.clock = func() time.Time { return now }
	handle := &fakeHandle{}
	h.first = &Berth{host: h, handle: handle, profile: "berth"}
	h.active.Store(newActiveSet(1, entries))
	return h, h.first, handle
}

// testVersion is a version without an instance: what it answers must be known
// before it is asked.
func testVersion(t testing.TB, name, fields string, points ...abi.Point) *version {
	t.Helper()
	p, err := policy.ParseNamed([]byte("apiVersion: berth.dev/v1alpha1\nkind: Policy\n"+fields), name)
	if err != nil {
		t.Fatal(err)
	}
	v := &version{name: name, policy: p, module: &module.Module{}, desc: &abi.Description{}, reads: map[string]bool{}, onClose: func() {}}
	for _, x := range points {
		v.points[x] = true
	}
	v.refs.Store(1)
	return v
}

func entryOf(v *version) *entry {
	return &entry{name: v.name, order: v.policy.Order, policy: v.policy, version: v}
}

func testPod(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
}

// testNodes makes the list of a snapshot.
func testNodes(names ...string) []fwk.NodeInfo {
	list := make([]fwk.NodeInfo, len(names))
	for i, name := range names {
		ni := framework.NewNodeInfo()
		ni.SetNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
		list[i] = ni
	}
	return list
}

func numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("n", i)
	}
	return names
}
