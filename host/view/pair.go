// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// pair is an entry of a map of strings with its ids.
type pair struct {
	key, value     string
	keyID, valueID uint32
}

// sorted interns a map's keys, and its values if values is set, and returns its
// entries by key id. They are in scratch memory, good until the next call.
//
// New strings are interned in the order of the keys: ids must not depend on the
// iteration order of a Go map, or equal runs would differ.
func (e *Encoder) sorted(m map[string]string, values bool) []pair {
	ps, known := e.pairs[:0], true
	e.strings.RLock()
	for k, v := range m {
		p := pair{key: k, value: v}
		var ok bool
		if p.keyID, ok = e.strings.Known(k); !ok {
			known = false
		}
		if values {
			if p.valueID, ok = e.strings.Known(v); !ok {
				known = false
			}
		}
		ps = append(ps, p)
	}
	e.strings.RUnlock()
	e.pairs = ps
	if !known {
		slices.SortFunc(ps, func(a, b pair) int { return cmp.Compare(a.key, b.key) })
		for i := range ps {
			ps[i].keyID = e.id(ps[i].key)
			if values {
				ps[i].valueID = e.id(ps[i].value)
			}
		}
	}
	slices.SortFunc(ps, func(a, b pair) int { return cmp.Or(cmp.Compare(a.keyID, b.keyID), cmp.Compare(a.key, b.key)) })
	return ps
}

func (e *Encoder) pairSection(index uint32, m map[string]string) {
	e.putPairs(e.listSection(index, len(m), abi.PairSize), m)
}

func (e *Encoder) pairList(at uint32, m map[string]string) {
	e.putPairs(e.w.list(at, len(m), abi.PairSize), m)
}

func (e *Encoder) putPairs(off uint32, m map[string]string) {
	for _, p := range e.sorted(m, true) {
		e.w.u32(off+abi.PairKey, p.keyID)
		e.w.u32(off+abi.PairValue, p.valueID)
		off += abi.PairSize
	}
}

func (e *Encoder) annotationSection(index uint32, m map[string]string) {
	off := e.listSection(index, len(m), abi.AnnotationSize)
	for _, p := range e.sorted(m, false) {
		e.w.u32(off+abi.AnnotationKey, p.keyID)
		e.w.text(off+abi.AnnotationValue, p.value)
		off += abi.AnnotationSize
	}
}
