// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"iter"
	"sync"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/data"
)

// schedulerResource is a resource that policies read as the scheduler has it, by
// its snapshot or managers: the API server doesn't know yet what is assumed. The
// framework's events tell of changes.
type schedulerResource struct {
	cycle bool // in a serial cycle only
	check func(h fwk.Handle) error
	get   func(h fwk.Handle, namespace, name string) runtime.Object // nil if there is none; a nil func looks through all
	all   func(h fwk.Handle) (iter.Seq[runtime.Object], error)
}

var schedulerResources = map[string]schedulerResource{
	"v1/nodes": {cycle: true,
		get: func(h fwk.Handle, _, name string) runtime.Object {
			if ni, err := h.SnapshotSharedLister().NodeInfos().Get(name); err == nil {
				return ni.Node()
			}
			return nil
		},
		all: func(h fwk.Handle) (iter.Seq[runtime.Object], error) {
			return overNodes(h, func(ni fwk.NodeInfo, yield func(runtime.Object) bool) bool { return yield(ni.Node()) })
		}},
	"v1/pods": {cycle: true,
		all: func(h fwk.Handle) (iter.Seq[runtime.Object], error) {
			return overNodes(h, func(ni fwk.NodeInfo, yield func(runtime.Object) bool) bool {
				for _, p := range ni.GetPods() {
					if !yield(p.GetPod()) {
						return false
					}
				}
				return true
			})
		}},
	"resource.k8s.io/v1/resourceclaims": {
		check: func(h fwk.Handle) error {
			if h.SharedDRAManager() == nil {
				return fmt.Errorf("want the scheduler's feature gate DynamicResourceAllocation, which is off")
			}
			return nil
		},
		get: func(h fwk.Handle, namespace, name string) runtime.Object {
			if c, err := h.SharedDRAManager().ResourceClaims().Get(namespace, name); err == nil {
				return c
			}
			return nil
		},
		all: func(h fwk.Handle) (iter.Seq[runtime.Object], error) {
			list, err := h.SharedDRAManager().ResourceClaims().List()
			return over(list), err
		}},
	"storage.k8s.io/v1/csinodes": {
		check: func(h fwk.Handle) error {
			if h.SharedCSIManager() == nil {
				return fmt.Errorf("want the scheduler's manager of CSI nodes, got none")
			}
			return nil
		},
		get: func(h fwk.Handle, _, name string) runtime.Object {
			if c, err := h.SharedCSIManager().CSINodes().Get(name); err == nil {
				return c
			}
			return nil
		},
		all: func(h fwk.Handle) (iter.Seq[runtime.Object], error) {
			list, err := h.SharedCSIManager().CSINodes().List()
			return over(list), err
		}},
}

func over[T runtime.Object](list []T) iter.Seq[runtime.Object] {
	return func(yield func(runtime.Object) bool) {
		for _, obj := range list {
			if !yield(obj) {
				return
			}
		}
	}
}

func overNodes(h fwk.Handle, each func(ni fwk.NodeInfo, yield func(runtime.Object) bool) bool) (iter.Seq[runtime.Object], error) {
	nodes, err := h.SnapshotSharedLister().NodeInfos().List()
	return func(yield func(runtime.Object) bool) {
		for _, ni := range nodes {
			if !each(ni, yield) {
				return
			}
		}
	}, err
}

// maxTrees bounds the objects of the scheduler's whose trees a version keeps.
const maxTrees = 16_384

// ownResource is a declared resource that the scheduler has itself. It is safe
// for concurrent use.
type ownResource struct {
	schedulerResource
	selector labels.Selector
	fields   data.Fields

	mu    sync.Mutex
	trees map[types.UID]*data.Object // of objects that were read, until they change
}

// wrap makes the Object of an object, or finds the one of before.
func (o *ownResource) wrap(obj runtime.Object, uid types.UID) (*data.Object, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if known := o.trees[uid]; known != nil && known.Is(obj) {
		return known, nil
	}
	fresh, err := data.NewObject(obj, o.fields)
	if err != nil {
		return nil, err
	}
	if o.trees == nil || len(o.trees) >= maxTrees {
		o.trees = map[types.UID]*data.Object{}
	}
	o.trees[uid] = fresh
	return fresh, nil
}

// find gets one object, nil if there is none.
func (o *ownResource) find(r *reading, namespace, name string) (*data.Object, error) {
	h := r.host.first.handle
	if o.get != nil {
		obj := o.get(h, namespace, name)
		if obj == nil {
			return nil, nil
		}
		m, err := apimeta.Accessor(obj)
		if err != nil || !o.selector.Matches(labels.Set(m.GetLabels())) {
			return nil, err
		}
		return o.wrap(obj, m.GetUID())
	}
	list, err := o.list(r, namespace, labels.Everything(), func(m metav1.Object) bool { return m.GetName() == name })
	if len(list) == 0 {
		return nil, err
	}
	return list[0], nil
}

// list is the objects of a namespace, or of all with "", that match, by
// namespace and name.
func (o *ownResource) list(r *reading, namespace string, selector labels.Selector, also func(m metav1.Object) bool) ([]*data.Object, error) {
	all, err := o.all(r.host.first.handle)
	if err != nil {
		return nil, err
	}
	var list []*data.Object
	for obj := range all {
		r.work += fuelLooked
		m, ok := obj.(metav1.Object)
		if !ok || namespace != "" && m.GetNamespace() != namespace || !also(m) {
			continue
		}
		if set := labels.Set(m.GetLabels()); !o.selector.Matches(set) || !selector.Matches(set) {
			continue
		}
		x, err := o.wrap(obj, m.GetUID())
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	data.Sort(list)
	return list, nil
}

// holdResources holds what a version declared: from then on it can be read, and
// its changes count in the data epoch and wake pods.
func (m *manager) holdResources(ctx context.Context, v *version) error {
	var watched []abi.Resource
	for _, r := range v.desc.Resources {
		s, ok := schedulerResources[r.Name]
		if !ok {
			if near := otherVersion(r.Name); near != "" {
				return fmt.Errorf("resource %s: want %s, the version that the scheduler uses", r.Name, near)
			}
			watched = append(watched, r)
			continue
		}
		if s.check != nil {
			if err := s.check(m.handle); err != nil {
				return fmt.Errorf("resource %s: %w", r.Name, err)
			}
		}
		selector, err := labels.Parse(r.Selector)
		if err != nil {
			return fmt.Errorf("resource %s: selector: %w", r.Name, err)
		}
		fields, err := data.ParseFields(r.Fields)
		if err != nil {
			return fmt.Errorf("resource %s: %w", r.Name, err)
		}
		if v.own == nil {
			v.own = map[string]*ownResource{}
		}
		v.own[r.Name] = &ownResource{schedulerResource: s, selector: selector, fields: fields}
	}
	if len(watched) == 0 {
		return nil
	}
	lease, err := m.informers.Acquire(ctx, watched, func(_ string, old, new *data.Object) {
		v.dataEpoch.Add(1)
		if m.host.decides(v) {
			m.host.resourceChanged(v.name, treeOf(old), treeOf(new))
		}
	})
	if err != nil {
		return err
	}
	v.lease = lease
	return nil
}

// otherVersion is the resource of the scheduler's that a name is another version
// of, "" for none.
func otherVersion(name string) string {
	got, err := data.ParseResource(name)
	if err != nil {
		return ""
	}
	for near := range schedulerResources {
		if want, err := data.ParseResource(near); err == nil && want.GroupResource() == got.GroupResource() {
			return near
		}
	}
	return ""
}

// treeOf is an object's tree, nil where there is none.
func treeOf(o *data.Object) any {
	if o == nil {
		return nil
	}
	tree, _, err := o.Tree()
	if err != nil {
		return nil
	}
	return tree
}

// readObject is one object of a declared resource.
func readObject(r *reading) readAnswer {
	name := r.part(0)
	own := r.version.own[name]
	switch {
	case own == nil && !r.version.declares(name), own != nil && own.cycle && !r.inCycle():
		return refused
	case own != nil:
		o, err := own.find(r, r.part(1), r.part(2))
		if o == nil && err == nil {
			return absent
		}
		return r.one(o, err)
	}
	o := r.version.lease.Get(name, r.part(1), r.part(2))
	if o == nil {
		return absent
	}
	return r.one(o, nil)
}

// readObjects is a list of the objects of a declared resource.
func readObjects(r *reading) readAnswer {
	name, namespace, text := r.part(0), r.part(1), r.part(2)
	own := r.version.own[name]
	if own == nil && !r.version.declares(name) || own != nil && own.cycle && !r.inCycle() {
		return refused
	}
	selector, err := labels.Parse(text)
	if err != nil {
		return r.broken(err)
	}
	var list []*data.Object
	if own != nil {
		list, err = own.list(r, namespace, selector, func(metav1.Object) bool { return true })
	} else {
		var looked int
		list, looked, err = r.version.lease.List(name, namespace, text)
		r.work += int64(looked) * fuelLooked
	}
	if err != nil {
		return r.broken(err)
	}
	return r.many(list)
}

// declares says whether a version watches a resource.
func (v *version) declares(resource string) bool {
	return v.lease != nil && v.lease.Has(resource)
}
