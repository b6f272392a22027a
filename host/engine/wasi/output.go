// SPDX-License-Identifier: Apache-2.0

package wasi

import (
	"bytes"
	"fmt"
	"strings"
)

const (
	noteLine = " [cut]"
	noteCall = "[more than %d bytes printed in one call, the rest is dropped]"
)

// print takes what a guest writes to a stream.
func (s *State) print(to Stream, data []byte) {
	s.keepTail(data)
	for len(data) > 0 && !s.cut {
		if s.printed >= MaxCallBytes {
			s.cut = true
			s.flush()
			s.emit(to, fmt.Sprintf(noteCall, MaxCallBytes))
			return
		}
		part := data[:min(len(data), MaxCallBytes-s.printed)]
		end := bytes.IndexByte(part, '\n')
		if end >= 0 {
			part = part[:end]
		}
		line := &s.partial[to-1]
		// One byte more than fits says that the line is to be cut.
		room := MaxLineBytes + 1 - len(*line)
		*line = append(*line, part[:min(len(part), max(room, 0))]...)
		if end >= 0 {
			s.end(to)
			part = data[:end+1]
		}
		s.printed += len(part)
		data = data[len(part):]
	}
}

// end emits a stream's current line.
func (s *State) end(to Stream) {
	line := s.partial[to-1]
	s.partial[to-1] = line[:0]
	note := ""
	if len(line) > MaxLineBytes {
		line, note = line[:MaxLineBytes], noteLine
	}
	s.emit(to, clean(line)+note)
}

// flush ends the lines that the guest left open.
func (s *State) flush() {
	for _, to := range []Stream{Stdout, Stderr} {
		if len(s.partial[to-1]) > 0 {
			s.end(to)
		}
	}
}

func (s *State) emit(to Stream, line string) {
	if s.line != nil {
		s.line(to, line)
	}
}

// clean makes text of a guest fit for one line of a log.
func clean(text []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(text), "\ufffd"))
}

// keepTail keeps the last bytes, whatever the limits say: when a guest fails,
// the reason is there.
func (s *State) keepTail(data []byte) {
	if len(data) > TailBytes {
		data = data[len(data)-TailBytes:]
	}
	s.tail = append(s.tail, data...)
	if n := len(s.tail); n > 2*TailBytes {
		s.tail = append(s.tail[:0], s.tail[n-TailBytes:]...)
	}
}

// Tail returns the end of what the guest printed since SetClock, to either
// stream: several lines of valid UTF-8, at most TailBytes.
func (s *State) Tail() string {
	return strings.ToValidUTF8(string(s.tail[max(0, len(s.tail)-TailBytes):]), "?")
}
