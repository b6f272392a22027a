// SPDX-License-Identifier: Apache-2.0

package weave

import (
	"maps"
	"slices"
	"strings"
)

// sections is a module by section id, each the content of its section.
type sections map[byte]string

// valid has one of everything: function 0 is imported, function 1 its own.
//
//	type 0 () -> (), type 1 (i32) -> (i32); a table, a memory, a global, an
//	element and a data segment; local 0 of function 1 is an i32
func valid() sections {
	return sections{
		secType:      vec("\x60\x00\x00", "\x60\x01\x7f\x01\x7f"),
		secImport:    vec(str("env") + str("f") + "\x00\x00"),
		secFunction:  vec("\x01"),
		secTable:     vec("\x70\x00\x02"),
		secMemory:    vec("\x01\x01\x02"),
		secGlobal:    vec("\x7e\x01\x42\x00\x0b"),
		secExport:    vec(str("run")+"\x00\x01", str("memory")+"\x02\x00"),
		secElement:   vec("\x00\x41\x00\x0b\x01\x01"),
		secDataCount: "\x01",
		secCode:      vec(fn("", "\x20\x00")),
		secData:      vec("\x00\x41\x00\x0b" + str("hi")),
	}
}

// with returns a copy with another content of a section.
func (s sections) with(id byte, content string) sections {
	s = maps.Clone(s)
	s[id] = content
	return s
}

// without returns a copy without some sections.
func (s sections) without(ids ...byte) sections {
	s = maps.Clone(s)
	for _, id := range ids {
		delete(s, id)
	}
	return s
}

// body returns a copy whose only function has this code.
func (s sections) body(code string) sections { return s.with(secCode, vec(fn("", code))) }

func (s sections) wasm() []byte {
	out := slices.Clone(header)
	ids := slices.SortedFunc(maps.Keys(s), func(a, b byte) int { return sectionOrder[a] - sectionOrder[b] })
	for _, id := range ids {
		out = appendSection(out, id, []byte(s[id]))
	}
	return out
}

// vec is a vector of entries.
func vec(entries ...string) string {
	return string(appendU32(nil, uint32(len(entries)))) + strings.Join(entries, "")
}

func str(s string) string { return string(appendName(nil, s)) }

// fn is a function body; locals is a vector of groups, "" for none.
func fn(locals, code string) string {
	if locals == "" {
		locals = "\x00"
	}
	return str(locals + code + "\x0b")
}

func uleb(x uint32) string { return string(appendU32(nil, x)) }
