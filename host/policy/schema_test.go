// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

type (
	object = map[string]any
	list   = []any
)

func TestCheckConfig(t *testing.T) {
	of := func(properties object) object {
		return object{"type": "object", "properties": properties, "additionalProperties": false}
	}
	text := object{"type": "string"}
	for _, test := range []struct {
		name   string
		schema any
		config object
		want   string // empty: accepted
	}{
		{"no schema, no config", nil, nil, ""},
		{"no schema", nil, object{"a": int64(1)}, "config: want none, the module takes no config, got 1 fields"},
		{"no config", of(nil), nil, ""},
		{"right", of(object{"pools": object{"type": "object", "additionalProperties": text}}), object{"pools": object{"a": "gold"}}, ""},
		{"unknown field", of(object{"pool": text}), object{"pol": "x"}, "config.pol: unknown field"},
		{"unknown field inside", of(object{"a": of(nil)}), object{"a": object{"b": nil}}, "config.a.b: unknown field"},
		{"missing", object{"type": "object", "required": list{"pools"}}, nil, "config.pools: missing"},
		{"type", of(object{"a": text}), object{"a": int64(1)}, "config.a: want string, got integer"},
		{"type in a list", of(object{"a": object{"type": "array", "items": text}}), object{"a": list{"x", true}}, "config.a[1]: want string, got boolean"},
		{"type in a map", of(object{"a": object{"type": "object", "additionalProperties": text}}), object{"a": object{"x.y": list{}}}, "config.a.x.y: want string, got array"},
		{"null", of(object{"a": text}), object{"a": nil}, "config.a: want string, got null"},
		{"nullable", of(object{"a": object{"type": "string", "nullable": true}}), object{"a": nil}, ""},
		{"one of two types", of(object{"a": object{"type": list{"string", "integer"}}}), object{"a": int64(1)}, ""},
		{"whole float for integer", of(object{"a": object{"type": "integer"}}), object{"a": 1.0}, ""},
		{"float for integer", of(object{"a": object{"type": "integer"}}), object{"a": 1.5}, "config.a: want integer, got number"},
		{"integer for number", of(object{"a": object{"type": "number"}}), object{"a": int64(1)}, ""},
		{"enum", of(object{"a": object{"type": "string", "enum": list{"x", "y"}}}), object{"a": "z"}, `config.a: want one of "x", "y", got "z"`},
		{"enum of numbers", of(object{"a": object{"type": "integer", "enum": list{int64(1), int64(2)}}}), object{"a": int64(2)}, ""},
		{"maximum", of(object{"a": object{"type": "integer", "maximum": int64(100)}}), object{"a": int64(101)}, "config.a: want less than or equal to 100, got 101"},
		{"exclusive minimum", of(object{"a": object{"type": "number", "minimum": int64(0), "exclusiveMinimum": true}}), object{"a": 0.0}, "config.a: want greater than 0, got 0"},
		{"multiple", of(object{"a": object{"type": "integer", "multipleOf": int64(5)}}), object{"a": int64(7)}, "config.a: want a multiple of 5, got 7"},
		{"pattern", of(object{"a": object{"type": "string", "pattern": "^[a-z]+$"}}), object{"a": "A"}, `config.a: want text that matches '^[a-z]+$', got "A"`},
		{"too short", of(object{"a": object{"type": "string", "minLength": int64(1)}}), object{"a": ""}, `config.a: want at least 1 chars long, got ""`},
		{"too many items", of(object{"a": object{"type": "array", "maxItems": int64(1)}}), object{"a": list{int64(1), int64(2)}}, "config.a: want at most 1 items, got 2"},
		{"too few properties", object{"type": "object", "minProperties": int64(1)}, nil, "config: want at least 1 properties, got 0"},
		{"format", of(object{"a": object{"type": "string", "format": "duration"}}), object{"a": "soon"}, `config.a: want duration, got "soon"`},
		{"one of", of(object{"a": object{"oneOf": list{text, object{"type": "integer"}}}}), object{"a": true}, "one and only one schema (oneOf)"},
		{"several", of(object{"a": text, "b": text}), object{"b": true, "a": true}, "config.a: want string, got boolean; config.b: want string, got boolean"},
		{"many values", of(object{"a": object{"type": "array"}}), object{"a": make(list, MaxConfigValues)}, "config: want at most 16384 values, got 16386"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := CheckConfig(test.schema, test.config)
			switch {
			case test.want == "" && err != nil:
				t.Fatalf("want no error, got %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Fatalf("want %s, got %v", test.want, err)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("want one line, got %q", err)
			}
			if problems := (Problems)(nil); err != nil && !errors.As(err, &problems) {
				t.Errorf("want Problems, got %T", err)
			}
		})
	}
}

func TestCheckSchema(t *testing.T) {
	many := list{}
	for range MaxSchemas + 1 {
		many = append(many, object{"type": "string"})
	}
	for _, test := range []struct {
		name   string
		schema any
		want   string
	}{
		{"none", nil, ""},
		{"text", object{"type": "object", "title": "t", "description": "d", "default": object{}, "examples": list{}}, ""},
		{"not a map", "object", `schema: want a schema, got "object"`},
		{"not for an object", object{"type": "array"}, `schema.type: want "object", got "array"`},
		{"no type", object{}, `schema.type: want "object", got null`},
		{"unknown type", object{"type": "map"}, `schema.type: want one of object, array,`},
		{"reference", object{"type": "object", "properties": object{"a": object{"$ref": "#/x"}}}, `schema.properties.a: keyword "$ref" is not served`},
		{"unique items", object{"type": "object", "uniqueItems": true}, `schema: keyword "uniqueItems" is not served`},
		{"pattern properties", object{"type": "object", "patternProperties": object{}}, `keyword "patternProperties" is not served`},
		{"exclusive minimum of a newer draft", object{"type": "object", "exclusiveMinimum": int64(1)}, "schema.exclusiveMinimum: want true or false, got 1"},
		{"pattern", object{"type": "object", "pattern": "("}, "schema.pattern: error parsing regexp"},
		{"long pattern", object{"type": "object", "pattern": strings.Repeat("a", 257)}, "want a string of at most 256 bytes"},
		{"format", object{"type": "object", "format": "colour"}, `schema.format: format "colour" is not served`},
		{"enum without type", object{"type": "object", "properties": object{"a": object{"enum": list{"x"}}}}, "schema.properties.a: enum: want a type beside it, got none"},
		{"empty enum", object{"type": "object", "enum": list{}}, "schema.enum: want a list of strings, numbers or booleans, got []"},
		{"required", object{"type": "object", "required": "a"}, `schema.required: want a list of names, got "a"`},
		{"count", object{"type": "object", "minProperties": int64(-1)}, "schema.minProperties: want a whole number from 0, got -1"},
		{"number", object{"type": "object", "maximum": "9"}, `schema.maximum: want a number, got "9"`},
		{"schemas", object{"type": "object", "allOf": object{}}, "schema.allOf: want a list of schemas, got {}"},
		{"in a list", object{"type": "object", "anyOf": list{object{"if": true}}}, `schema.anyOf[0]: keyword "if" is not served`},
		{"many", object{"type": "object", "anyOf": many}, "schema: want at most 512 schemas within schemas, got more"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := CheckSchema(test.schema)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Fatalf("want %q, got %v", test.want, err)
			}
		})
	}
}

// TestSchemaKeywordsServed checks that the library knows each word that a
// schema may use: one that it ignored would look like a rule that holds.
func TestSchemaKeywordsServed(t *testing.T) {
	samples := map[string]any{
		"type": "object", "enum": list{object{}}, "format": "date", "pattern": "a", "items": object{}, "properties": object{"a": object{}},
		"required": list{"a"}, "additionalProperties": false, "allOf": list{object{}}, "anyOf": list{object{}}, "oneOf": list{object{}}, "not": object{},
		"nullable": true, "exclusiveMinimum": true, "exclusiveMaximum": true, "title": "t", "description": "d", "$schema": "http://json-schema.org/x", "examples": list{},
	}
	for word := range schemaKeywords {
		value, ok := samples[word]
		if !ok {
			value = int64(1)
		}
		schema, err := compileSchema(object{"type": "object", "properties": object{"x": object{"type": "string", word: value}}})
		if word == "enum" { // its entries are scalars
			schema, err = compileSchema(object{"type": "object", "properties": object{"x": object{"type": "string", word: list{"a"}}}})
		}
		if err != nil {
			t.Errorf("%s: %v", word, err)
			continue
		}
		if extra := schema.Properties["x"].ExtraProps; len(extra) > 0 && word != "examples" {
			t.Errorf("%s: want a word that the library knows, got %v", word, extra)
		}
	}
}

func FuzzCheckConfig(f *testing.F) {
	f.Add("pattern", "a*", "aaa", int64(3))
	f.Add("$ref", "#/a", "", int64(0))
	f.Add("multipleOf", "", "", int64(0))
	f.Fuzz(func(t *testing.T, word, text, value string, number int64) {
		for _, v := range []any{text, number, float64(number) / 3, list{text, number}, object{text: object{"type": text}}, list{object{word: number}}} {
			schema := object{"type": "object", "additionalProperties": object{word: v, "minimum": number}}
			err := CheckConfig(schema, object{value: number, "a": value, "b": list{value, nil}, "c": object{value: 0.5}})
			if p := (Problems)(nil); err != nil && !errors.As(err, &p) {
				t.Fatalf("want Problems, got %T: %v", err, err)
			}
			if s := fmt.Sprint(err); strings.Contains(s, "panic") || strings.Contains(s, "not supported: ") {
				t.Fatal(s)
			}
		}
	})
}

// TestSchemaDocumented compares docs/config-schema.md with what is served.
func TestSchemaDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/config-schema.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for word := range schemaKeywords {
		if !strings.Contains(table, "`"+word+"`") {
			t.Errorf("keyword %s: want it in docs/config-schema.md", word)
		}
	}
	if got := strings.Count(table, "`") / 2; got != len(schemaKeywords)+1 { // type stands there twice
		t.Errorf("docs/config-schema.md: want %d keywords, got %d", len(schemaKeywords)+1, got)
	}
}
