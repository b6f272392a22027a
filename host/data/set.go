// SPDX-License-Identifier: Apache-2.0

package data

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Change is called after an object of a declared resource changed; old or new is
// nil where there is none. It is called from the informer's goroutine, without
// locks, in the order of the changes.
type Change func(resource string, old, new *Object)

// maxLists is how many different lists a Set keeps until its next change.
const maxLists = 64

// set holds the objects of one resource that match one selector, trimmed to one
// list of fields. It is safe for concurrent use.
type set struct {
	key      setKey
	gvr      schema.GroupVersionResource
	selector labels.Selector
	fields   Fields
	logger   klog.Logger

	holders int           // guarded by Informers.mu
	stop    func()        // ends the watch
	ready   chan struct{} // closed when the first list is complete
	failed  chan struct{} // closed when there won't be one: failure says why
	failure error

	mu       sync.RWMutex // guards what follows
	closed   bool
	objects  map[types.NamespacedName]*Object
	sorted   []*Object // by namespace, then name; nil when stale
	lists    map[listKey][]*Object
	watchers map[*Lease]Change
	err      string // of the last list or watch, said in the log
}

type setKey struct{ resource, selector, fields string }

type listKey struct{ namespace, selector string }

// Get finds an object.
func (s *set) get(namespace, name string) *Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.objects[types.NamespacedName{Namespace: namespace, Name: name}]
}

// list is the objects of a namespace, or of all with "", that match a selector
// (as text, to be looked up by), by namespace and name; looked is how many were
// looked at for it. It must not be changed.
func (s *set) list(namespace, text string, selector labels.Selector) (list []*Object, looked int) {
	key := listKey{namespace, text}
	s.mu.Lock()
	defer s.mu.Unlock()
	if list, ok := s.lists[key]; ok {
		return list, 0
	}
	if s.sorted == nil {
		s.sorted = slices.SortedFunc(maps.Values(s.objects), func(a, b *Object) int { return compare(a.meta, b.meta) })
	}
	for _, o := range s.sorted {
		if (namespace == "" || o.meta.GetNamespace() == namespace) && (selector.Empty() || selector.Matches(labels.Set(o.meta.GetLabels()))) {
			list = append(list, o)
		}
	}
	if s.lists == nil || len(s.lists) >= maxLists {
		s.lists = map[listKey][]*Object{}
	}
	s.lists[key] = list
	return list, len(s.sorted)
}

// put takes an object as it is now, nil if it is gone, and tells the watchers
// unless it looks the same to them.
func (s *set) put(obj any, gone bool) {
	if t, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = t.Obj
	}
	r, ok := obj.(runtime.Object)
	if !ok {
		return
	}
	o, err := NewObject(r, s.fields)
	if err != nil {
		return
	}
	key := types.NamespacedName{Namespace: o.meta.GetNamespace(), Name: o.meta.GetName()}
	if gone || !s.selector.Matches(labels.Set(o.meta.GetLabels())) {
		o = nil
	}
	s.mu.Lock()
	old := s.objects[key]
	if s.closed || old == nil && o == nil || old != nil && o != nil && old.same(o) {
		s.mu.Unlock()
		return
	}
	if o == nil {
		delete(s.objects, key)
	} else {
		s.objects[key] = o
	}
	s.lists = nil
	if old == nil || o == nil {
		s.sorted = nil
	} else if i := slices.Index(s.sorted, old); i >= 0 {
		s.sorted[i] = o
	}
	watchers := slices.Collect(maps.Values(s.watchers))
	s.mu.Unlock()
	for _, tell := range watchers {
		tell(s.key.resource, old, o)
	}
}

// events feed the set.
func (s *set) events() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { s.put(obj, false) },
		UpdateFunc: func(_, obj any) { s.put(obj, false) },
		DeleteFunc: func(obj any) { s.put(obj, true) },
	}
}

// trouble notes an error of the list or the watch: before the first list it may
// be an answer for those who wait, after it the log says it once.
func (s *set) trouble(err error) {
	select {
	case <-s.ready:
	default:
		if lasting(err) {
			s.fail(err)
			return
		}
	}
	text := said(err)
	s.mu.Lock()
	known := s.err == text
	s.err = text
	s.mu.Unlock()
	if !known {
		s.logger.Error(err, "Watch of a resource that policies read", "resource", s.key.resource)
	}
}

// fail ends the wait for the first list. The set isn't used any more.
func (s *set) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		s.failure = unready(s.key.resource, s.gvr, err)
		close(s.failed)
	}
}
