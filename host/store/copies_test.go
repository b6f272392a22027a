// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/berth-scheduler/berth/host/policy"
	"github.com/berth-scheduler/berth/host/source"
)

const (
	keyP = "configmap/ns/p"
	keyQ = "configmap/ns/q"
)

// save saves a version and waits until it is written.
func (f *fixture) save(c Copy) {
	f.t.Helper()
	f.Save(c)
	if err := f.saved(); err != nil {
		f.t.Fatal(err)
	}
}

func TestCopySurvivesRestart(t *testing.T) {
	client := fake.NewClientset()
	f := start(t, client)
	f.SetLeading(true)
	want := version(keyP, "u", "a")
	want.PolicyYAML = []byte(policyHead + "weight: 7\n")
	f.save(want)
	f.save(version(keyQ, "u2", "b"))

	restarted := start(t, client)
	got := restarted.load()
	if diff := cmp.Diff(want, got[keyP], cmpopts.IgnoreFields(Copy{}, "Policy", "Saved")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got[keyP].Policy == nil || got[keyP].Policy.Weight != 7 || got[keyP].Saved.IsZero() {
		t.Errorf("want the policy parsed and the time, got %+v", got[keyP])
	}

	cm, err := client.CoreV1().ConfigMaps(DefaultNamespace).Get(f.ctx, copyName("test", keyP), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(cm.Name, "last-good-p-") {
		t.Errorf("want a name that says whose copy it is, got %s", cm.Name)
	}
	other := New(Options{Client: client, Owner: "other"})
	if copies, err := other.Load(f.ctx); err != nil || len(copies) != 0 {
		t.Errorf("want another scheduler's copies left out, got %d, %v", len(copies), err)
	}
}

func TestSaveReplacesInPlace(t *testing.T) {
	f := start(t, fake.NewClientset())
	f.SetLeading(true)
	f.save(version(keyP, "u", "a"))
	f.save(version(keyP, "u", "b"))
	f.eventually("status", func() bool { return f.document() != nil })
	if got := f.load()[keyP]; got.ModuleDigest != version(keyP, "u", "b").ModuleDigest {
		t.Errorf("want the second version, got %s", got.ModuleDigest)
	}
	creates, updates := f.count("create"), f.count("update")
	if creates != 2 || updates != 1 { // copy and status; copy
		t.Errorf("want 2 creates and 1 update, got %d and %d", creates, updates)
	}
	f.save(version(keyP, "u", "b"))
	if f.count("update") != updates {
		t.Error("want no write for the same content")
	}
	f.save(version(keyP, "u-again", "b"))
	if got := f.load()[keyP]; got.UID != "u-again" {
		t.Errorf("want the new source's UID, got %s", got.UID)
	}
}

func TestDeletedSource(t *testing.T) {
	client := fake.NewClientset()
	f := start(t, client)
	f.SetLeading(true)
	for _, key := range []string{keyP, keyQ, "configmap/ns/r", "configmap/ns/s"} {
		f.save(version(key, "u", "a"))
	}
	f.Delete("configmap/ns/s")
	f.eventually("deleted", func() bool { return len(f.load()) == 3 })

	// While no scheduler runs, q is deleted and r is made again.
	restarted := start(t, client)
	live := map[string]types.UID{keyP: "u", "configmap/ns/r": "u2"}
	for key, want := range map[string]bool{keyP: true, keyQ: false, "configmap/ns/r": false} {
		c := restarted.load()[key]
		if got := c.Stands(live); got != want {
			t.Errorf("%s stands: want %t, got %t", key, want, got)
		}
	}
	restarted.Prune(live)
	restarted.SetLeading(true)
	restarted.eventually("pruned", func() bool { return len(restarted.load()) == 1 })
	if _, ok := restarted.load()[keyP]; !ok {
		t.Error("want the copy of p to stay")
	}

	// What is saved later stands, too.
	restarted.save(version("configmap/ns/new", "u3", "a"))
	restarted.do(restarted.ctx, task{kind: pruneCopies})
	if got := restarted.load(); len(got) != 2 {
		t.Errorf("want 2 copies, got %d", len(got))
	}
}

func TestQuarantine(t *testing.T) {
	client := fake.NewClientset()
	f := start(t, client)
	f.SetLeading(true)
	v := version(keyP, "u", "a")
	p, err := policy.ParseNamed(v.PolicyYAML, v.Name)
	if err != nil {
		t.Fatal(err)
	}
	q := &Quarantine{ModuleDigest: v.ModuleDigest, PolicyHash: p.Hash(), Times: 2, Until: time.Unix(1700000000, 0).UTC(), Reason: "trap: unreachable"}
	f.SetQuarantine(keyP, q) // no copy yet: nothing to note it with
	f.save(v)
	f.SetQuarantine(keyP, q)
	f.eventually("noted", func() bool { c := f.load()[keyP]; return c.Quarantine != nil })
	got := f.load()[keyP]
	if diff := cmp.Diff(q, got.Quarantine); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}

	f.save(v) // a replica that takes over knows nothing of it
	if c := f.load()[keyP]; c.Quarantine == nil {
		t.Error("want the quarantine to outlive a save of the same content")
	}
	f.SetQuarantine(keyP, nil)
	f.eventually("lifted", func() bool { c := f.load()[keyP]; return c.Quarantine == nil })

	f.SetQuarantine(keyP, q)
	f.eventually("noted again", func() bool { c := f.load()[keyP]; return c.Quarantine != nil })
	f.save(version(keyP, "u", "b"))
	if c := f.load()[keyP]; c.Quarantine != nil {
		t.Error("want another version to begin without")
	}
	f.SetQuarantine(keyP, q) // late news of the version before
	f.SetQuarantine(keyQ, q)
	f.eventually("patches", func() bool { return f.count("patch") >= 5 })
	if c := f.load()[keyP]; c.Quarantine != nil {
		t.Error("want the quarantine of another version left out")
	}
}

func TestTooBig(t *testing.T) {
	f := start(t, fake.NewClientset())
	f.SetLeading(true)
	f.save(version(keyP, "u", "a"))
	noise := make([]byte, 1<<20)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(noise)
	f.Save(version(keyP, "u", string(noise)))
	err := f.saved()
	if !errors.Is(err, ErrTooBig) || !strings.Contains(err.Error(), "want at most 1048576 bytes") {
		t.Errorf("want %v with both sizes, got %v", ErrTooBig, err)
	}
	if got := f.load(); len(got) != 0 {
		t.Errorf("want the older version not to come back, got %v", got)
	}
}

func TestLoadLeavesOutDamage(t *testing.T) {
	damage := map[string]func(*v1.ConfigMap){
		"module changed": func(cm *v1.ConfigMap) {
			cm.BinaryData[source.ModuleFileGz] = source.Gzip([]byte("\x00asm\x01\x00\x00\x00x"))
		},
		"module cut short": func(cm *v1.ConfigMap) { cm.BinaryData[source.ModuleFileGz] = cm.BinaryData[source.ModuleFileGz][:9] },
		"module gone":      func(cm *v1.ConfigMap) { cm.BinaryData = nil },
		"policy changed":   func(cm *v1.ConfigMap) { cm.Data[source.PolicyFile] += "weight: 100\n" },
		"policy refused": func(cm *v1.ConfigMap) {
			cm.Data[source.PolicyFile] = "kind: Other\n"
			cm.Annotations[annotationPolicy] = source.Digest([]byte("kind: Other\n"))
		},
		"no source": func(cm *v1.ConfigMap) { delete(cm.Annotations, annotationSource) },
	}
	for name, change := range damage {
		t.Run(name, func(t *testing.T) {
			bad, good := version(keyP, "u", "a"), version(keyQ, "u", "a")
			cms := make([]*v1.ConfigMap, 2)
			for i, c := range []Copy{bad, good} {
				cm, err := c.encode(DefaultNamespace, "test", time.Now())
				if err != nil {
					t.Fatal(err)
				}
				cms[i] = cm
			}
			change(cms[0])
			f := start(t, fake.NewClientset(cms[0], cms[1]))
			got := f.load()
			if _, ok := got[keyQ]; !ok || len(got) != 1 {
				t.Errorf("want only the good copy, got %v", got)
			}
			f.SetLeading(true)
			f.save(bad)
			if c := f.load()[keyP]; !bytes.Equal(c.Module, bad.Module) && name != "no source" {
				t.Error("want a save to repair it")
			}
		})
	}
	t.Run("forbidden", func(t *testing.T) {
		client := fake.NewClientset()
		fail(client, "list").err.Store(apierrors.NewForbidden(configMaps, "", errors.New("no rule")))
		_, err := New(Options{Client: client}).Load(context.Background())
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "list last good copies in berth-state") {
			t.Errorf("want the API server's error, got %v", err)
		}
	})
}

func TestCopyName(t *testing.T) {
	names := map[string]bool{}
	for _, key := range []string{keyP, "file/p", "file/My_Policy", "configmap/ns/" + strings.Repeat("a", 253)} {
		name := copyName("owner", key)
		if len(name) > 253 || names[name] || name == copyName("other", key) {
			t.Errorf("want a valid name of its own for %s, got %s", key, name)
		}
		names[name] = true
	}
}
