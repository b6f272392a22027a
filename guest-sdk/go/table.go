// SPDX-License-Identifier: Apache-2.0

package berth

// Table maps IDs to values, for what a policy's config names: build it in
// Configured, look it up in Filter and Score. It is an array with the ID as
// index, which in WebAssembly is ten times as fast as a Go map; the IDs of a
// config are the smallest that there are, so it is small, too.
//
// The zero Table is empty.
type Table[V any] struct{ values []V }

// Set gives an ID a value.
func (t *Table[V]) Set(id ID, v V) { *t.At(id) = v }

// At is the place of an ID's value, made if need be; it is valid until the next
// At or Set.
func (t *Table[V]) At(id ID) *V {
	if int(id) >= len(t.values) {
		t.values = append(t.values, make([]V, int(id)+1-len(t.values))...)
	}
	return &t.values[id]
}

// Get is an ID's value, the zero value if it has none.
func (t *Table[V]) Get(id ID) V {
	if int(id) < len(t.values) {
		return t.values[id]
	}
	var none V
	return none
}
