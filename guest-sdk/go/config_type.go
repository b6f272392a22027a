// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"strconv"
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
)

// Type says what a config value looks like and how it becomes a T.
type Type[T any] struct{ *erased }

// erased is a Type but for T, which its functions know: into, from and value
// point to one.
type erased struct {
	schema *schema
	read   func(v abi.Value, into unsafe.Pointer) error
	assign func(into, from unsafe.Pointer) // from nil: the zero value
	write  func(w *abi.ValueWriter, at int, value unsafe.Pointer)
}

func assign[T any](into, from unsafe.Pointer) {
	var v T
	if from != nil {
		v = *(*T)(from)
	}
	*(*T)(into) = v
}

const noDefault = "berth: a property of type MapOf or ObjectOf has a default: left out, it is empty"

func writeNone(*abi.ValueWriter, int, unsafe.Pointer) { panic(noDefault) }

// String is the type of texts.
//
//go:noinline
func String() Type[string] {
	return Type[string]{&erased{&schema{kind: "string"}, readText, assign[string], writeText}}
}

func readText(v abi.Value, into unsafe.Pointer) error {
	if v.Kind() != abi.String {
		return wrongKind("a string", v)
	}
	*(*string)(into) = v.Text()
	return nil
}

func writeText(w *abi.ValueWriter, at int, value unsafe.Pointer) { w.String(at, *(*string)(value)) }

// Name is the type of texts that a policy compares with what it finds in pods
// and nodes: label keys and values, resource names, namespaces.
//
//go:noinline
func Name() Type[Symbol] {
	return Type[Symbol]{&erased{&schema{kind: "string"}, readName, assign[Symbol], writeName}}
}

func readName(v abi.Value, into unsafe.Pointer) error {
	var s string
	err := readText(v, unsafe.Pointer(&s))
	*(*Symbol)(into) = NewSymbol(s)
	return err
}

func writeName(w *abi.ValueWriter, at int, value unsafe.Pointer) {
	w.String(at, (*Symbol)(value).String())
}

// Enum is the type of texts that are one of words.
//
//go:noinline
func Enum(words ...string) Type[string] {
	return Type[string]{&erased{&schema{kind: "string", enum: words}, func(v abi.Value, into unsafe.Pointer) error {
		if err := readText(v, into); err != nil {
			return err
		}
		s := *(*string)(into)
		for _, w := range words {
			if s == w {
				return nil
			}
		}
		return &ConfigError{Text: "want " + oneOf(words) + ", got \"" + s + "\""}
	}, assign[string], writeText}}
}

func oneOf(words []string) string {
	s := "one of "
	for i, w := range words {
		if i > 0 {
			s += ", "
		}
		s += w
	}
	return s
}

// Bool is the type of true and false.
//
//go:noinline
func Bool() Type[bool] {
	return Type[bool]{&erased{&schema{kind: "boolean"}, func(v abi.Value, into unsafe.Pointer) error {
		if v.Kind() != abi.Bool {
			return wrongKind("true or false", v)
		}
		*(*bool)(into) = v.Bool()
		return nil
	}, assign[bool], func(w *abi.ValueWriter, at int, value unsafe.Pointer) { w.Bool(at, *(*bool)(value)) }}}
}

// Int is the type of whole numbers.
//
//go:noinline
func Int() Type[int64] {
	return Type[int64]{&erased{&schema{kind: "integer"}, readInt, assign[int64], writeInt}}
}

func readInt(v abi.Value, into unsafe.Pointer) error {
	n := v.Int()
	*(*int64)(into) = n
	switch v.Kind() {
	case abi.Int:
		return nil
	case abi.Float:
		// The bounds are those within which each whole number is a float.
		if f := v.Float(); f >= -1<<53 && f <= 1<<53 && f == float64(n) {
			return nil
		}
	}
	return wrongKind("a whole number", v)
}

func writeInt(w *abi.ValueWriter, at int, value unsafe.Pointer) { w.Int(at, *(*int64)(value)) }

// IntBetween is the type of whole numbers from lo to hi.
//
//go:noinline
func IntBetween(lo, hi int64) Type[int64] {
	return Type[int64]{&erased{&schema{kind: "integer", bounded: true, lo: lo, hi: hi}, func(v abi.Value, into unsafe.Pointer) error {
		if err := readInt(v, into); err != nil {
			return err
		}
		if n := *(*int64)(into); n < lo || n > hi {
			return &ConfigError{Text: "want " + strconv.FormatInt(lo, 10) + " to " + strconv.FormatInt(hi, 10) + ", got " + strconv.FormatInt(n, 10)}
		}
		return nil
	}, assign[int64], writeInt}}
}

// Float is the type of numbers.
//
//go:noinline
func Float() Type[float64] {
	return Type[float64]{&erased{&schema{kind: "number"}, func(v abi.Value, into unsafe.Pointer) error {
		if k := v.Kind(); k != abi.Int && k != abi.Float {
			return wrongKind("a number", v)
		}
		*(*float64)(into) = v.Float()
		return nil
	}, assign[float64], func(w *abi.ValueWriter, at int, value unsafe.Pointer) { w.Float(at, *(*float64)(value)) }}}
}

// ListOf is the type of lists.
func ListOf[T any](of Type[T]) Type[[]T] {
	return Type[[]T]{listOf(of.erased, unsafe.Sizeof(*new(T)), func(into unsafe.Pointer, n int) unsafe.Pointer {
		l := make([]T, n)
		*(*[]T)(into) = l
		return unsafe.Pointer(unsafe.SliceData(l))
	}, assign[[]T])}
}

//go:noinline
func listOf(of *erased, stride uintptr, alloc func(into unsafe.Pointer, n int) unsafe.Pointer, assign func(into, from unsafe.Pointer)) *erased {
	return &erased{&schema{kind: "array", items: of.schema}, func(v abi.Value, into unsafe.Pointer) error {
		if v.Kind() != abi.List {
			return wrongKind("a list", v)
		}
		first := alloc(into, v.Len())
		for i := range v.Len() {
			if err := of.read(v.At(i), unsafe.Add(first, uintptr(i)*stride)); err != nil {
				return inside("["+strconv.Itoa(i)+"]", err)
			}
		}
		return nil
	}, assign, func(w *abi.ValueWriter, at int, value unsafe.Pointer) {
		// A slice of any type begins with its data and its length.
		l := *(*[]struct{})(value)
		cell := w.List(at, len(l))
		for i := range l {
			of.write(w, cell+i*abi.CellSize, unsafe.Add(unsafe.Pointer(unsafe.SliceData(l)), uintptr(i)*stride))
		}
	}}
}

// Entry is an entry of a map.
type Entry[T any] struct {
	Key   string
	Value T
}

// MapOf is the type of objects with any keys and values of one type. They are
// read as a list in ascending order of their keys, since a policy mostly makes
// tables of its own of them, and the order of a Go map is another one each time.
// A property of this type can have no default.
func MapOf[T any](of Type[T]) Type[[]Entry[T]] {
	return Type[[]Entry[T]]{mapOf(of.erased, func(into unsafe.Pointer, n int) (first unsafe.Pointer, stride, value uintptr) {
		l := make([]Entry[T], n)
		*(*[]Entry[T])(into) = l
		return unsafe.Pointer(unsafe.SliceData(l)), unsafe.Sizeof(Entry[T]{}), unsafe.Offsetof(Entry[T]{}.Value)
	}, assign[[]Entry[T]])}
}

//go:noinline
func mapOf(of *erased, alloc func(unsafe.Pointer, int) (first unsafe.Pointer, stride, value uintptr), assign func(into, from unsafe.Pointer)) *erased {
	return &erased{&schema{kind: "object", values: of.schema}, func(v abi.Value, into unsafe.Pointer) error {
		if v.Kind() != abi.Map {
			return wrongKind("an object", v)
		}
		entry, stride, value := alloc(into, v.Len())
		for i := range v.Len() {
			key := v.Key(i)
			*(*string)(entry) = key
			if err := of.read(v.At(i), unsafe.Add(entry, value)); err != nil {
				return inside(key, err)
			}
			if i+1 < v.Len() {
				entry = unsafe.Add(entry, stride)
			}
		}
		return nil
	}, assign, writeNone}
}

// ObjectOf is the type of objects whose properties are read into the fields of
// a T:
//
//	berth.ObjectOf(func(r *rule) []berth.Property {
//		return []berth.Property{berth.Bind("pool", &r.pool, berth.Name()).Required()}
//	})
//
// A property of this type can have no default; its own properties can.
func ObjectOf[T any](properties func(*T) []Property) Type[T] {
	return Type[T]{objectOf(properties(new(T)), func(into unsafe.Pointer) []Property { return properties((*T)(into)) }, assign[T])}
}

//go:noinline
func objectOf(sample []Property, properties func(unsafe.Pointer) []Property, assign func(into, from unsafe.Pointer)) *erased {
	return &erased{&schema{kind: "object", object: sample}, func(v abi.Value, into unsafe.Pointer) error {
		if v.Kind() != abi.Map {
			return wrongKind("an object", v)
		}
		return readObject(properties(into), v)
	}, assign, writeNone}
}
