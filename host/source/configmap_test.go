// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/ktesting"
)

// The API server here is client-go's fake, which serves neither a label selector
// on a watch nor resource versions: the watch of these tests is fed by hand with
// what a real one sends. test/e2e runs the same source against a real one.

func configMap(name, version, content string) *v1.ConfigMap {
	return &v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: "uid-1", ResourceVersion: version,
			Labels: map[string]string{LabelPolicy: ""},
		},
		Data:       map[string]string{PolicyFile: policyHead},
		BinaryData: map[string][]byte{ModuleFileGz: Gzip(module(content))},
	}
}

// watched is a fake API server and the watch that it answers with.
func watched(objects ...runtime.Object) (*fake.Clientset, *watch.RaceFreeFakeWatcher) {
	client := fake.NewClientset(objects...)
	w := watch.NewRaceFreeFake()
	client.PrependWatchReactor("configmaps", func(clienttesting.Action) (bool, watch.Interface, error) {
		return true, w, nil
	})
	return client, w
}

func TestConfigMaps(t *testing.T) {
	unlabelled := configMap("other", "1", "z")
	unlabelled.Labels = nil
	elsewhere := configMap("p", "1", "z")
	elsewhere.Namespace = "elsewhere"
	client, w := watched(configMap("p", "1", "a"), unlabelled, elsewhere)
	sink := run(t, NewConfigMaps(client, "ns"))
	const key = "configmap/ns/p"

	want := func(what, content string) {
		t.Helper()
		d := sink.wantSet(key)
		if d.Err != nil || d.ModuleDigest != Digest(module(content)) {
			t.Fatalf("%s: want module %q, got err %v, digest %s", what, content, d.Err, d.ModuleDigest)
		}
	}
	want("in the first list", "a")

	w.Modify(configMap("p", "2", "b"))
	want("updated", "b")

	w.Modify(configMap("p", "3", "b"))
	want("the same bytes again", "b")

	w.Modify(configMap("p", "4", "c"))
	w.Modify(configMap("p", "5", "d"))
	want("first of two updates", "c")
	want("second of two updates", "d")

	corrupt := configMap("p", "6", "e")
	corrupt.BinaryData[ModuleFileGz] = corrupt.BinaryData[ModuleFileGz][:20]
	w.Modify(corrupt)
	if d := sink.wantSet(key); d.Err == nil || d.Policy == nil || d.ResourceVersion != "6" {
		t.Fatalf("corrupt: want an error and the policy, got %+v", d)
	}

	// The server sends Deleted to a watch with a selector when the label goes.
	unlabelled = configMap("p", "7", "e")
	unlabelled.Labels = nil
	w.Delete(unlabelled)
	sink.wantDelete(key)

	w.Add(configMap("p", "8", "f"))
	want("labelled again", "f")

	w.Delete(configMap("p", "9", "f"))
	sink.wantDelete(key)

	for _, action := range client.Actions() {
		if action.GetNamespace() != "ns" || !action.Matches("list", "configmaps") && !action.Matches("watch", "configmaps") {
			t.Errorf("want only lists and watches of ConfigMaps in ns, got %v", action)
		}
		if l, ok := action.(clienttesting.ListAction); ok && l.GetListRestrictions().Labels.String() != LabelPolicy {
			t.Errorf("want selector %s, got %s", LabelPolicy, l.GetListRestrictions().Labels)
		}
		if w, ok := action.(clienttesting.WatchAction); ok && w.GetWatchRestrictions().Labels.String() != LabelPolicy {
			t.Errorf("want selector %s, got %s", LabelPolicy, w.GetWatchRestrictions().Labels)
		}
	}
}

// A watch that broke is followed by a list, whose differences the informer shows
// as updates and as deletions whose last state is unknown.
func TestConfigMapsAfterRelist(t *testing.T) {
	sink := &calls{t: t, c: make(chan call, 10)}
	logger, _ := ktesting.NewTestContext(t)
	h := configMapHandler{sink, logger}
	again := configMap("p", "9", "b")
	again.UID = "uid-2"

	h.OnUpdate(configMap("p", "1", "a"), configMap("p", "1", "a"))      // unchanged: nothing
	h.OnUpdate(configMap("p", "1", "a"), again)                         // replaced
	h.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/p", Obj: again}) // gone
	close(sink.c)

	var got []string
	for c := range sink.c {
		if c.deleted != "" {
			got = append(got, "delete "+c.deleted)
		} else {
			got = append(got, "set "+string(c.set.UID))
		}
	}
	want := []string{"delete configmap/ns/p", "set uid-2", "delete configmap/ns/p"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestConfigMapsForbidden(t *testing.T) {
	client := fake.NewClientset()
	refused := make(chan struct{}, 100)
	client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		refused <- struct{}{}
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no rule"))
	})
	_, ctx := ktesting.NewTestContext(t)
	ctx, cancel := context.WithCancel(ctx)
	s := NewConfigMaps(client, "ns")
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, &calls{t: t}) }()
	<-refused
	<-refused // the second try comes after the first was recorded
	wait, stop := context.WithCancel(ctx)
	stop()
	err := s.WaitForSync(wait)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "forbidden") || s.Synced() {
		t.Errorf("want the reason that the list is refused, got %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
}
