// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/berth-scheduler/berth/host/source"
)

// The API server of these tests is client-go's fake with reactors for what goes
// wrong. It knows no resource versions, preconditions or size limits: test/e2e
// runs the store against a real API server.

// fixture is a running store.
type fixture struct {
	*Store
	t        *testing.T
	ctx      context.Context
	client   *fake.Clientset
	recorder *recorder
	logger   klog.Logger
	copies   chan error // what OnCopy was told
}

func start(t *testing.T, client *fake.Clientset) *fixture {
	t.Helper()
	f := &fixture{t: t, client: client, recorder: &recorder{}, copies: make(chan error, 100)}
	f.logger = ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), f.logger))
	f.ctx = ctx
	f.Store = New(Options{
		Client: client, Owner: "test", Recorder: f.recorder,
		OnCopy: func(_ string, err error) { f.copies <- err },
	})
	done := make(chan struct{})
	go func() { defer close(done); f.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return f
}

// eventually waits for a condition.
func (f *fixture) eventually(what string, ok func() bool) {
	f.t.Helper()
	err := wait.PollUntilContextTimeout(f.ctx, 2*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		return ok(), nil
	})
	if err != nil {
		f.t.Fatalf("%s: %v", what, err)
	}
}

// saved waits until OnCopy was told, and returns what.
func (f *fixture) saved() error {
	f.t.Helper()
	select {
	case err := <-f.copies:
		return err
	case <-time.After(30 * time.Second):
		f.t.Fatal("no copy was written")
		return nil
	}
}

func (f *fixture) load() map[string]Copy {
	f.t.Helper()
	copies, err := f.Load(f.ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	m := map[string]Copy{}
	for _, c := range copies {
		m[c.Key] = c
	}
	return m
}

// count counts the requests of a verb so far.
func (f *fixture) count(verb string) int {
	n := 0
	for _, a := range f.client.Actions() {
		if a.Matches(verb, "configmaps") {
			n++
		}
	}
	return n
}

// recorder keeps events as text.
type recorder struct {
	mu     sync.Mutex
	events []string
}

func (r *recorder) Eventf(regarding, _ runtime.Object, kind, reason, action, note string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ref := regarding.(*v1.ObjectReference)
	r.events = append(r.events, fmt.Sprintf("%s %s %s: %s", kind, reason, ref.Name, fmt.Sprintf(note, args...)))
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.events...)
}

// failures counts the errors that were logged about a task.
func (f *fixture) failures(kind taskKind) int {
	n := 0
	for _, entry := range f.logger.GetSink().(ktesting.Underlier).GetBuffer().Data() {
		if entry.Type == ktesting.LogError && slices.Contains(entry.ParameterKVList, any(kind)) {
			n++
		}
	}
	return n
}

const policyHead = "apiVersion: berth.dev/v1alpha1\nkind: Policy\n"

func version(key, uid, content string) Copy {
	module := []byte("\x00asm\x01\x00\x00\x00" + content)
	return Copy{
		Key: key, UID: types.UID(uid), Name: "p",
		PolicyYAML: []byte(policyHead), Module: module, ModuleDigest: source.Digest(module),
	}
}

// failing makes requests of a verb fail while it is set.
type failing struct {
	err   atomic.Pointer[apierrors.StatusError]
	calls atomic.Int64
}

func fail(client *fake.Clientset, verb string) *failing {
	f := &failing{}
	client.PrependReactor(verb, "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		if err := f.err.Load(); err != nil {
			f.calls.Add(1)
			return true, nil, err
		}
		return false, nil, nil
	})
	return f
}

var configMaps = schema.GroupResource{Resource: "configmaps"}

func TestStandbyWritesNothing(t *testing.T) {
	f := start(t, fake.NewClientset())
	f.Save(version("configmap/ns/p", "u", "a"))
	f.Save(version("configmap/ns/gone", "u", "a"))
	f.Delete("configmap/ns/gone")
	f.Prune(map[string]types.UID{"configmap/ns/p": "u"})
	f.SetStatus(Status{Name: "p", Source: "configmap/ns/p", State: Active, Ref: &v1.ObjectReference{Name: "p"}})
	f.Event(Event{Ref: &v1.ObjectReference{Name: "p"}, Reason: "Odd"})
	f.SetLeading(true) // whatever was queued before is behind what follows
	if err := f.saved(); err != nil {
		t.Fatal(err)
	}
	f.eventually("status", func() bool { return len(f.document()) == 1 })
	f.eventually("event", func() bool { return len(f.recorder.all()) > 0 })
	if got := f.recorder.all(); len(got) != 1 {
		t.Errorf("want the event of the status only, got %q", got)
	}
	if got := f.load(); len(got) != 1 || got["configmap/ns/p"].UID != "u" {
		t.Errorf("want one copy, got %v", got)
	}

	f.SetLeading(false)
	writes := f.count("update") + f.count("create") + f.count("delete")
	f.Save(version("configmap/ns/p", "u", "b"))
	f.SetStatus(Status{Name: "p", Source: "configmap/ns/p", State: Failed, Ref: &v1.ObjectReference{Name: "p"}})
	f.Event(Event{Ref: &v1.ObjectReference{Name: "p"}, Reason: "Odd"})
	f.do(f.ctx, task{kind: writeStatus})
	f.do(f.ctx, task{writeCopy, "configmap/ns/p"})
	if got := f.count("update") + f.count("create") + f.count("delete"); got != writes {
		t.Errorf("want no write without the lease, got %d", got-writes)
	}
	if got := f.recorder.all(); len(got) != 1 {
		t.Errorf("want no event without the lease, got %q", got)
	}
}

// An API server that refuses is asked again, is logged once, and holds nobody up.
func TestRefusedThenServed(t *testing.T) {
	for _, test := range []struct {
		name string
		err  *apierrors.StatusError
		logs int
	}{
		{"forbidden", apierrors.NewForbidden(configMaps, "", errors.New("no rule")), 1},
		{"down", apierrors.NewServiceUnavailable("starting"), 1},
		{"conflict", apierrors.NewConflict(configMaps, "", errors.New("changed")), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			client := fake.NewClientset()
			create := fail(client, "create")
			create.err.Store(test.err)
			f := start(t, client)
			f.SetLeading(true)
			f.Save(version("configmap/ns/p", "u", "a"))
			f.eventually("retries", func() bool { return create.calls.Load() >= 5 })
			create.err.Store(nil)
			if err := f.saved(); err != nil {
				t.Errorf("want the copy written in the end, got %v", err)
			}
			if got := f.load(); len(got) != 1 {
				t.Errorf("want one copy, got %v", got)
			}
			if got := f.failures(writeCopy); got != test.logs {
				t.Errorf("want %d lines about it, got %d", test.logs, got)
			}
		})
	}
}

// document reads the status document's entries.
func (f *fixture) document() map[string]Status {
	cm, err := f.client.CoreV1().ConfigMaps(DefaultNamespace).Get(f.ctx, DefaultStatusName, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return parseStatus(cm)
}
