// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"testing"

	"k8s.io/client-go/util/workqueue"

	"github.com/berth-scheduler/berth/host/metrics"
	"github.com/berth-scheduler/berth/host/policy"
	"github.com/berth-scheduler/berth/host/source"
	"github.com/berth-scheduler/berth/host/store"
)

// A ConfigMap deleted and made anew may be seen as one change. What the new one
// replaces is gone, also when the new one can't be used.
func TestRecreatedSource(t *testing.T) {
	metrics.Register()
	m := &manager{
		host:    New(Options{}),
		ctx:     t.Context(),
		queue:   workqueue.NewTyped[string](),
		pending: map[string]*source.Document{},
		slots:   map[string]*slot{},
		copies:  []store.Copy{{Key: "configmap/ns/p", UID: "1"}, {Key: "configmap/ns/q", UID: "2"}},
	}
	p, err := policy.ParseNamed([]byte("apiVersion: berth.dev/v1alpha1\nkind: Policy\n"), "p")
	if err != nil {
		t.Fatal(err)
	}
	old := &version{name: "p", key: "configmap/ns/p", policy: p, onClose: func() {}}
	old.refs.Store(1)
	m.slots["configmap/ns/p"] = &slot{
		key: "configmap/ns/p", name: "p", current: old,
		doc: &source.Document{Key: "configmap/ns/p", Name: "p", UID: "1", Policy: p},
	}
	m.host.openGate("test")
	m.Delete("configmap/ns/p")
	m.Set(source.Document{Key: "configmap/ns/p", Name: "p", UID: "3", Err: errors.New("broken")})
	m.process("configmap/ns/p")
	if s := m.slots["configmap/ns/p"]; s == nil || s.current != nil || s.doc.UID != "3" || s.outcome.state != store.Failed {
		t.Errorf("want the new source without a version, got %+v", s)
	}
	if !old.closed {
		t.Error("want the old version closed")
	}
	if len(m.copies) != 1 || m.copies[0].Key != "configmap/ns/q" {
		t.Errorf("want the old source's last good copy forgotten, got %v", m.copies)
	}
}
