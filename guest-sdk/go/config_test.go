// SPDX-License-Identifier: Apache-2.0

package berth_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
)

// settings is a plugin with a property of each type.
type settings struct {
	filterFunc
	text  string
	key   berth.Symbol
	mode  string
	on    bool
	count int64
	share float64
	list  []string
	rules []rule
	teams []berth.Entry[[]string]
	hook  error
}

type rule struct {
	Pool   string
	Weight int64
}

func (s *settings) Config() []berth.Property {
	return []berth.Property{
		berth.Bind("text", &s.text, berth.String()).Default("a text").Doc("some text"),
		berth.Bind("key", &s.key, berth.Name()).Required(),
		berth.Bind("mode", &s.mode, berth.Enum("Soft", "Hard")).Default("Soft"),
		berth.Bind("on", &s.on, berth.Bool()).Default(true),
		berth.Bind("count", &s.count, berth.IntBetween(-5, 10)).Default(3),
		berth.Bind("share", &s.share, berth.Float()).Default(0.5),
		berth.Bind("list", &s.list, berth.ListOf(berth.String())).Default([]string{"x", "y"}),
		berth.Bind("rules", &s.rules, berth.ListOf(berth.ObjectOf(func(r *rule) []berth.Property {
			return []berth.Property{
				berth.Bind("pool", &r.Pool, berth.String()).Required(),
				berth.Bind("weight", &r.Weight, berth.Int()).Default(7),
			}
		}))),
		berth.Bind("teams", &s.teams, berth.MapOf(berth.ListOf(berth.String()))),
	}
}

func (s *settings) Configured() error { return s.hook }

var settingsPolicy = berth.Policy{Name: "settings", Version: "1"}

func TestConfig(t *testing.T) {
	s := &settings{}
	h := berthtest.New(t, &settingsPolicy, s, map[string]any{
		"key": "zone", "text": "other", "mode": "Hard", "on": false, "count": -5, "share": 2, "list": []any{},
		"rules": []any{map[string]any{"pool": "a"}, map[string]any{"pool": "b", "weight": 1.0}},
		"teams": map[string]any{"red": []any{"r1", "r2"}, "blue": []any{}},
	})
	if s.text != "other" || s.key.String() != "zone" || s.mode != "Hard" || s.on || s.count != -5 || s.share != 2 || len(s.list) != 0 {
		t.Errorf("got %+v", s)
	}
	if diff := cmp.Diff([]rule{{"a", 7}, {"b", 1}}, s.rules); diff != "" {
		t.Errorf("rules: want (-), got (+):\n%s", diff)
	}
	if diff := cmp.Diff([]berth.Entry[[]string]{{"blue", []string{}}, {"red", []string{"r1", "r2"}}}, s.teams); diff != "" {
		t.Errorf("teams: want (-), got (+):\n%s", diff)
	}
	// Nothing is left of the config before.
	if err := h.Configure(map[string]any{"key": "k", "text": nil}); err != nil {
		t.Fatal(err)
	}
	if s.text != "a text" || s.mode != "Soft" || !s.on || s.count != 3 || s.share != 0.5 || !cmp.Equal(s.list, []string{"x", "y"}) || s.rules != nil || s.teams != nil {
		t.Errorf("defaults: got %+v", s)
	}
}

func TestConfigErrors(t *testing.T) {
	tests := []struct {
		name   string
		config map[string]any
		want   string
	}{
		{"required", nil, "config.key: is required"},
		{"type", map[string]any{"key": "k", "text": 3}, "config.text: want a string, got int"},
		{"enum", map[string]any{"key": "k", "mode": "soft"}, `config.mode: want one of Soft, Hard, got "soft"`},
		{"bool", map[string]any{"key": "k", "on": "yes"}, "config.on: want true or false, got string"},
		{"range", map[string]any{"key": "k", "count": 11}, "config.count: want -5 to 10, got 11"},
		{"fraction", map[string]any{"key": "k", "count": 1.5}, "config.count: want a whole number, got float"},
		{"number", map[string]any{"key": "k", "share": "1"}, "config.share: want a number, got string"},
		{"in a list", map[string]any{"key": "k", "list": []any{"a", true}}, "config.list[1]: want a string, got bool"},
		{"in an object", map[string]any{"key": "k", "rules": []any{map[string]any{}}}, "config.rules[0].pool: is required"},
		{"in a map", map[string]any{"key": "k", "teams": map[string]any{"red": []any{"a", 1}}}, "config.teams.red[1]: want a string, got int"},
		{"unknown", map[string]any{"key": "k", "rules": []any{map[string]any{"pool": "p", "wieght": 1}}}, "config.rules[0].wieght: is unknown; want one of pool, weight"},
		{"a list for an object", map[string]any{"key": "k", "teams": []any{}}, "config.teams: want an object, got list"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := berthtest.TryConfig(t, &settingsPolicy, &settings{}, tt.config)
			if err == nil || err.Error() != tt.want {
				t.Errorf("want %q, got %v", tt.want, err)
			}
		})
	}
	err := berthtest.TryConfig(t, &settingsPolicy, &settings{hook: errors.New("pools overlap")}, map[string]any{"key": "k"})
	if err == nil || err.Error() != "pools overlap" {
		t.Errorf("Configured's error: want it, got %v", err)
	}
	err = berthtest.TryConfig(t, &settingsPolicy, filterFunc(nil), map[string]any{"key": "k"})
	if err == nil || err.Error() != "config.key: is unknown; want none" {
		t.Errorf("a config where none is taken: got %v", err)
	}
}

func TestSchema(t *testing.T) {
	h := berthtest.New(t, &settingsPolicy, &settings{}, map[string]any{"key": "k"})
	text := map[string]any{"type": "string"}
	want := map[string]any{
		"type": "object", "additionalProperties": false, "required": []any{"key"},
		"properties": map[string]any{
			"text":  map[string]any{"type": "string", "default": "a text", "description": "some text"},
			"key":   text,
			"mode":  map[string]any{"type": "string", "enum": []any{"Soft", "Hard"}, "default": "Soft"},
			"on":    map[string]any{"type": "boolean", "default": true},
			"count": map[string]any{"type": "integer", "minimum": int64(-5), "maximum": int64(10), "default": int64(3)},
			"share": map[string]any{"type": "number", "default": 0.5},
			"list":  map[string]any{"type": "array", "items": text, "default": []any{"x", "y"}},
			"rules": map[string]any{"type": "array", "items": map[string]any{
				"type": "object", "additionalProperties": false, "required": []any{"pool"},
				"properties": map[string]any{"pool": text, "weight": map[string]any{"type": "integer", "default": int64(7)}},
			}},
			"teams": map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "array", "items": text}},
		},
	}
	if diff := cmp.Diff(want, h.Schema()); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}
