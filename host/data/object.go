// SPDX-License-Identifier: Apache-2.0

package data

import (
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/view"
)

// Object is one object as policies see it. It is never changed; its tree is made
// when it is first asked for.
type Object struct {
	object runtime.Object
	meta   metav1.Object
	fields Fields

	once sync.Once
	made atomic.Bool
	tree map[string]any
	size int
	err  error
}

// NewObject wraps an object, which must not be changed any more.
func NewObject(obj runtime.Object, fields Fields) (*Object, error) {
	m, err := apimeta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	return &Object{object: obj, meta: m, fields: fields}, nil
}

// Tree is the object, trimmed to its fields, for abi.EncodeValue, and the bytes of
// its record. It must not be changed. The error is an abi.ValueError for an object
// that is too large or too deep for a record.
func (o *Object) Tree() (tree map[string]any, size int, err error) {
	o.once.Do(func() {
		defer o.made.Store(true)
		tree, err := Tree(o.object)
		if err != nil {
			o.err = err
			return
		}
		tree = o.fields.trim(tree)
		record, err := abi.EncodeValue(tree)
		o.tree, o.size, o.err = tree, len(record), err
	})
	return o.tree, o.size, o.err
}

// Made says whether Tree has made the tree already.
func (o *Object) Made() bool { return o.made.Load() }

// Is says whether the Object wraps this very object.
func (o *Object) Is(obj runtime.Object) bool { return o.object == obj }

// same says whether two objects look the same to a policy.
func (o *Object) same(other *Object) bool {
	a, _, err := o.Tree()
	if err != nil {
		return false
	}
	b, _, err := other.Tree()
	return err == nil && equality.Semantic.DeepEqual(a, b)
}

// Tree is view.Tree of an object with its apiVersion and kind, which informers'
// typed objects don't hold. Quantities have numbers where the object's Go type is
// known: in the built-in resources.
func Tree(obj runtime.Object) (map[string]any, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		obj = typed(u)
	}
	t, err := view.Tree(obj)
	if err != nil {
		return nil, err
	}
	tree, ok := t.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("value of %T: want a map", obj)
	}
	if tree["kind"] == nil {
		if kinds, _, err := scheme.Scheme.ObjectKinds(obj); err == nil && len(kinds) > 0 {
			tree["apiVersion"], tree["kind"] = kinds[0].GroupVersion().String(), kinds[0].Kind
		}
	}
	return tree, nil
}

// typed is an object of a built-in kind in its Go type, any other as it is.
func typed(u *unstructured.Unstructured) runtime.Object {
	obj, err := scheme.Scheme.New(u.GroupVersionKind())
	if err != nil {
		return u
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, obj); err != nil {
		return u
	}
	return obj
}
