// SPDX-License-Identifier: Apache-2.0

package abi

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDescriptionRoundTrip(t *testing.T) {
	for name, want := range map[string]*Description{
		"least": {Name: "a", Version: "1", Points: []string{"filter"}},
		"all": {
			Name: "team-pools", Version: "v1.2.3", Points: []string{"queueing_hint", "pre_filter", "filter", "pre_score", "score", "normalize_score"},
			Chunked: []string{"pre_filter", "pre_score"}, Reads: []string{"node.labels", "pod.labels", "pod.identity"}, Normalize: NormalizeCustom,
			Pure: true, Intents: []string{"event", "evict"}, Events: []string{"node/label", "resource"},
			Resources: []Resource{{Name: "policy/v1/poddisruptionbudgets"}, {Name: "v1/nodes", Selector: "a=b", Fields: []string{"spec.min", "status"}}},
			DataSets:  []string{"watts"}, Aggregates: []string{"namespace", "label/team"},
			Schema: map[string]any{"type": "object", "required": []any{"pool"}, "minimum": int64(1)},
		},
		"normalize": {Name: strings.Repeat("n", MaxNameBytes), Points: []string{"score"}, Normalize: NormalizeReversed},
	} {
		rec, err := want.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseDescription(rec)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Every field has a key, and the other way round.
func TestDescriptionKeys(t *testing.T) {
	typ := reflect.TypeFor[Description]()
	if typ.NumField() != len(DescriptionKeys) {
		t.Fatalf("keys: want one a field, %d, got %d", typ.NumField(), len(DescriptionKeys))
	}
	for i, k := range DescriptionKeys {
		if want := snake(typ.Field(i).Name); k.Key != want || k.Doc == "" {
			t.Errorf("key %d: want %q and a doc, got %q", i, want, k.Key)
		}
	}
}

func TestParseDescriptionErrors(t *testing.T) {
	with := func(key string, v any) map[string]any {
		m := map[string]any{"name": "a", "version": "1", "minor": 0, "points": []string{"filter", "score", "pre_filter"}}
		if m[key] = v; v == nil {
			delete(m, key)
		}
		return m
	}
	resource := func(name string) []any { return []any{map[string]any{"resource": name}} }
	for name, tc := range map[string]struct {
		tree any
		err  string
	}{
		"list":                    {[]any{}, "want a map, got list"},
		"no name":                 {with("name", nil), `key "name" is missing`},
		"no version":              {with("version", nil), `key "version" is missing`},
		"no minor":                {with("minor", nil), `key "minor" is missing`},
		"no points":               {with("points", nil), `key "points" is missing`},
		"name an int":             {with("name", 1), `key "name": want string, got int`},
		"minor a string":          {with("minor", "0"), `key "minor": want int, got string`},
		"minor a float":           {with("minor", 0.5), `key "minor": want int, got float`},
		"points a string":         {with("points", "filter"), `key "points": want list, got string`},
		"points of ints":          {with("points", []any{1}), `key "points": want strings, got int`},
		"reads of lists":          {with("reads", []any{[]any{}}), `key "reads": want strings, got list`},
		"pure an int":             {with("pure", 1), `key "pure": want bool, got int`},
		"schema a list":           {with("schema", []any{}), `key "schema": want map, got list`},
		"unknown key":             {with("colour", "red"), `unknown key "colour"`},
		"empty name":              {with("name", ""), "name: want 1 to 253 bytes, got 0"},
		"long name":               {with("name", strings.Repeat("n", MaxNameBytes+1)), "name: want 1 to 253 bytes, got 254"},
		"minor too new":           {with("minor", Minor+1), "minor: want 0 to 0, got 1"},
		"minor below 0":           {with("minor", -5), "minor: want 0 to 0, got -5"},
		"points empty":            {with("points", []any{}), "points: want at least one, got none"},
		"point unknown":           {with("points", []string{"colour"}), `points: "colour" is unknown here`},
		"point describe":          {with("points", []string{"describe"}), `points: "describe" is unknown here`},
		"point configure":         {with("points", []string{"filter", "configure"}), `points: "configure" is unknown here`},
		"point twice":             {with("points", []string{"filter", "score", "filter"}), `points: "filter" is named twice`},
		"section unknown":         {with("reads", []string{"node.colour"}), `reads: "node.colour" is unknown here`},
		"section twice":           {with("reads", []string{"pod.meta", "pod.meta"}), `reads: "pod.meta" is named twice`},
		"chunked other":           {with("chunked", []string{"filter"}), `chunked: "filter" is unknown here`},
		"chunked not implemented": {with("chunked", []string{"pre_score"}), `chunked: "pre_score" is unknown here`},
		"chunked twice":           {with("chunked", []string{"pre_filter", "pre_filter"}), `chunked: "pre_filter" is named twice`},
		"intent empty":            {with("intents", []string{""}), `intents: "" is unknown here`},
		"intent twice":            {with("intents", []string{"event", "event"}), `intents: "event" is named twice`},
		"intent unknown":          {with("intents", []string{"shout"}), `intents: "shout" is unknown here`},
		"event unknown":           {with("events", []string{"node/colour"}), `events: "node/colour" is unknown here`},
		"events, no hint":         {with("events", []string{"node/add"}), "events: they go with the point queueing_hint, and only with it"},
		"resources of strings":    {with("resources", []string{"v1/nodes"}), `key "resources": want maps, got string`},
		"resource empty":          {with("resources", []any{map[string]any{}}), `resources: "" is unknown here`},
		"resource without slash":  {with("resources", resource("nodes")), `resources: "nodes" is unknown here`},
		"resource twice":          {with("resources", append(resource("v1/nodes"), resource("v1/nodes")...)), `resources: "v1/nodes" is named twice`},
		"resource's key":          {with("resources", []any{map[string]any{"colour": "red"}}), `key "resources": want resource and selector, strings, and fields, a list, got "colour" string`},
		"resource's fields":       {with("resources", []any{map[string]any{"fields": []any{1}}}), `key "resources": want strings, got int`},
		"data set empty":          {with("data_sets", []string{""}), `data_sets: "" is unknown here`},
		"aggregate unknown":       {with("aggregates", []string{"label/"}), `aggregates: "label/" is unknown here`},
		"normalize unknown":       {with("normalize", "min"), `normalize: want none, max, reversed or custom, got "min"`},
		"custom, no point":        {with("normalize", NormalizeCustom), "normalize: custom goes with the point normalize_score, and only with it"},
		"point, not custom":       {with("points", []string{"normalize_score"}), "normalize: custom goes with the point normalize_score, and only with it"},
	} {
		rec, err := EncodeValue(tc.tree)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		d, err := ParseDescription(rec)
		if want := "describe document: " + tc.err; errorText(err) != want {
			t.Errorf("%s: want error %q, got %v", name, want, err)
		}
		_ = d
	}
	if _, err := ParseDescription(nil); !strings.Contains(errorText(err), "describe document: value record: want 24 to") {
		t.Errorf("no bytes: want an error about the value record, got %v", err)
	}
	large := make([]byte, MaxPayloadBytes+1)
	if _, err := ParseDescription(large); !strings.Contains(errorText(err), "want at most 262144 bytes, got 262145") {
		t.Errorf("large: want an error about its size, got %v", err)
	}
}

func TestEncodeDescriptionError(t *testing.T) {
	d := &Description{Name: "\xff", Points: []string{"filter"}}
	if _, err := d.Encode(); err == nil {
		t.Error("name that isn't UTF-8: want an error")
	}
}
