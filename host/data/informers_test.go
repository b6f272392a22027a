// SPDX-License-Identifier: Apache-2.0

package data

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/berth-scheduler/berth/abi"
)

var quotas = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "quotas"}

const quotaName = "example.com/v1/quotas"

func quota(namespace, name string, max int64, labels map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Quota",
		"metadata": map[string]any{"namespace": namespace, "name": name, "resourceVersion": "1", "labels": labels, "managedFields": []any{}},
		"spec":     map[string]any{"max": max, "notes": "n"},
		"status":   map[string]any{"used": int64(0)},
	}}
}

func newClient(objects ...runtime.Object) *dynamicfake.FakeDynamicClient {
	return dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		quotas: "QuotaList", nodeMetrics: "NodeMetricsList",
		{Version: "v1", Resource: "persistentvolumeclaims"}: "PersistentVolumeClaimList",
	}, objects...)
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for %s", what)
		}
	}
}

func TestLease(t *testing.T) {
	client := newClient(
		quota("b", "two", 2, map[string]any{"team": "x"}),
		quota("b", "one", 1, map[string]any{"team": "y"}),
		quota("a", "zero", 0, map[string]any{"team": "x"}),
		quota("a", "hidden", 0, map[string]any{"team": "z"}),
	)
	in := NewInformers(t.Context(), client, nil)
	changes := make(chan string, 100)
	l, err := in.Acquire(t.Context(), []abi.Resource{{Name: quotaName, Selector: "team!=z", Fields: []string{"spec.max"}}}, func(resource string, old, new *Object) {
		changes <- fmt.Sprint(resource, " ", name(old), " ", name(new))
	})
	if err != nil {
		t.Fatal(err)
	}
	list := func(namespace, selector string) (names []string) {
		t.Helper()
		objects, _, err := l.List(quotaName, namespace, selector)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			names = append(names, name(o))
		}
		return names
	}
	for _, test := range []struct {
		namespace, selector string
		want                []string
	}{
		{"", "", []string{"a/zero", "b/one", "b/two"}},
		{"b", "", []string{"b/one", "b/two"}},
		{"", "team=x", []string{"a/zero", "b/two"}},
		{"a", "team=y", nil},
		{"none", "", nil},
	} {
		if diff := cmp.Diff(test.want, list(test.namespace, test.selector)); diff != "" {
			t.Errorf("list %q %q (-want +got):\n%s", test.namespace, test.selector, diff)
		}
	}
	if _, _, err := l.List(quotaName, "", "team in"); err == nil {
		t.Error("a bad selector: want an error")
	}
	if _, looked, _ := l.List(quotaName, "b", ""); looked != 0 {
		t.Errorf("asked again: want nothing looked at, got %d", looked)
	}
	if l.Get(quotaName, "a", "hidden") != nil || l.Get(quotaName, "a", "none") != nil || l.Get("other", "a", "zero") != nil {
		t.Error("want nothing for what isn't selected, isn't there or isn't declared")
	}
	tree, _, err := l.Get(quotaName, "b", "two").Tree()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"apiVersion": "example.com/v1", "kind": "Quota", "spec": map[string]any{"max": int64(2)},
		"metadata": map[string]any{"namespace": "b", "name": "two", "labels": map[string]any{"team": "x"}},
	}
	if diff := cmp.Diff(want, tree); diff != "" {
		t.Errorf("trimmed (-want +got):\n%s", diff)
	}

	// What isn't kept changes nothing; what leaves the selector is gone.
	api := client.Resource(quotas)
	update := func(o *unstructured.Unstructured, version string) {
		t.Helper()
		o.SetResourceVersion(version)
		if _, err := api.Namespace(o.GetNamespace()).Update(t.Context(), o, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	watched := false // the fake API server forgets what is deleted before the watch
	for i := 0; !watched; i++ {
		if _, err := api.Namespace("z").Create(t.Context(), quota("z", fmt.Sprint(i), 1, nil), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-changes:
			watched = true
		case <-time.After(100 * time.Millisecond):
		}
	}
	unseen := quota("b", "two", 2, map[string]any{"team": "x"})
	unseen.Object["status"] = map[string]any{"used": int64(7)}
	update(unseen, "2")
	update(quota("b", "two", 5, map[string]any{"team": "x"}), "3")
	update(quota("b", "one", 1, map[string]any{"team": "z"}), "4")
	if err := api.Namespace("a").Delete(t.Context(), "zero", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.Namespace("c").Create(t.Context(), quota("c", "new", 1, nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for len(got) < 4 {
		select {
		case c := <-changes:
			if !strings.HasPrefix(c, quotaName+" - z/") {
				got = append(got, c)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("want four changes, got %q", got)
		}
	}
	if diff := cmp.Diff([]string{quotaName + " b/two b/two", quotaName + " b/one -", quotaName + " a/zero -", quotaName + " - c/new"}, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b/two"}, append(list("b", ""), list("a", "")...)); diff != "" {
		t.Errorf("after the changes (-want +got):\n%s", diff)
	}
	l.Release()
	l.Release()
	if len(in.sets) != 0 {
		t.Errorf("want no set after the release, got %d", len(in.sets))
	}
}

func name(o *Object) string {
	if o == nil {
		return "-"
	}
	return o.meta.GetNamespace() + "/" + o.meta.GetName()
}

// Who asks for the same shares one watch, which ends with the last of them.
func TestShared(t *testing.T) {
	client := newClient(quota("a", "x", 1, nil))
	var watches atomic.Int64
	client.PrependWatchReactor("*", func(a clienttesting.Action) (bool, watch.Interface, error) {
		if !strings.Contains(a.(clienttesting.WatchAction).GetWatchRestrictions().Labels.String(), "trial") {
			watches.Add(1)
		}
		return false, nil, nil
	})
	in := NewInformers(t.Context(), client, nil)
	acquire := func(r abi.Resource) *Lease {
		t.Helper()
		l, err := in.Acquire(t.Context(), []abi.Resource{r}, func(string, *Object, *Object) {})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	a := acquire(abi.Resource{Name: quotaName, Fields: []string{"spec", "status"}})
	b := acquire(abi.Resource{Name: quotaName, Fields: []string{"status", "spec"}})
	a.Release()
	if b.Get(quotaName, "a", "x") == nil {
		t.Error("want the object while one holds it")
	}
	eventually(t, "one watch", func() bool { return watches.Load() == 1 })
	c := acquire(abi.Resource{Name: quotaName, Selector: "a=b"})
	eventually(t, "two watches", func() bool { return watches.Load() == 2 })
	b.Release()
	c.Release()
	d := acquire(abi.Resource{Name: quotaName, Selector: "a=b"})
	eventually(t, "a new watch", func() bool { return watches.Load() == 3 })
	d.Release()
}

// An answer of the API server that a right or a definition is missing is told at
// once, in one line that says what to do, and the next try may succeed.
func TestUnready(t *testing.T) {
	for _, test := range []struct {
		verb string
		err  error
		want string
	}{
		{"watch", apierrors.NewForbidden(quotas.GroupResource(), "", errors.New(`User "berth" cannot watch resource "quotas"`)), `cannot watch resource`},
		{"list", apierrors.NewForbidden(quotas.GroupResource(), "", errors.New(`User "berth" cannot list resource "quotas"`)), `{apiGroups: ["example.com"], resources: [quotas], verbs: [list, watch]}`},
		{"list", apierrors.NewNotFound(quotas.GroupResource(), ""), "CustomResourceDefinition"},
	} {
		client := newClient(quota("a", "x", 1, nil))
		var broken atomic.Bool
		broken.Store(true)
		fail := func(clienttesting.Action) bool { return broken.Load() }
		if test.verb == "list" {
			client.PrependReactor("list", "quotas", func(a clienttesting.Action) (bool, runtime.Object, error) { return fail(a), nil, test.err })
		} else {
			client.PrependWatchReactor("quotas", func(a clienttesting.Action) (bool, watch.Interface, error) { return fail(a), nil, test.err })
		}
		in := NewInformers(t.Context(), client, nil)
		resources := []abi.Resource{{Name: quotaName}}
		start := time.Now()
		_, err := in.Acquire(t.Context(), resources, nil)
		if u := (*Unready)(nil); !errors.As(err, &u) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), quotaName) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: want an Unready with %q, got %v", test.err, test.want, err)
		}
		if d := time.Since(start); d > firstList/2 {
			t.Errorf("%v: want the answer at once, got it after %v", test.err, d)
		}
		broken.Store(false)
		l, err := in.Acquire(t.Context(), resources, func(string, *Object, *Object) {})
		if err != nil {
			t.Fatalf("after %v passed: %v", test.err, err)
		}
		if l.Get(quotaName, "a", "x") == nil {
			t.Error("want the object")
		}
		l.Release()
	}
}

func TestAcquireRefuses(t *testing.T) {
	in := NewInformers(t.Context(), newClient(), nil)
	for _, r := range []abi.Resource{
		{Name: "quotas"}, {Name: "a/b/c/d"}, {Name: quotaName, Selector: "a in"}, {Name: quotaName, Fields: []string{"spec..min"}},
		{Name: quotaName, Fields: slices.Repeat([]string{"a"}, maxFields+1)},
	} {
		if _, err := in.Acquire(t.Context(), []abi.Resource{r}, nil); err == nil || errors.As(err, new(*Unready)) {
			t.Errorf("%v: want an error that stays, got %v", r, err)
		}
	}
	if _, err := NewInformers(t.Context(), nil, nil).Acquire(t.Context(), []abi.Resource{{Name: quotaName}}, nil); err == nil {
		t.Error("no client: want an error")
	}
	if len(in.sets) != 0 {
		t.Errorf("want nothing held, got %d sets", len(in.sets))
	}
}

// What the scheduler watches for itself is read from its informers; where it
// doesn't, from one of our own. Both give the same trees.
func TestSchedulersInformers(t *testing.T) {
	claim := &v1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "c", Labels: map[string]string{"x": "y"}},
		Spec:       v1.PersistentVolumeClaimSpec{Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{"storage": resource.MustParse("1Gi")}}},
	}
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(claim)
	if err != nil {
		t.Fatal(err)
	}
	const pvcs = "v1/persistentvolumeclaims"
	want := map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim",
		"metadata": map[string]any{"namespace": "a", "name": "c", "labels": map[string]any{"x": "y"}},
		"spec":     map[string]any{"resources": map[string]any{"requests": map[string]any{"storage": abi.Quantity{Text: "1Gi", Value: 1 << 30, Milli: 1000 << 30}}}},
	}
	for _, runs := range []bool{true, false} {
		typed := *claim
		typed.TypeMeta = metav1.TypeMeta{}
		f := informers.NewSharedInformerFactory(fake.NewClientset(&typed), 0)
		f.Core().V1().Pods().Informer()
		client := newClient()
		if runs {
			f.Core().V1().PersistentVolumeClaims().Informer()
		} else {
			client = newClient(&unstructured.Unstructured{Object: raw})
		}
		in := NewInformers(t.Context(), client, f)
		done := make(chan struct{})
		go func() { // the scheduler starts after its plugins
			time.Sleep(50 * time.Millisecond)
			f.Start(t.Context().Done())
			close(done)
		}()
		l, err := in.Acquire(t.Context(), []abi.Resource{{Name: pvcs, Selector: "x=y", Fields: []string{"spec.resources"}}}, func(string, *Object, *Object) {})
		<-done
		if err != nil {
			t.Fatal(err)
		}
		o := l.Get(pvcs, "a", "c")
		if o == nil {
			t.Fatalf("scheduler's %t: want the claim", runs)
		}
		tree, _, err := o.Tree()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, tree); diff != "" {
			t.Errorf("scheduler's %t (-want +got):\n%s", runs, diff)
		}
		if got := len(client.Actions()) == 0; got != runs {
			t.Errorf("scheduler's %t: want our own watch only without, got %v", runs, client.Actions())
		}
		l.Release()
	}
}

func TestFields(t *testing.T) {
	tree := map[string]any{
		"kind": "K", "extra": true, "metadata": map[string]any{"name": "n", "uid": "u", "resourceVersion": "3", "annotations": map[string]any{"a": "b"}},
		"spec": map[string]any{"min": int64(1), "max": int64(2), "list": []any{map[string]any{"a": int64(1), "b": int64(2)}, "text"}},
	}
	for _, test := range []struct {
		paths []string
		want  map[string]any
	}{
		{nil, tree},
		{[]string{"spec.min"}, map[string]any{"kind": "K", "metadata": map[string]any{"name": "n", "uid": "u"}, "spec": map[string]any{"min": int64(1)}}},
		{[]string{"spec", "spec.min"}, map[string]any{"kind": "K", "metadata": map[string]any{"name": "n", "uid": "u"}, "spec": tree["spec"]}},
		{[]string{"spec.min", "spec"}, map[string]any{"kind": "K", "metadata": map[string]any{"name": "n", "uid": "u"}, "spec": tree["spec"]}},
		{[]string{"metadata.annotations", "none.at.all"}, map[string]any{"kind": "K", "metadata": map[string]any{"name": "n", "uid": "u", "annotations": map[string]any{"a": "b"}}}},
		{[]string{"spec.list.a", "spec.min.x"}, map[string]any{"kind": "K", "metadata": map[string]any{"name": "n", "uid": "u"}, "spec": map[string]any{"min": int64(1), "list": []any{map[string]any{"a": int64(1)}, "text"}}}},
	} {
		f, err := ParseFields(test.paths)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, f.trim(tree)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.paths, diff)
		}
	}
	f, _ := ParseFields([]string{"spec.min"})
	g := f.and("metadata", "resourceVersion")
	if _, ok := g.trim(tree)["metadata"].(map[string]any)["resourceVersion"]; !ok {
		t.Error("and: want the field kept")
	}
	if _, ok := f.trim(tree)["metadata"].(map[string]any)["resourceVersion"]; ok {
		t.Error("and: want the first fields as they were")
	}
}
