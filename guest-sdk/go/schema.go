// SPDX-License-Identifier: Apache-2.0

package berth

import "github.com/berth-scheduler/berth/abi"

// schema is what a type of config values looks like.
type schema struct {
	kind    string // JSON schema's type
	enum    []string
	bounded bool
	lo, hi  int64
	items   *schema // of a list
	values  *schema // of a map
	object  []Property
}

// object is a map being written: its keys must come in ascending order.
type object struct {
	w     *abi.ValueWriter
	entry int
}

func newObject(w *abi.ValueWriter, at, keys int) *object { return &object{w, w.Map(at, keys)} }

// cell is where the value of the next key goes.
//
//go:noinline
func (o *object) cell(key string) int {
	at := o.w.Key(o.entry, key)
	o.entry += abi.EntrySize
	return at
}

//go:noinline
func (o *object) text(key, value string) { o.w.String(o.cell(key), value) }

//go:noinline
func (o *object) strings(key string, values []string) { o.w.Strings(o.cell(key), values) }

// write writes the JSON schema of a property, or of the whole config.
func (s *schema) write(w *abi.ValueWriter, at int, p *property) {
	required := s.required()
	hasDoc, hasDefault := p != nil && p.doc != "", p != nil && p.fallback != nil
	o := newObject(w, at, 1+count(s.values != nil || s.object != nil, hasDefault, hasDoc, s.enum != nil,
		s.items != nil, s.bounded, s.bounded, s.object != nil, len(required) > 0))
	if s.values != nil {
		s.values.write(w, o.cell("additionalProperties"), nil)
	} else if s.object != nil {
		w.Bool(o.cell("additionalProperties"), false)
	}
	if hasDefault {
		p.of.write(w, o.cell("default"), p.fallback)
	}
	if hasDoc {
		o.text("description", p.doc)
	}
	if s.enum != nil {
		o.strings("enum", s.enum)
	}
	if s.items != nil {
		s.items.write(w, o.cell("items"), nil)
	}
	if s.bounded {
		w.Int(o.cell("maximum"), s.hi)
		w.Int(o.cell("minimum"), s.lo)
	}
	if s.object != nil {
		properties := newObject(w, o.cell("properties"), len(s.object))
		s.inOrder(func(p *property) { p.of.schema.write(w, properties.cell(p.name), p) })
	}
	if len(required) > 0 {
		o.strings("required", required)
	}
	o.text("type", s.kind)
}

func (s *schema) required() (names []string) {
	for _, p := range s.object {
		if p := p.binding(); p.required {
			names = append(names, p.name)
		}
	}
	return names
}

// inOrder calls f with the properties by ascending name.
func (s *schema) inOrder(f func(*property)) {
	last := ""
	for i := range s.object {
		var next *property
		for _, p := range s.object {
			p := p.binding()
			if (i == 0 || p.name > last) && (next == nil || p.name < next.name) {
				next = p
			}
		}
		if next == nil {
			panic("berth: a config property is bound twice")
		}
		last = next.name
		f(next)
	}
}
