// SPDX-License-Identifier: Apache-2.0

package module

// maxStrings bounds the table of a guest that is only described or configured.
const maxStrings = 65_536

// Strings is an intern table for guests that are described and configured, and
// never see a view record. It is not for concurrent use.
type Strings struct {
	ids   map[string]uint32
	texts []string // by id; entry 0 is the empty string
}

// NewStrings returns a table with the empty string alone.
func NewStrings() *Strings {
	return &Strings{ids: map[string]uint32{"": 0}, texts: []string{""}}
}

// IDBytes returns the id of a string, which is new if it isn't in the table. It
// is false if the table is full.
func (s *Strings) IDBytes(b []byte) (uint32, bool) {
	if id, ok := s.ids[string(b)]; ok {
		return id, true
	}
	if len(s.texts) >= maxStrings {
		return 0, false
	}
	id := uint32(len(s.texts))
	s.ids[string(b)] = id
	s.texts = append(s.texts, string(b))
	return id, true
}

// Len is the number of ids.
func (s *Strings) Len() int { return len(s.texts) }

// Text is the string of an id below Len.
func (s *Strings) Text(id uint32) string { return s.texts[id] }
