// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// decoder fills structs from YAML nodes by their json tags. It works on nodes,
// not on JSON as sigs.k8s.io/yaml does, because only nodes know their lines,
// show every duplicate, and tell text from what merely looks like a number.
type decoder struct {
	problems Problems
	lines    map[string]int // line of each field that was given
}

// maxProblems bounds what a hostile file can make us remember.
const maxProblems = 100

func (d *decoder) fail(line int, field, format string, args ...any) {
	if len(d.problems) >= maxProblems {
		return
	}
	d.problems = append(d.problems, Problem{line, field, fmt.Sprintf(format, args...)})
}

// failField reports a field found wrong after decoding. One that was of the
// wrong type has its default and was reported before.
func (d *decoder) failField(field, format string, args ...any) {
	if slices.ContainsFunc(d.problems, func(p Problem) bool { return p.Field == field }) {
		return
	}
	d.fail(d.lineOf(field), field, format, args...)
}

// lineOf finds the line of a field, or of the nearest field around it that was
// given.
func (d *decoder) lineOf(field string) int {
	for {
		if line, ok := d.lines[field]; ok {
			return line
		}
		cut := strings.LastIndexAny(field, ".[")
		if cut < 0 {
			return 0
		}
		field = field[:cut]
	}
}

var (
	bytesType  = reflect.TypeFor[Bytes]()
	configType = reflect.TypeFor[map[string]any]()
)

// decode sets v, a settable value, from n. Wrong content is reported and leaves
// v as it was.
func (d *decoder) decode(n *yaml.Node, field string, v reflect.Value) {
	if !d.plain(n, field) {
		return
	}
	d.lines[field] = n.Line
	switch v.Type() {
	case bytesType:
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" && n.ShortTag() != "!!int" {
			d.fail(n.Line, field, "want a quantity like 64Mi, got %s", describe(n))
			return
		}
		b, err := parseBytes(n.Value)
		if err != nil {
			d.fail(n.Line, field, "%v", err)
			return
		}
		v.SetInt(int64(b))
		return
	case configType:
		if n.Kind != yaml.MappingNode {
			d.fail(n.Line, field, "want an object, got %s", describe(n))
			return
		}
		if tree, ok := d.tree(n, field, 1).(map[string]any); ok {
			v.Set(reflect.ValueOf(tree))
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		d.decode(n, field, p.Elem())
		v.Set(p)
	case reflect.Struct:
		d.object(n, field, v)
	case reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			d.fail(n.Line, field, "want a list, got %s", describe(n))
			return
		}
		list := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
		for i, item := range n.Content {
			d.decode(item, fmt.Sprintf("%s[%d]", field, i), list.Index(i))
		}
		v.Set(list)
	case reflect.Map:
		d.mapping(n, field, v)
	case reflect.String:
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" && n.ShortTag() != "!!timestamp" {
			d.fail(n.Line, field, "want a string, got %s", describe(n))
			return
		}
		v.SetString(n.Value)
	case reflect.Bool:
		b, err := strconv.ParseBool(n.Value)
		if err != nil || n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
			d.fail(n.Line, field, "want true or false, got %s", describe(n))
			return
		}
		v.SetBool(b)
	case reflect.Int64:
		i, ok := integer(n)
		if !ok {
			d.fail(n.Line, field, "want a whole number, got %s", describe(n))
			return
		}
		v.SetInt(i)
	default:
		panic("policy: no decoder for " + v.Type().String())
	}
}

// object fills a struct.
func (d *decoder) object(n *yaml.Node, field string, v reflect.Value) {
	d.pairs(n, field, func(key, value *yaml.Node) {
		var known []string
		for i := range v.NumField() {
			name := fieldName(v.Type().Field(i))
			if name == "" {
				continue
			}
			if name == key.Value {
				d.decode(value, join(field, name), v.Field(i))
				return
			}
			known = append(known, name)
		}
		d.fail(key.Line, field, "unknown field %s, want one of %s", quoted(key.Value), strings.Join(known, ", "))
	})
}

// mapping fills a map from strings.
func (d *decoder) mapping(n *yaml.Node, field string, v reflect.Value) {
	m := reflect.MakeMap(v.Type())
	d.pairs(n, field, func(key, value *yaml.Node) {
		item := reflect.New(v.Type().Elem()).Elem()
		d.decode(value, join(field, key.Value), item)
		m.SetMapIndex(reflect.ValueOf(key.Value), item)
	})
	v.Set(m)
}

// maxKey bounds a key, the longest useful one being a label's (317). Escaped, as
// in Policy.Effective, it fits the 1,024 characters of a key that YAML reads.
const maxKey = 320

// pairs calls f for each pair of a mapping whose key is a string that did not
// occur before.
func (d *decoder) pairs(n *yaml.Node, field string, f func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.fail(n.Line, field, "want an object, got %s", describe(n))
		return
	}
	first := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if !d.plain(key, field) {
			continue
		}
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" {
			d.fail(key.Line, field, "want a string as key, got %s; quote it", describe(key))
			continue
		}
		if len(key.Value) > maxKey || strings.ContainsFunc(key.Value, unicode.IsControl) {
			d.fail(key.Line, field, "want keys of at most %d bytes without control characters, got %s", maxKey, quoted(key.Value))
			continue
		}
		if line, ok := first[key.Value]; ok {
			d.fail(key.Line, field, "duplicate field %s, first on line %d", quoted(key.Value), line)
			continue
		}
		first[key.Value] = key.Line
		f(key, value)
	}
}

// plain refuses what only YAML has and JSON has not.
func (d *decoder) plain(n *yaml.Node, field string) bool {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.fail(n.Line, field, "anchors and aliases are not allowed")
	case n.Style&yaml.TaggedStyle != 0:
		d.fail(n.Line, field, "tags are not allowed, got %s", quoted(n.Tag))
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!merge":
		d.fail(n.Line, field, "merge keys are not allowed")
	default:
		return true
	}
	return false
}

// fieldName is the name of a struct's field in YAML, or empty.
func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func join(field, name string) string {
	if field == "" {
		return name
	}
	return field + "." + name
}

// integer reads a whole number that fits 64 bits. Its tag was resolved by the
// same rules, base prefixes and underscores included.
func integer(n *yaml.Node) (int64, bool) {
	var i int64
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Decode(&i) != nil {
		return 0, false
	}
	return i, true
}

// describe says what a node is, for messages.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "an object"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!null":
		return "null"
	case "!!bool", "!!int", "!!float":
		return strings.TrimPrefix(n.ShortTag(), "!!") + " " + strings.Trim(quoted(n.Value), `"`)
	}
	return "string " + quoted(n.Value)
}
