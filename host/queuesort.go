// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/guest"
	"github.com/berth-scheduler/berth/host/policy"
)

// SortName is the name by which a scheduler configuration enables the plugin
// that orders the queue: in queueSort and in preEnqueue.
const SortName = "BerthQueueSort"

// QueueSort orders the queue by the keys that a policy gives, the lowest first,
// then as PrioritySort does: by priority, then by time. Without a policy all keys
// are 0.
type QueueSort struct {
	host    *Host
	profile string
}

var (
	_ fwk.QueueSortPlugin   = &QueueSort{}
	_ fwk.PreEnqueuePlugin  = &QueueSort{}
	_ fwk.EnqueueExtensions = &QueueSort{}
)

// newQueueSort makes the plugin of a profile. It takes no arguments.
func (h *Host) newQueueSort(_ context.Context, _ runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	h.keys.enabled.Store(true)
	return &QueueSort{host: h, profile: handle.ProfileName()}, nil
}

// Name is the plugin's name.
func (q *QueueSort) Name() string { return SortName }

// EventsToRegister lists no events: what it gates is tried again by the host.
// (A plugin without this method would be registered for all events.)
func (q *QueueSort) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return nil, nil
}

// Less compares (key, priority, timestamp). It runs under the queue's lock and
// asks no guest.
func (q *QueueSort) Less(a, b fwk.QueuedEntityInfo) bool {
	if ka, kb := q.host.keys.of(a, b); ka != kb {
		return ka < kb
	}
	pa, pb := a.GetPriority(), b.GetPriority()
	return pa > pb || pa == pb && a.GetTimestamp().Before(b.GetTimestamp())
}

// PreEnqueue takes the pod's key from the policy that gives keys. The pod is in
// no heap at this moment; the key stays as it is until the next PreEnqueue,
// whatever becomes of the policy. It runs under the queue's lock.
func (q *QueueSort) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
	h := q.host
	if h.keys.groupHasKey(pod) {
		return q.pass(pod)
	}
	for {
		set := h.active.Load()
		e := set.keyGiver()
		if e == nil || !e.matches(q.profile, pod) {
			h.keys.unset(pod)
			return q.pass(pod)
		}
		v, blocked := e.available(h.clock())
		if blocked != nil {
			g := quarantineGate(e, blocked)
			h.holdBack(set, g, pod)
			return g.status
		}
		if v == nil {
			h.keys.unset(pod)
			return q.pass(pod)
		}
		if !v.retain() {
			continue
		}
		key, status := q.ask(v, pod)
		h.giveBack(v)
		if status != nil {
			h.holdBack(set, &gating{by: e, status: status}, pod)
			return status
		}
		h.keys.set(pod, key, time.Now())
		return q.pass(pod)
	}
}

// pass forgets why the pod didn't pass before.
func (q *QueueSort) pass(pod *v1.Pod) *fwk.Status {
	q.host.keys.retries.passed(q.host, pod.UID)
	q.host.rejections.ungate(pod.UID)
	return nil
}

// ask asks the policy for a pod's key. The status gates the pod: with the
// failure policy Ignore its key is 0 instead.
func (q *QueueSort) ask(v *version, pod *v1.Pod) (int64, *fwk.Status) {
	var said guest.Verdict
	var key int64
	f := q.host.beside(v, q.profile, abi.QueueKey, pod, nil, func(r *guest.Result) {
		said = r.Verdict
		k, _ := r.Reply.Get("key")
		key = k.Int()
	})
	switch {
	case f == nil && said.Code == abi.Success:
		return key, nil
	case v.policy.OnFailure(abi.QueueKey) == policy.Ignore:
		return 0, nil
	}
	return 0, q.host.holdForFault(&q.host.keys.retries, v, abi.QueueKey, pod, said, f)
}

// keyGiver is the policy that gives sort keys: the first that can. Keys of two
// policies mean nothing to each other, so no other is ever asked, also not about
// pods that this one doesn't match.
func (s *activeSet) keyGiver() *entry {
	for _, e := range s.entries {
		if !e.suspend && e.version != nil && e.version.points[abi.QueueKey] {
			return e
		}
	}
	return nil
}

// keyLinger is how long the key of a pod that is gone is kept: the queue may hear
// of it after us, and a key must not change in a heap.
const keyLinger = time.Minute

// sortKeys are the keys of pods and of pod groups, which have one each: that of
// the first pod that was asked about. It is safe for concurrent use.
type sortKeys struct {
	enabled atomic.Bool  // the plugin orders the queue
	count   atomic.Int64 // of keys: none needs no lock
	retries retries

	mu     sync.RWMutex // guards what follows
	pods   map[types.UID]podKey
	groups map[groupName]*sortGroup
	gone   []gonePod // by time
}

type podKey struct {
	key   int64
	group groupName // zero: none
}

type groupName struct{ namespace, name string }

type sortGroup struct {
	key     int64
	owner   types.UID // the pod that was asked about; "" once it is gone
	members map[types.UID]struct{}
}

type gonePod struct {
	uid types.UID
	at  time.Time
}

// groupOf is the pod group of a pod.
func groupOf(pod *v1.Pod) (groupName, bool) {
	g := pod.Spec.SchedulingGroup
	if g == nil || g.PodGroupName == nil {
		return groupName{}, false
	}
	return groupName{pod.Namespace, *g.PodGroupName}, true
}

// groupHasKey says whether the pod's group has its key from another pod.
func (k *sortKeys) groupHasKey(pod *v1.Pod) bool {
	name, ok := groupOf(pod)
	if !ok || k.count.Load() == 0 {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	g := k.groups[name]
	if g == nil || g.owner == "" || g.owner == pod.UID {
		return false
	}
	g.members[pod.UID] = struct{}{}
	k.put(pod.UID, podKey{g.key, name})
	return true
}

// set gives a pod its key, and its group.
func (k *sortKeys) set(pod *v1.Pod, key int64, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sweep(now)
	name, ok := groupOf(pod)
	if ok {
		g := k.groups[name]
		if g == nil {
			g = &sortGroup{members: map[types.UID]struct{}{}}
			if k.groups == nil {
				k.groups = map[groupName]*sortGroup{}
			}
			k.groups[name] = g
		}
		g.key, g.owner = key, pod.UID
		g.members[pod.UID] = struct{}{}
	}
	k.put(pod.UID, podKey{key, name})
}

func (k *sortKeys) put(uid types.UID, p podKey) {
	if k.pods == nil {
		k.pods = map[types.UID]podKey{}
	}
	k.pods[uid] = p
	k.count.Store(int64(len(k.pods)))
}

// unset takes a pod's key away, and its group's if that is its.
func (k *sortKeys) unset(pod *v1.Pod) {
	if k.count.Load() == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if name, ok := groupOf(pod); ok {
		delete(k.groups, name)
	}
	delete(k.pods, pod.UID)
	k.count.Store(int64(len(k.pods)))
}

// forget drops a pod that is bound or deleted, after a while.
func (k *sortKeys) forget(uid types.UID) {
	k.retries.forget(uid)
	if k.count.Load() == 0 {
		return
	}
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.pods[uid]; ok {
		k.gone = append(k.gone, gonePod{uid, now})
	}
	k.sweep(now)
}

// sweep drops what has been gone for long enough. The caller holds mu.
func (k *sortKeys) sweep(now time.Time) {
	for len(k.gone) > 0 && now.Sub(k.gone[0].at) >= keyLinger {
		uid := k.gone[0].uid
		k.gone = k.gone[1:]
		p := k.pods[uid]
		delete(k.pods, uid)
		g := k.groups[p.group]
		if g == nil {
			continue
		}
		if g.owner == uid {
			g.owner = ""
		}
		if delete(g.members, uid); len(g.members) == 0 {
			delete(k.groups, p.group)
		}
	}
	k.count.Store(int64(len(k.pods)))
}

// of are the keys of two entities.
func (k *sortKeys) of(a, b fwk.QueuedEntityInfo) (int64, int64) {
	if k.count.Load() == 0 {
		return 0, 0
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.key(a), k.key(b)
}

// key is that of an entity. A composite group has the lowest of its groups'. The
// caller holds mu.
func (k *sortKeys) key(e fwk.QueuedEntityInfo) int64 {
	switch e := e.(type) {
	case *framework.QueuedPodInfo:
		return k.pods[e.Pod.UID].key
	case *framework.QueuedPodGroupInfo:
		key, _ := k.lowest(e.PodGroupInfo)
		return key
	}
	return 0
}

func (k *sortKeys) lowest(g *framework.PodGroupInfo) (key int64, found bool) {
	if own := k.groups[groupName{g.Namespace, g.Name}]; own != nil {
		key, found = own.key, true
	}
	for _, child := range g.Children {
		if c, ok := k.lowest(child); ok && (!found || c < key) {
			key, found = c, true
		}
	}
	return key, found
}
