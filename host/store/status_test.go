// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
)

func active(name, digest string) Status {
	return Status{
		Name: name, Source: "configmap/ns/" + name, Mode: "Enforce", State: Active, Digest: digest, Weight: 1,
		Since: time.Unix(1700000000, 0), Ref: &v1.ObjectReference{Name: name, Namespace: "ns"},
	}
}

func (f *fixture) stateOf(name string) string {
	st := f.document()[name]
	return strings.TrimSpace(st.State + " " + st.Digest)
}

func TestStatusDocument(t *testing.T) {
	f := start(t, fake.NewClientset())
	f.SetLeading(true)
	st := active("p", "sha256:1")
	st.Version, st.Points, st.Message = "v1.2.3", []string{"filter", "score"}, "two\nlines"
	st.PolicyHash, st.EffectiveWeights = "sha256:2", map[string]float64{"berth": 0.5}
	f.SetStatus(st)
	f.eventually("written", func() bool { return f.stateOf("p") != "" })
	cm, err := f.client.CoreV1().ConfigMaps("berth-state").Get(f.ctx, "berth-status", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"p": `{"name":"p","source":"configmap/ns/p","mode":"Enforce","state":"Active","reason":"Active",` +
		`"digest":"sha256:1","policyHash":"sha256:2","version":"v1.2.3","points":["filter","score"],"weight":1,` +
		`"effectiveWeights":{"berth":0.5},"message":"two lines","since":"2023-11-14T22:13:20Z"}`}
	if diff := cmp.Diff(want, cm.Data); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	f.SetStatus(active("q", "sha256:3"))
	f.eventually("second policy", func() bool { return len(f.document()) == 2 })
	f.DeleteStatus("p")
	f.eventually("first policy gone", func() bool { return len(f.document()) == 1 })
}

// Changes within a short time are one write.
func TestStatusIsCoalesced(t *testing.T) {
	f := start(t, fake.NewClientset())
	f.SetLeading(true)
	f.eventually("empty document", func() bool { return f.document() != nil })
	const changes = 500
	began := time.Now()
	for i := range changes {
		f.SetStatus(active("p", fmt.Sprint(i)))
	}
	took := time.Since(began)
	f.eventually("last change", func() bool { return f.stateOf("p") == fmt.Sprintf("Active %d", changes-1) })
	if most := int(took/statusInterval) + 3; f.count("update") > most {
		t.Errorf("want at most %d writes for %d changes in %v, got %d", most, changes, took, f.count("update"))
	}
}

// A new leader finds the document of the one before.
func TestStatusAfterFailOver(t *testing.T) {
	client := fake.NewClientset()
	f := start(t, client)
	f.Prune(map[string]types.UID{"configmap/ns/p": "u", "configmap/ns/q": "u", "configmap/ns/late": "u"})
	f.SetLeading(true)
	for _, name := range []string{"p", "q", "gone", "late", "old-name"} {
		st := active(name, "1")
		if name == "old-name" {
			st.Source = "configmap/ns/q"
		}
		f.SetStatus(st)
	}
	f.eventually("written", func() bool { return len(f.document()) == 5 })
	f.eventually("events", func() bool { return len(f.recorder.all()) == 5 })
	f.SetLeading(false)

	next := start(t, client)
	p, q := active("p", "1"), active("q", "2")
	p.Since, q.Since = time.Unix(1800000000, 0), time.Unix(1800000000, 0)
	next.SetStatus(p)
	next.SetStatus(q)
	next.Prune(map[string]types.UID{"configmap/ns/p": "u", "configmap/ns/q": "u", "configmap/ns/late": "u"})
	next.SetLeading(true)
	next.eventually("taken over", func() bool { return next.stateOf("q") == "Active 2" })
	document := next.document()
	if got := document["p"].Since.Unix(); got != 1700000000 {
		t.Errorf("want the time of what did not change kept, got %d", got)
	}
	if got := document["q"].Since.Unix(); got != 1800000000 {
		t.Errorf("want the time of what changed, got %d", got)
	}
	for name, want := range map[string]bool{"late": true, "gone": false, "old-name": false} {
		if _, got := document[name]; got != want {
			t.Errorf("entry %s: want %t, got %t", name, want, got)
		}
	}
	want := []string{"Normal Active q: policy q is Active with 2"}
	if diff := cmp.Diff(want, next.recorder.all()); diff != "" {
		t.Errorf("events: want only what is new; -want +got\n%s", diff)
	}
}

func TestStatusConflict(t *testing.T) {
	client := fake.NewClientset()
	update := fail(client, "update")
	f := start(t, client)
	f.SetLeading(true)
	f.eventually("empty document", func() bool { return f.document() != nil })
	update.err.Store(apierrors.NewConflict(configMaps, DefaultStatusName, errors.New("changed")))
	f.SetStatus(active("p", "1"))
	f.eventually("conflict", func() bool { return update.calls.Load() > 0 })

	// What the other writer wrote is replaced.
	theirs := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: DefaultNamespace, Name: DefaultStatusName}, Data: map[string]string{"p": "not JSON", "x": "{}"}}
	if err := client.Tracker().Update(v1.SchemeGroupVersion.WithResource("configmaps"), theirs, DefaultNamespace); err != nil {
		t.Fatal(err)
	}
	f.Prune(nil)
	update.err.Store(nil)
	f.eventually("written", func() bool { return f.stateOf("p") == "Active 1" && len(f.document()) == 1 })
	if got := f.failures(writeStatus); got != 0 {
		t.Errorf("want conflicts not reported as failures, got %d", got)
	}
}

// What people do to the document doesn't last.
func TestStatusResync(t *testing.T) {
	client := fake.NewClientset()
	f := start(t, client)
	f.SetLeading(true)
	f.SetStatus(active("p", "1"))
	f.eventually("written", func() bool { return f.stateOf("p") == "Active 1" })
	documents := client.CoreV1().ConfigMaps(DefaultNamespace)
	edited, err := documents.Get(f.ctx, DefaultStatusName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	edited.Data = map[string]string{"p": "junk", "x": "{}"}
	if _, err := documents.Update(f.ctx, edited, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.Prune(nil)
	f.resync()
	f.eventually("edit undone", func() bool { return f.stateOf("p") == "Active 1" && len(f.document()) == 1 })
	if err := documents.Delete(f.ctx, DefaultStatusName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.resync()
	f.eventually("written again", func() bool { return f.stateOf("p") == "Active 1" })
}

func TestStatusOfAnotherScheduler(t *testing.T) {
	theirs := &v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: DefaultNamespace, Name: DefaultStatusName, Annotations: map[string]string{annotationOwner: "other"}},
		Data:       map[string]string{"x": "{}"},
	}
	f := start(t, fake.NewClientset(theirs))
	f.SetLeading(true)
	f.SetStatus(active("p", "1"))
	f.eventually("reported", func() bool { return f.failures(writeStatus) == 1 })
	f.eventually("event", func() bool { return len(f.recorder.all()) == 1 })
	if f.count("update") > 0 || len(f.document()) != 1 {
		t.Error("want the other scheduler's document left alone")
	}
}

func TestEvents(t *testing.T) {
	f := start(t, fake.NewClientset())
	f.SetLeading(true)
	f.eventually("empty document", func() bool { return f.document() != nil })
	p := active("p", "1")
	f.SetStatus(p)
	f.SetStatus(p)
	p.EffectiveWeights = map[string]float64{"berth": 1} // not worth an event
	f.SetStatus(p)
	back := p
	back.Reason, back.Message = RolledBack, "policy.wasm.gz: gunzip: unexpected EOF"
	f.SetStatus(back)
	p.State, p.Digest, p.Message = Failed, "", "100% broken %s"
	f.SetStatus(p)
	p.State, p.Message = Suspended, strings.Repeat("é", 1000)
	f.SetStatus(p)
	file := active("file", "1")
	file.Ref = nil
	f.SetStatus(file)
	f.Event(Event{Ref: p.Ref, Reason: "Odd", Message: "100%"})

	f.eventually("events", func() bool { return len(f.recorder.all()) == 5 })
	got := f.recorder.all()
	long := got[3]
	got[3] = long[:40]
	want := []string{
		"Normal Active p: policy p is Active with 1",
		"Warning RolledBack p: policy p is Active with 1: policy.wasm.gz: gunzip: unexpected EOF",
		"Warning Failed p: policy p is Failed: 100% broken %s",
		"Normal Suspended p: policy p is Suspended"[:40],
		"Normal Odd p: 100%",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if note := strings.TrimPrefix(long, "Normal Suspended p: "); len(note) > maxMessage || !utf8.ValidString(note) {
		t.Errorf("want a note of at most %d bytes, got %d", maxMessage, len(note))
	}
}

// Events say that policies changed even where the document can't be read.
func TestEventsWithoutDocument(t *testing.T) {
	client := fake.NewClientset()
	fail(client, "get").err.Store(apierrors.NewForbidden(configMaps, "", errors.New("no rule")))
	f := start(t, client)
	f.SetStatus(active("p", "1"))
	f.SetLeading(true)
	f.eventually("event", func() bool { return len(f.recorder.all()) == 1 })
}

func TestStatusJSON(t *testing.T) {
	in := active("p", "1")
	in.Ref = nil
	in.Since = in.Since.UTC()
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out Status
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, out); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
