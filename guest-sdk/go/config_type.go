// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"strconv"

	"github.com/berth-scheduler/berth/abi"
)

// Type says what a config value looks like and how it becomes a T.
type Type[T any] struct {
	schema map[string]any
	read   func(v abi.Value) (T, error)
	tree   func(T) any // the value as a schema's default
}

func same[T any](v T) any { return v }

// String is the type of texts.
func String() Type[string] {
	return Type[string]{map[string]any{"type": "string"}, readText, same[string]}
}

func readText(v abi.Value) (string, error) {
	if v.Kind() != abi.String {
		return "", wrongKind("a string", v)
	}
	return v.Text(), nil
}

// Name is the type of texts that a policy compares with what it finds in pods
// and nodes: label keys and values, resource names, namespaces.
func Name() Type[Symbol] {
	return Type[Symbol]{
		map[string]any{"type": "string"},
		func(v abi.Value) (Symbol, error) {
			s, err := readText(v)
			return NewSymbol(s), err
		},
		func(s Symbol) any { return s.String() },
	}
}

// Enum is the type of texts that are one of words.
func Enum(words ...string) Type[string] {
	list := make([]any, len(words))
	for i, w := range words {
		list[i] = w
	}
	return Type[string]{
		map[string]any{"type": "string", "enum": list},
		func(v abi.Value) (string, error) {
			s, err := readText(v)
			if err != nil {
				return "", err
			}
			want := ""
			for i, w := range words {
				if s == w {
					return s, nil
				}
				if i > 0 {
					want += ", "
				}
				want += w
			}
			return "", &ConfigError{Text: "want one of " + want + ", got \"" + s + "\""}
		},
		same[string],
	}
}

// Bool is the type of true and false.
func Bool() Type[bool] {
	return Type[bool]{
		map[string]any{"type": "boolean"},
		func(v abi.Value) (bool, error) {
			if v.Kind() != abi.Bool {
				return false, wrongKind("true or false", v)
			}
			return v.Bool(), nil
		},
		same[bool],
	}
}

// Int is the type of whole numbers.
func Int() Type[int64] {
	return Type[int64]{map[string]any{"type": "integer"}, readInt, same[int64]}
}

func readInt(v abi.Value) (int64, error) {
	switch v.Kind() {
	case abi.Int:
		return v.Int(), nil
	case abi.Float:
		// The bounds are those within which each whole number is a float.
		if f := v.Float(); f >= -1<<53 && f <= 1<<53 && f == float64(int64(f)) {
			return int64(f), nil
		}
	}
	return 0, wrongKind("a whole number", v)
}

// IntBetween is the type of whole numbers from lo to hi.
func IntBetween(lo, hi int64) Type[int64] {
	return Type[int64]{
		map[string]any{"type": "integer", "minimum": lo, "maximum": hi},
		func(v abi.Value) (int64, error) {
			n, err := readInt(v)
			if err == nil && (n < lo || n > hi) {
				err = &ConfigError{Text: "want " + strconv.FormatInt(lo, 10) + " to " + strconv.FormatInt(hi, 10) + ", got " + strconv.FormatInt(n, 10)}
			}
			return n, err
		},
		same[int64],
	}
}

// Float is the type of numbers.
func Float() Type[float64] {
	return Type[float64]{
		map[string]any{"type": "number"},
		func(v abi.Value) (float64, error) {
			if k := v.Kind(); k != abi.Int && k != abi.Float {
				return 0, wrongKind("a number", v)
			}
			return v.Float(), nil
		},
		same[float64],
	}
}

// ListOf is the type of lists.
func ListOf[T any](of Type[T]) Type[[]T] {
	return Type[[]T]{
		map[string]any{"type": "array", "items": any(of.schema)},
		func(v abi.Value) ([]T, error) {
			if v.Kind() != abi.List {
				return nil, wrongKind("a list", v)
			}
			l := make([]T, v.Len())
			for i := range l {
				t, err := of.read(v.At(i))
				if err != nil {
					return nil, inside("["+strconv.Itoa(i)+"]", err)
				}
				l[i] = t
			}
			return l, nil
		},
		func(l []T) any {
			tree := make([]any, len(l))
			for i := range l {
				tree[i] = of.tree(l[i])
			}
			return tree
		},
	}
}

// MapOf is the type of objects with any keys and values of one type.
func MapOf[T any](of Type[T]) Type[map[string]T] {
	return Type[map[string]T]{
		map[string]any{"type": "object", "additionalProperties": any(of.schema)},
		func(v abi.Value) (map[string]T, error) {
			if v.Kind() != abi.Map {
				return nil, wrongKind("an object", v)
			}
			m := make(map[string]T, v.Len())
			for i := range v.Len() {
				t, err := of.read(v.At(i))
				if err != nil {
					return nil, inside(v.Key(i), err)
				}
				m[v.Key(i)] = t
			}
			return m, nil
		},
		func(m map[string]T) any {
			tree := make(map[string]any, len(m))
			for k, v := range m {
				tree[k] = of.tree(v)
			}
			return tree
		},
	}
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
	var sample T
	return Type[T]{
		schemaOf(properties(&sample)),
		func(v abi.Value) (T, error) {
			var t T
			if v.Kind() != abi.Map {
				return t, wrongKind("an object", v)
			}
			err := readObject(properties(&t), v)
			return t, err
		},
		func(T) any { panic("berth: a property of type ObjectOf has a default: give its properties theirs") },
	}
}
