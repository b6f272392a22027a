// SPDX-License-Identifier: Apache-2.0

package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/berth-scheduler/berth/abi"
)

// firstList is how long a version waits for the first list of what it reads.
const firstList = 10 * time.Second

// linger is how long a set stays whose first list didn't come in time: the next
// try may find it complete.
const linger = time.Minute

// Informers watch declared resources for the versions that hold them. They are
// safe for concurrent use.
type Informers struct {
	ctx    context.Context
	client dynamic.Interface               // nil: nothing can be watched
	shared informers.SharedInformerFactory // the scheduler's; may be nil
	logger klog.Logger

	mu   sync.Mutex
	sets map[setKey]*set
}

// NewInformers makes Informers, which end with ctx.
func NewInformers(ctx context.Context, client dynamic.Interface, shared informers.SharedInformerFactory) *Informers {
	return &Informers{ctx: ctx, client: client, shared: shared, logger: klog.FromContext(ctx), sets: map[setKey]*set{}}
}

// Lease is a version's hold on what it declared.
type Lease struct {
	in   *Informers
	sets map[string]*set // by resource as declared
	once sync.Once
}

// Acquire holds resources and waits until their first lists are complete. The
// error is an *Unready for what may change without the policy. Changes after
// that are told to change until the lease is released.
func (in *Informers) Acquire(ctx context.Context, resources []abi.Resource, change Change) (_ *Lease, err error) {
	l := &Lease{in: in, sets: map[string]*set{}}
	defer func() {
		if err != nil {
			l.Release()
		}
	}()
	for _, r := range resources {
		s, err := in.hold(r)
		if err != nil {
			return nil, err
		}
		l.sets[r.Name] = s
	}
	ctx, cancel := context.WithTimeout(ctx, firstList)
	defer cancel()
	for _, r := range resources {
		s := l.sets[r.Name]
		select {
		case <-s.ready:
		case <-s.failed:
			return nil, s.failure
		case <-ctx.Done():
			return nil, unready(r.Name, s.gvr, ctx.Err())
		}
	}
	for _, s := range l.sets {
		s.mu.Lock()
		s.watchers[l] = change
		s.mu.Unlock()
	}
	return l, nil
}

// Release gives the resources back. What nobody holds is watched no longer.
func (l *Lease) Release() {
	l.once.Do(func() {
		for _, s := range l.sets {
			s.mu.Lock()
			delete(s.watchers, l)
			s.mu.Unlock()
			l.in.drop(s)
		}
	})
}

// Has says whether the lease holds a resource.
func (l *Lease) Has(resource string) bool { return l.sets[resource] != nil }

// Get finds an object of a resource; nil if there is none.
func (l *Lease) Get(resource, namespace, name string) *Object {
	if s := l.sets[resource]; s != nil {
		return s.get(namespace, name)
	}
	return nil
}

// List is the objects of a resource in a namespace, or in all with "", that
// match a selector, by namespace and name. looked is how many objects were
// looked at for it: what was asked before and didn't change costs nothing.
func (l *Lease) List(resource, namespace, selector string) (list []*Object, looked int, err error) {
	s := l.sets[resource]
	if s == nil {
		return nil, 0, fmt.Errorf("resource %s: not declared", resource)
	}
	parsed, err := labels.Parse(selector)
	if err != nil {
		return nil, 0, err
	}
	list, looked = s.list(namespace, selector, parsed)
	return list, looked, nil
}

// ParseResource reads "group/version/resource", or "version/resource" of the
// core group.
func ParseResource(name string) (schema.GroupVersionResource, error) {
	parts := strings.Split(name, "/")
	if len(parts) == 2 {
		parts = append([]string{""}, parts...)
	}
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" {
		return schema.GroupVersionResource{}, fmt.Errorf("resource %q: want group/version/resource, or version/resource of the core group", name)
	}
	return schema.GroupVersionResource{Group: parts[0], Version: parts[1], Resource: parts[2]}, nil
}

// hold finds or starts the set of a resource.
func (in *Informers) hold(r abi.Resource) (*set, error) {
	gvr, err := ParseResource(r.Name)
	if err != nil {
		return nil, err
	}
	selector, err := labels.Parse(r.Selector)
	if err != nil {
		return nil, fmt.Errorf("resource %s: selector: %w", r.Name, err)
	}
	fields, err := ParseFields(r.Fields)
	if err != nil {
		return nil, fmt.Errorf("resource %s: %w", r.Name, err)
	}
	if in.client == nil && sharedInformers[r.Name] == nil {
		return nil, fmt.Errorf("resource %s: want a connection to the API server, got none", r.Name)
	}
	key := setKey{r.Name, selector.String(), strings.Join(slices.Sorted(slices.Values(r.Fields)), "\x00")}
	in.mu.Lock()
	defer in.mu.Unlock()
	if s := in.sets[key]; s != nil {
		select {
		case <-s.failed: // its holders are about to give it back
		default:
			s.holders++
			return s, nil
		}
	}
	ctx, cancel := context.WithCancel(in.ctx)
	s := &set{
		key: key, gvr: gvr, selector: selector, fields: fields, logger: in.logger, stop: cancel, holders: 1,
		ready: make(chan struct{}), failed: make(chan struct{}),
		objects: map[types.NamespacedName]*Object{}, watchers: map[*Lease]Change{},
	}
	in.sets[key] = s
	go in.feed(ctx, s)
	return s, nil
}

// drop takes one holder from a set. The last ends it, now or, if it may yet
// become complete, later.
func (in *Informers) drop(s *set) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if s.holders--; s.holders > 0 {
		return
	}
	select {
	case <-s.ready:
		in.end(s)
	case <-s.failed:
		in.end(s)
	default:
		time.AfterFunc(linger, func() {
			in.mu.Lock()
			defer in.mu.Unlock()
			if s.holders == 0 {
				in.end(s)
			}
		})
	}
}

// end stops a set that nobody holds. The caller holds mu.
func (in *Informers) end(s *set) {
	s.stop()
	if in.sets[s.key] == s {
		delete(in.sets, s.key)
	}
	s.mu.Lock()
	s.closed, s.objects, s.sorted, s.lists = true, nil, nil, nil
	s.mu.Unlock()
}

// trial selects nothing.
const trial = "berth.dev/trial,!berth.dev/trial"

// feed keeps a set up to date until ctx ends.
func (in *Informers) feed(ctx context.Context, s *set) {
	if informer := in.schedulers(ctx, s.key.resource); informer != nil {
		reg, err := informer.AddEventHandler(s.events())
		if err != nil {
			s.fail(err)
			return
		}
		await(ctx, reg, s)
		<-ctx.Done()
		_ = informer.RemoveEventHandler(reg)
		return
	}
	if in.client == nil {
		s.fail(errors.New("no connection to the API server"))
		return
	}
	// A list that works says nothing about the watch, so that is tried first.
	seconds := int64(1)
	w, err := in.client.Resource(s.gvr).Watch(ctx, metav1.ListOptions{LabelSelector: trial, TimeoutSeconds: &seconds})
	if err != nil && lasting(err) {
		s.fail(err)
		return
	}
	if err == nil {
		w.Stop()
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(in.client, s.gvr, metav1.NamespaceAll, 0, cache.Indexers{}, func(o *metav1.ListOptions) {
		o.LabelSelector = s.key.selector
	}).Informer()
	trimmed := s.fields.and("metadata", "resourceVersion") // the informer compares it
	_ = informer.SetTransform(func(obj any) (any, error) { return trimRaw(obj, trimmed), nil })
	_ = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { s.trouble(err) })
	reg, err := informer.AddEventHandler(s.events())
	if err != nil {
		s.fail(err)
		return
	}
	go await(ctx, reg, s)
	informer.RunWithContext(ctx)
}

// await closes ready when the set holds the first list.
func await(ctx context.Context, reg cache.ResourceEventHandlerRegistration, s *set) {
	select {
	case <-ctx.Done():
	case <-reg.HasSyncedChecker().Done():
		close(s.ready)
	}
}

// trimRaw drops what nobody reads before an object is kept.
func trimRaw(obj any, fields Fields) any {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj
	}
	if meta, ok := u.Object["metadata"].(map[string]any); ok {
		delete(meta, "managedFields")
	}
	u.Object = fields.trim(u.Object)
	return u
}

// compare orders objects by namespace and name.
func compare(a, b metav1.Object) int {
	return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
}

// Sort orders objects by namespace and name.
func Sort(list []*Object) {
	slices.SortFunc(list, func(a, b *Object) int { return compare(a.meta, b.meta) })
}
