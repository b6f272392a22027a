// SPDX-License-Identifier: Apache-2.0

package abi

import (
	"slices"
	"strings"
	"testing"
)

// keyTypes are those that CheckKeys knows.
var keyTypes = []string{"string", "int", "float", "bool", "map", "any", "list of strings", "list of ints", "list of maps"}

// checkKeyInfos wants keys of known types, each once, documented.
func checkKeyInfos(t *testing.T, where string, keys []KeyInfo) {
	t.Helper()
	for i, k := range keys {
		if !snakeCase.MatchString(k.Key) || slices.ContainsFunc(keys[:i], func(o KeyInfo) bool { return o.Key == k.Key }) {
			t.Errorf("%s: key %q: want a snake_case name of its own", where, k.Key)
		}
		if !slices.Contains(keyTypes, k.Type) || k.Doc == "" {
			t.Errorf("%s: key %s: want a known type and a doc, got %q and %q", where, k.Key, k.Type, k.Doc)
		}
		if k.Key == "intents" || k.Key == "kind" {
			t.Errorf("%s: key %s: want another name, it has a meaning at every point", where, k.Key)
		}
	}
}

// Each row of the records is of a point's phase, once; questions are asked where
// there are steps, and every step is answered.
func TestRecords(t *testing.T) {
	seen := map[[2]int]bool{}
	for _, r := range Records() {
		where := r.Point.String() + ", " + r.Phase.String()
		at := [2]int{int(r.Point), int(r.Phase)}
		if seen[at] || !slices.Contains(Points[r.Point].Phases, r.Phase) {
			t.Errorf("%s: want a phase of the point, once", where)
		}
		seen[at] = true
		for _, keys := range [][]KeyInfo{r.Arg, r.Ask, r.Reply} {
			checkKeyInfos(t, where, keys)
		}
		if steps := slices.Contains(Points[r.Point].Phases, Step); steps != (len(r.Ask) > 0) {
			t.Errorf("%s: want questions where the point has steps, %t, got %v", where, steps, r.Ask)
		}
		for _, k := range r.Ask {
			if k.Required {
				t.Errorf("%s: question %s: want none required, a guest asks one", where, k.Key)
			}
		}
		if len(r.Arg)+len(r.Ask)+len(r.Reply) == 0 {
			t.Errorf("%s: want keys, got none", where)
		}
	}
	for i := range Points {
		p := &Points[i]
		if slices.Contains(p.Phases, Step) && (!seen[[2]int{i, int(Begin)}] || !seen[[2]int{i, int(Step)}]) {
			t.Errorf("%s: want records of begin and step", p.Name)
		}
	}
}

func TestIntents(t *testing.T) {
	takes := TakesIntents()
	for i, p := range takes {
		if p == Describe || p == Configure || Points[p].Item == ScoreItem || slices.Contains(takes[:i], p) {
			t.Errorf("%s: want a point that may take intents, once", p)
		}
	}
	kinds := map[string]bool{}
	for _, i := range Intents() {
		if !snakeCase.MatchString(i.Kind) || kinds[i.Kind] || i.Doc == "" {
			t.Errorf("intent %q: want a snake_case name of its own and a doc", i.Kind)
		}
		kinds[i.Kind] = true
		checkKeyInfos(t, i.Kind, i.Keys)
		for _, p := range i.Points {
			if !slices.Contains(takes, p) {
				t.Errorf("intent %s: want points that take intents, got %s", i.Kind, p)
			}
		}
	}
}

func TestReadTable(t *testing.T) {
	for i, r := range ReadTable() {
		if r.Read != Read(i) || !snakeCase.MatchString(r.Name) || r.Key == "" || r.Doc == "" {
			t.Errorf("read %d: want its number, a snake_case name, a key and a doc, got %+v", i, r)
		}
	}
}

func TestEvents(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range Events() {
		if seen[e.Name] || e.Doc == "" || strings.Trim(e.Name, "abcdefghijklmnopqrstuvwxyz_/") != "" {
			t.Errorf("event %q: want a lower-case name of its own and a doc", e.Name)
		}
		seen[e.Name] = true
	}
	if !seen[EventResource] {
		t.Errorf("want the event %s in the table", EventResource)
	}
}

func TestCheckKeys(t *testing.T) {
	keys := []KeyInfo{
		{"s", "string", "", true}, {"i", "int", "", false}, {"f", "float", "", false}, {"m", "map", "", false}, {"a", "any", "", false},
		{"b", "bool", "", false}, {"ss", "list of strings", "", false}, {"is", "list of ints", "", false}, {"ms", "list of maps", "", false},
	}
	with := func(key string, v any) map[string]any {
		m := map[string]any{"s": "x"}
		if m[key] = v; v == nil {
			delete(m, key)
		}
		return m
	}
	for name, c := range map[string]struct {
		tree any
		want string // "" is none
	}{
		"least":             {with("s", "x"), ""},
		"null":              {nil, `key "s" is missing`},
		"missing":           {with("s", nil), `key "s" is missing`},
		"unknown":           {with("colour", "red"), `unknown key "colour"`},
		"string an int":     {with("s", 1), `key "s": want string, got int`},
		"int":               {with("i", -1), ""},
		"int a float":       {with("i", 0.5), `key "i": want int, got float`},
		"float an int":      {with("f", 1), ""},
		"float a string":    {with("f", "1"), `key "f": want float, got string`},
		"bool":              {with("b", true), ""},
		"bool an int":       {with("b", 1), `key "b": want bool, got int`},
		"map":               {with("m", map[string]any{"x": 1}), ""},
		"map a list":        {with("m", []any{}), `key "m": want map, got list`},
		"any":               {with("a", []any{1, nil}), ""},
		"strings":           {with("ss", []string{"x"}), ""},
		"no strings":        {with("ss", []any{}), ""},
		"strings mixed":     {with("ss", []any{"x", 1}), `key "ss": want list of strings, got list`},
		"strings a map":     {with("ss", map[string]any{}), `key "ss": want list of strings, got map`},
		"ints":              {with("is", []any{1, 2}), ""},
		"ints with a float": {with("is", []any{1, 0.5}), `key "is": want list of ints, got list`},
		"maps":              {with("ms", []any{map[string]any{}}), ""},
		"maps with null":    {with("ms", []any{nil}), `key "ms": want list of maps, got list`},
	} {
		rec, err := EncodeValue(c.tree)
		if err != nil {
			t.Fatal(err)
		}
		v, err := OpenValue(rec)
		if err != nil {
			t.Fatal(err)
		}
		want := c.want
		if want != "" {
			want = "value record: " + want
		}
		if got := errorText(CheckKeys(v, keys)); got != want {
			t.Errorf("%s: want %q, got %q", name, want, got)
		}
	}
}
