// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"iter"

	"github.com/berth-scheduler/berth/abi"
)

// Object is a value that the host gave: a whole Kubernetes object, what Keep
// kept, an event's old object. It is a tree of maps, lists, texts and numbers
// with JSON's field names. The zero Object, what isn't there and null are the
// same: their Exists is false, their texts are empty and their numbers 0, so a
// path may be followed without asking at each step:
//
//	limit := quota.Get("spec", "hard", "gpus").Int()
//
// An Object is valid during the call, in PostFilter to its end. Texts are
// copies.
type Object struct{ v abi.Value }

// Get follows keys of maps.
func (o Object) Get(path ...string) Object {
	for _, key := range path {
		o.v, _ = o.v.Get(key)
	}
	return o
}

// Exists says whether there is a value, and not null.
func (o Object) Exists() bool { return o.v.Kind() != abi.Null }

// Text is a text, or a quantity's.
func (o Object) Text() string { return o.v.Text() }

// Int is a whole number, a quantity rounded up, or a float cut off.
func (o Object) Int() int64 { return o.v.Int() }

// Float is a number.
func (o Object) Float() float64 { return o.v.Float() }

// Bool is a truth value.
func (o Object) Bool() bool { return o.v.Bool() }

// Quantity is a resource quantity. Only the types of Kubernetes itself have
// them: those of a custom resource are texts.
func (o Object) Quantity() abi.Quantity { return o.v.Quantity() }

// Len is the number of entries of a list or a map.
func (o Object) Len() int { return o.v.Len() }

// At is entry i of a list or a map, in 0..Len()-1; it panics for another i.
func (o Object) At(i int) Object {
	if uint(i) >= uint(o.v.Len()) {
		panic("berth: index out of range")
	}
	return Object{o.v.At(i)}
}

// Key is the key of a map's entry i.
func (o Object) Key(i int) string {
	if o.v.Kind() != abi.Map || uint(i) >= uint(o.v.Len()) {
		panic("berth: index out of range")
	}
	return o.v.Key(i)
}

// All ranges over the entries of a list or a map.
func (o Object) All() iter.Seq[Object] {
	return func(yield func(Object) bool) {
		for i := range o.v.Len() {
			if !yield(Object{o.v.At(i)}) {
				return
			}
		}
	}
}

// argument is the call's argument, where it is a value record.
//
//go:noinline
func (f frame) argument() Object {
	if u32(f.at, abi.FrameArgLen) == 0 {
		return Object{}
	}
	return Object{abi.TrustValue(f.arg())}
}
