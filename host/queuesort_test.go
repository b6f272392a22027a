// SPDX-License-Identifier: Apache-2.0

package host

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"

	"github.com/berth-scheduler/berth/abi"
)

func queued(pod *v1.Pod, priority int32, at time.Time) *framework.QueuedPodInfo {
	pod.Spec.Priority = &priority
	return &framework.QueuedPodInfo{PodInfo: &framework.PodInfo{Pod: pod}, QueueingParams: framework.QueueingParams{Timestamp: at}}
}

// Without keys the order is that of PrioritySort; keys come first.
func TestLess(t *testing.T) {
	h, _, _ := testHost()
	q, in := &QueueSort{host: h, profile: "berth"}, &queuesort.PrioritySort{}
	list := []fwk.QueuedEntityInfo{
		queued(testPod("a"), 1, testNow), queued(testPod("b"), 1, testNow), queued(testPod("c"), 1, testNow.Add(1)),
		queued(testPod("d"), 2, testNow.Add(2)), queued(testPod("e"), 0, testNow.Add(-1)),
	}
	for _, a := range list {
		for _, b := range list {
			if got, want := q.Less(a, b), in.Less(a, b); got != want {
				t.Errorf("without keys: want %t, got %t for %v, %v", want, got, a, b)
			}
		}
	}
	h.keys.set(testPod("a"), -1, testNow)
	h.keys.set(testPod("d"), 1, testNow)
	for i, want := range []bool{false, true, true, true, true} {
		if got := q.Less(list[0], list[i]); got != want {
			t.Errorf("the lowest key, pod %d: want %t, got %t", i, want, got)
		}
	}
	for i, want := range []bool{false, false, false, false, false} {
		if got := q.Less(list[3], list[i]); got != want {
			t.Errorf("the highest key, pod %d: want %t, got %t", i, want, got)
		}
	}
}

func inGroup(name, group string) *v1.Pod {
	pod := testPod(name)
	pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
	return pod
}

// A pod group has the key of the first pod that was asked about, until that pod
// is asked about again.
func TestGroupKey(t *testing.T) {
	var k sortKeys
	group := func(name string, children ...*framework.PodGroupInfo) *framework.QueuedPodGroupInfo {
		return &framework.QueuedPodGroupInfo{PodGroupInfo: &framework.PodGroupInfo{Namespace: "default", Name: name, Children: children}}
	}
	want := func(what string, e fwk.QueuedEntityInfo, want int64) {
		t.Helper()
		if got, _ := k.of(e, e); got != want {
			t.Errorf("%s: want key %d, got %d", what, want, got)
		}
	}
	a, b := inGroup("a", "g"), inGroup("b", "g")
	if k.groupHasKey(a) {
		t.Error("want the first pod asked about")
	}
	k.set(a, 5, testNow)
	if k.groupHasKey(a) || !k.groupHasKey(b) {
		t.Error("want the first pod asked about again, and no other")
	}
	want("the group", group("g"), 5)
	want("a pod of it by itself", queued(b, 0, testNow), 5)
	k.set(a, 6, testNow)
	want("asked about again", group("g"), 6)
	k.set(inGroup("c", "h"), -2, testNow)
	composite := group("root", group("g").PodGroupInfo, group("h").PodGroupInfo, group("new").PodGroupInfo)
	want("a group of groups", composite, -2)

	k.forget("a")
	want("a pod that is gone a moment ago", group("g"), 6)
	k.mu.Lock()
	k.sweep(time.Now().Add(2 * keyLinger))
	k.mu.Unlock()
	want("its first pod is gone", group("g"), 6)
	if k.groupHasKey(b) {
		t.Error("want another pod asked about once the first is gone")
	}
	k.forget("b")
	k.mu.Lock()
	k.sweep(time.Now().Add(2 * keyLinger))
	k.mu.Unlock()
	want("no pod is left", group("g"), 0)
	k.unset(inGroup("c", "h"))
	if n := len(k.pods) + len(k.groups); n != 0 || k.count.Load() != 0 {
		t.Errorf("want nothing kept, got %d, count %d", n, k.count.Load())
	}
}

// One policy gives the keys of all pods.
func TestKeyGiver(t *testing.T) {
	first, second := testVersion(t, "b", "order: 1", abi.QueueKey), testVersion(t, "a", "order: 2", abi.QueueKey)
	off := entryOf(testVersion(t, "c", "order: 0", abi.QueueKey))
	off.suspend = true
	set := newActiveSet(1, []*entry{{name: "none"}, entryOf(testVersion(t, "d", "order: 0", abi.Filter)), entryOf(second), entryOf(first), off})
	if e := set.keyGiver(); e == nil || e.version != first {
		t.Errorf("want the first by order, got %v", e)
	}
	if e := newActiveSet(1, nil).keyGiver(); e != nil {
		t.Errorf("want none, got %v", e)
	}
}

// A pod that no policy gives a key, any more, has none; one whose policy is in
// quarantine is gated or has none.
func TestKeyWithoutAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		fields     string
		quarantine bool
		want       string
	}{
		"not matched":        {"match: {namespaces: [elsewhere]}", false, ""},
		"quarantine, Ignore": {"failurePolicy: Ignore", true, ""},
		"quarantine, Fail":   {"failurePolicy: Fail", true, "p: quarantined after repeated faults"},
	} {
		t.Run(name, func(t *testing.T) {
			v := testVersion(t, "p", c.fields, abi.QueueKey)
			h, _, _ := testHost(entryOf(v))
			for range quarantineAfter {
				if c.quarantine {
					v.health.faultAt(abi.QueueKey, testNow)
				}
			}
			q, pod := &QueueSort{host: h, profile: "berth"}, testPod("p")
			h.keys.set(pod, 3, testNow)
			s := q.PreEnqueue(t.Context(), pod)
			if s.Message() != c.want {
				t.Errorf("want %q, got %v", c.want, s)
			}
			if key := h.keys.pods[types.UID("p")].key; (key == 0) != (c.want == "") {
				t.Errorf("want the key gone unless the pod is gated, got %d", key)
			}
			if by := h.rejections.by(pod.UID); (len(by) > 0) != (c.want != "") {
				t.Errorf("want it recorded if it is gated, got %v", by)
			}
		})
	}
}
