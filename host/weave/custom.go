// SPDX-License-Identifier: Apache-2.0

package weave

import (
	"bytes"
	"fmt"
	"slices"
)

func appendCustom(dst []byte, name string, data []byte) []byte {
	return appendSection(dst, secCustom, append(appendName(nil, name), data...))
}

// sectionsOf cuts any module into its sections, without looking into them.
func sectionsOf(wasm []byte) ([]section, error) {
	if !bytes.HasPrefix(wasm, header) {
		return nil, fmt.Errorf("want the header of a core module (version 1), got %q", wasm[:min(len(wasm), len(header))])
	}
	return splitSections(wasm, DefaultLimits().Sections)
}

// CustomSection returns the content of the first custom section of that name,
// and whether there is one. The content points into wasm.
func CustomSection(wasm []byte, name string) ([]byte, bool, error) {
	sections, err := sectionsOf(wasm)
	if err != nil {
		return nil, false, fmt.Errorf("custom section %q: %w", name, err)
	}
	for _, s := range sections {
		if s.id == secCustom && s.name == name {
			return s.data, true, nil
		}
	}
	return nil, false, nil
}

// AppendCustomSection returns a copy of a module in which the only custom
// section of that name is the given one, at the module's end.
func AppendCustomSection(wasm []byte, name string, data []byte) ([]byte, error) {
	sections, err := sectionsOf(wasm)
	if err != nil {
		return nil, fmt.Errorf("append custom section %q: %w", name, err)
	}
	sections = slices.DeleteFunc(sections, func(s section) bool { return s.id == secCustom && s.name == name })
	out := joinSections(sections, len(wasm)+len(name)+len(data))
	return appendCustom(out, name, data), nil
}

// RemoveExports returns a copy of a module without exports of the given names.
// Names that it doesn't export are passed over.
func RemoveExports(wasm []byte, names ...string) ([]byte, error) {
	m, err := parse(wasm, DefaultLimits())
	if err != nil {
		return nil, fmt.Errorf("remove exports: %w", err)
	}
	kept := slices.DeleteFunc(m.exports, func(e export) bool { return slices.Contains(names, e.name) })
	content := appendU32(nil, uint32(len(kept)))
	for _, e := range kept {
		content = appendU32(append(appendName(content, e.name), e.kind), e.index)
	}
	for i := range m.sections {
		if s := &m.sections[i]; s.id == secExport {
			s.data = content
		}
	}
	return joinSections(m.sections, len(wasm)), nil
}

func joinSections(sections []section, size int) []byte {
	out := append(make([]byte, 0, size+64), header...)
	for _, s := range sections {
		if s.id == secCustom {
			out = appendCustom(out, s.name, s.data)
		} else {
			out = appendSection(out, s.id, s.data)
		}
	}
	return out
}
