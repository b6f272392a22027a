// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// States of a policy.
const (
	Active      = "Active"
	Failed      = "Failed"
	Quarantined = "Quarantined"
	Suspended   = "Suspended"
)

// RolledBack is the reason of a policy that is Active with its last good version
// because a newer one can't be used.
const RolledBack = "RolledBack"

// Status is the entry of a policy in the status document.
type Status struct {
	// Name is the policy's name and the entry's key.
	Name string `json:"name"`
	// Source is the Key of its source.Document.
	Source string `json:"source"`
	// Mode is that of policy.yaml.
	Mode string `json:"mode"`
	// State is Active, Failed, Quarantined or Suspended.
	State string `json:"state"`
	// Reason is a CamelCase word for why, the State if empty. It is the reason
	// of the Event.
	Reason string `json:"reason"`
	// Digest and PolicyHash name the version that runs; empty if none does.
	Digest     string `json:"digest,omitempty"`
	PolicyHash string `json:"policyHash,omitempty"`
	// Version is what the module says of itself.
	Version string `json:"version,omitempty"`
	// Points are the wire names of the points that it serves.
	Points []string `json:"points,omitempty"`
	// Weight is that of policy.yaml; EffectiveWeights are what it amounts to
	// beside the other policies, by profile.
	Weight           int64              `json:"weight"`
	EffectiveWeights map[string]float64 `json:"effectiveWeights,omitempty"`
	// Message is for people, one line. It is cut after 1 KiB.
	Message string `json:"message,omitempty"`
	// Since is when the policy came into this state. In the document the time
	// stays while the entry says the same, over fail-overs too.
	Since time.Time `json:"since"`

	// Ref is the object that Events are written on; nil for none.
	Ref *v1.ObjectReference `json:"-"`
}

type statusEntry struct {
	status Status
	said   string // what an Event would say
}

// same reports whether two entries differ only in time.
func (st Status) same(other Status) bool {
	return st.State == other.State && st.Reason == other.Reason && st.Mode == other.Mode &&
		st.Digest == other.Digest && st.PolicyHash == other.PolicyHash
}

// maxMessage is the API's limit on an event's note.
const maxMessage = 1024

// line makes one line of at most limit bytes of a text.
func line(text string, limit int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit-3], "") + "..."
	}
	return text
}

// SetStatus makes st the entry of its policy, and writes an Event if state,
// reason, message or version are others than before.
func (s *Store) SetStatus(st Status) {
	if st.Reason == "" {
		st.Reason = st.State
	}
	st.Message = line(st.Message, maxMessage)
	st.Since = st.Since.UTC().Truncate(time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status[st.Name] = statusEntry{st, said(st)}
	delete(s.deleted, st.Name)
	s.announce(st.Name)
	s.statusChanged()
}

// DeleteStatus removes the entry of a policy that is gone.
func (s *Store) DeleteStatus(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.status, name)
	delete(s.announced, name)
	s.deleted[name] = true
	s.statusChanged()
}

// statusChanged has the document written soon. Changes until then are written
// with it.
func (s *Store) statusChanged() {
	if s.leading {
		s.queue.AddAfter(task{kind: writeStatus}, time.Until(s.writtenAt.Add(statusInterval)))
	}
}

// writeStatus makes the document say what is wanted. The document belongs to the
// leader as a whole; an update tells a conflict, where server-side apply would
// let two leaders overwrite each other.
func (s *Store) writeStatus(ctx context.Context) error {
	cm, found, err := s.readStatus(ctx)
	if err != nil {
		s.announceAll(nil) // better twice than never
		return err
	}
	before := parseStatus(cm)
	s.announceAll(before)
	data, err := s.statusData(cm, before)
	if err != nil {
		return err
	}
	if found && maps.Equal(data, cm.Data) && len(cm.BinaryData) == 0 && cm.Annotations[annotationOwner] == s.options.Owner {
		s.wrote(cm)
		return nil
	}
	next := cm.DeepCopy()
	next.Data, next.BinaryData = data, nil
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, annotationOwner, s.options.Owner)
	metav1.SetMetaDataLabel(&next.ObjectMeta, labelManagedBy, managedBy)
	metav1.SetMetaDataLabel(&next.ObjectMeta, labelState, stateStatus)
	if found {
		next, err = s.client.Update(ctx, next, metav1.UpdateOptions{})
	} else {
		next, err = s.client.Create(ctx, next, metav1.CreateOptions{})
	}
	if err != nil {
		s.wrote(nil)
		return err
	}
	s.wrote(next)
	return nil
}

// readStatus returns the document as it was written last, or as it is on the API
// server; false if there is none.
func (s *Store) readStatus(ctx context.Context) (*v1.ConfigMap, bool, error) {
	s.mu.Lock()
	cm := s.written
	s.mu.Unlock()
	if cm != nil {
		return cm, true, nil
	}
	cm, err := s.client.Get(ctx, s.options.StatusName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.options.Namespace, Name: s.options.StatusName}}, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if owner := cm.Annotations[annotationOwner]; owner != "" && owner != s.options.Owner {
		return nil, false, fmt.Errorf("configmap %s/%s: want owner %s, got %s; give each scheduler a state namespace of its own",
			s.options.Namespace, s.options.StatusName, s.options.Owner, owner)
	}
	return cm, true, nil
}

// statusData makes the content of the document, of which before is the content
// until now. An entry of a policy that isn't loaded yet, as after a start, stays
// unless its source is known to be gone.
func (s *Store) statusData(cm *v1.ConfigMap, before map[string]Status) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data := make(map[string]string, len(s.status))
	sources := make(map[string]bool, len(s.status))
	for name, entry := range s.status {
		st := entry.status
		sources[st.Source] = true
		if old, ok := before[name]; ok && old.same(st) && !old.Since.IsZero() {
			st.Since = old.Since
		}
		text, err := json.Marshal(st)
		if err != nil {
			return nil, fmt.Errorf("status of policy %s: %w", name, err)
		}
		data[name] = string(text)
	}
	for name, old := range before {
		_, live := s.live[old.Source]
		if _, ok := data[name]; !ok && !s.deleted[name] && !sources[old.Source] && (live || s.live == nil) {
			data[name] = cm.Data[name]
		}
	}
	return data, nil
}

// wrote notes the document as it is now, nil if that isn't known.
func (s *Store) wrote(cm *v1.ConfigMap) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.leading {
		cm = nil
	}
	s.written = cm
	s.writtenAt = time.Now()
	if cm == nil {
		return
	}
	for name := range s.deleted {
		if _, ok := cm.Data[name]; !ok {
			delete(s.deleted, name)
		}
	}
}

// parseStatus reads the document's entries. One that can't be read is as if it
// weren't there: it is overwritten.
func parseStatus(cm *v1.ConfigMap) map[string]Status {
	entries := make(map[string]Status, len(cm.Data))
	for name, text := range cm.Data {
		var st Status
		if json.Unmarshal([]byte(text), &st) == nil {
			entries[name] = st
		}
	}
	return entries
}

// sortedNames are the policies that have a status.
func (s *Store) sortedNames() []string { return slices.Sorted(maps.Keys(s.status)) }
