// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/berth-scheduler/berth/abi"
)

// ambiguous are plain words that are booleans for readers of YAML 1.1, which
// Kubernetes' own tools are, and strings for readers of YAML 1.2.
var ambiguous = regexp.MustCompile(`^(?i:y|n|yes|no|on|off)$`)

// whole is a number without fraction or exponent.
var whole = regexp.MustCompile(`^[-+]?[0-9_]+$`)

// tree reads any content: map[string]any, []any, string, int64, float64, bool
// and nil. Integers and floats stay apart (1 and 1.0), as in a value record.
func (d *decoder) tree(n *yaml.Node, field string, depth int) any {
	if depth > abi.MaxValueDepth {
		d.fail(n.Line, "config", "nested deeper than %d", abi.MaxValueDepth)
		return nil
	}
	if !d.plain(n, field) {
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		d.pairs(n, field, func(key, value *yaml.Node) {
			m[key.Value] = d.tree(value, join(field, key.Value), depth+1)
		})
		return m
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for i, item := range n.Content {
			list = append(list, d.tree(item, fmt.Sprintf("%s[%d]", field, i), depth+1))
		}
		return list
	}
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		b, _ := strconv.ParseBool(n.Value)
		return b
	case "!!int":
		i, ok := integer(n)
		if !ok {
			d.fail(n.Line, field, "%s doesn't fit 64 bits; quote it", describe(n))
		}
		return i
	case "!!float":
		var f float64
		if err := n.Decode(&f); err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			d.fail(n.Line, field, "want a finite number, got %s", describe(n))
			return nil
		}
		if whole.MatchString(n.Value) {
			d.fail(n.Line, field, "int %s doesn't fit 64 bits; quote it", n.Value)
			return nil
		}
		return f
	}
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 && ambiguous.MatchString(n.Value) {
		d.fail(n.Line, field, "%s may mean a boolean or text: write true or false, or quote it", n.Value)
	}
	return n.Value
}

// exactFloat is a float that stays one when its JSON is read again.
type exactFloat float64

// MarshalJSON writes the shortest text that reads back to the same float.
func (f exactFloat) MarshalJSON() ([]byte, error) {
	text := strconv.FormatFloat(float64(f), 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return []byte(text), nil
}

// exact copies a tree with its floats as exactFloat.
func exact(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, item := range v {
			m[k] = exact(item)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = exact(item)
		}
		return list
	case float64:
		return exactFloat(v)
	}
	return v
}

// yamlSafe escapes what JSON allows in strings and YAML doesn't: the other
// control characters, the next-line character that YAML would fold, and the
// byte order mark and its mirror.
func yamlSafe(text []byte) []byte {
	odd := func(r rune) bool { return r >= 0x7f && r < 0xa0 || r == 0xfeff || r == 0xfffe || r == 0xffff }
	if bytes.IndexFunc(text, odd) < 0 {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		if odd(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}
