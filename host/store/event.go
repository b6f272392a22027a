// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// eventAction is the action of all Events: what was done when they came up.
const eventAction = "LoadPolicy"

// said is what the Event of a status tells people; equal texts are not repeated.
func said(st Status) string {
	text := fmt.Sprintf("policy %s is %s", st.Name, st.State)
	if st.Digest != "" {
		text += " with " + st.Digest
	}
	if st.Message != "" {
		text += ": " + st.Message
	}
	return line(st.Reason+" "+text, maxMessage+len(st.Reason)+1)
}

// announce writes the Event of a policy's status, unless it was written before,
// by this process or the leader before it. The caller holds s.mu.
func (s *Store) announce(name string) {
	entry := s.status[name]
	if !s.leading || !s.statusKnown || s.announced[name] == entry.said {
		return
	}
	s.announced[name] = entry.said
	s.record(Event{Ref: entry.status.Ref, Warning: warns(entry.status), Reason: entry.status.Reason,
		Message: entry.said[len(entry.status.Reason)+1:]})
}

// announceAll writes the Events that are due once it is known what the document
// said before; nil if it can't be read.
func (s *Store) announceAll(before map[string]Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.statusKnown || !s.leading {
		return
	}
	s.statusKnown = true
	clear(s.announced)
	for name, st := range before {
		s.announced[name] = said(st)
	}
	for _, name := range s.sortedNames() {
		s.announce(name)
	}
}

func warns(st Status) bool {
	return st.State == Failed || st.State == Quarantined || st.Reason == RolledBack
}

// Event is something to tell about a policy that isn't a change of its status.
type Event struct {
	Ref     *v1.ObjectReference // object that it is written on; nil for none
	Warning bool
	Reason  string // CamelCase
	Message string // one line; cut after 1 KiB
}

// Event writes an Event if this process leads. Others forget it. Repetitions are
// counted by the API, not written again.
func (s *Store) Event(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leading {
		s.record(e)
	}
}

func (s *Store) record(e Event) {
	if s.options.Recorder == nil || e.Ref == nil {
		return
	}
	kind := v1.EventTypeNormal
	if e.Warning {
		kind = v1.EventTypeWarning
	}
	s.options.Recorder.Eventf(e.Ref, nil, kind, e.Reason, eventAction, "%s", line(e.Message, maxMessage))
}
