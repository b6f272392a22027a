// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// Bounds of a schema and of a config that is checked against one. The work is
// at most their product.
const (
	MaxSchemas      = 512    // schemas within schemas
	MaxPattern      = 256    // bytes of a pattern
	MaxConfigValues = 16_384 // values in a config
)

// schemaTypes are the words that "type" may be.
var schemaTypes = []string{"object", "array", "string", "integer", "number", "boolean", "null"}

// schemaKeywords are the words that a schema may use with how each is checked.
// Anything else is refused by name, because a word that is ignored looks like a
// rule that holds. Left out are $ref (the library panics), uniqueItems (its
// cost is the square of the list), and patternProperties (each level checks
// three times what is below).
var schemaKeywords map[string]func(c *schemaChecker, field string, v any)

func init() { // not in the declaration, which would be a cycle
	schemaKeywords = map[string]func(c *schemaChecker, field string, v any){
		"title":                wantKind[string]("a string"),
		"description":          wantKind[string]("a string"),
		"$schema":              wantKind[string]("a string"),
		"default":              func(*schemaChecker, string, any) {},
		"examples":             wantKind[[]any]("a list"),
		"type":                 (*schemaChecker).types,
		"nullable":             wantKind[bool]("true or false"),
		"enum":                 (*schemaChecker).enum,
		"format":               (*schemaChecker).format,
		"pattern":              (*schemaChecker).pattern,
		"minLength":            (*schemaChecker).count,
		"maxLength":            (*schemaChecker).count,
		"minimum":              (*schemaChecker).number,
		"maximum":              (*schemaChecker).number,
		"exclusiveMinimum":     wantKind[bool]("true or false"),
		"exclusiveMaximum":     wantKind[bool]("true or false"),
		"multipleOf":           (*schemaChecker).number,
		"items":                (*schemaChecker).schema,
		"minItems":             (*schemaChecker).count,
		"maxItems":             (*schemaChecker).count,
		"properties":           (*schemaChecker).properties,
		"required":             (*schemaChecker).required,
		"additionalProperties": (*schemaChecker).additional,
		"minProperties":        (*schemaChecker).count,
		"maxProperties":        (*schemaChecker).count,
		"allOf":                (*schemaChecker).schemas,
		"anyOf":                (*schemaChecker).schemas,
		"oneOf":                (*schemaChecker).schemas,
		"not":                  (*schemaChecker).schema,
	}
}

// CheckSchema checks the schema that a module declares for its config, a tree
// as in a describe document. It must be for an object and use only the words of
// JSON schema that Berth serves; "default" is documentation and fills nothing
// in. A nil schema is right: the module takes no config. The error is one line;
// errors.As gives all [Problems].
func CheckSchema(schema any) error {
	_, err := compileSchema(schema)
	return err
}

// CheckConfig checks a policy's config against the schema that the module
// declares. No config is checked as an empty one, and a module without a schema
// takes none. The error is one line that names each wrong field; errors.As
// gives all [Problems].
func CheckConfig(schema any, config map[string]any) (err error) {
	if schema == nil {
		if len(config) > 0 {
			return Problems{{Field: "config", Message: fmt.Sprintf("want none, the module takes no config, got %d fields", len(config))}}
		}
		return nil
	}
	compiled, err := compileSchema(schema)
	if err != nil {
		return err
	}
	if n := countValues(config); n > MaxConfigValues {
		return Problems{{Field: "config", Message: fmt.Sprintf("want at most %d values, got %d", MaxConfigValues, n)}}
	}
	if config == nil {
		config = map[string]any{}
	}
	// The library panics on schemas that it doesn't understand. CheckSchema is
	// meant to let none through; here one would take the scheduler with it.
	defer func() {
		if r := recover(); r != nil {
			err = Problems{{Field: "schema", Message: oneLine(fmt.Sprint(r))}}
		}
	}()
	result := validate.NewSchemaValidator(compiled, nil, "config", strfmt.Default).Validate(config)
	var problems Problems
	for _, e := range result.Errors {
		if p := configProblem(e); !slices.Contains(problems, p) {
			problems = append(problems, p)
		}
	}
	if len(problems) == 0 {
		return nil
	}
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Field, b.Field), strings.Compare(a.Message, b.Message))
	})
	return problems
}

// configProblem puts the library's error into our words.
func configProblem(err error) Problem {
	var v *openapierrors.Validation
	if !errors.As(err, &v) {
		return Problem{Field: "config", Message: oneLine(err.Error())}
	}
	p := Problem{Field: v.Name}
	rest := strings.TrimPrefix(v.Error(), v.Name+" in body ")
	after := func(words string) string { return strings.TrimPrefix(rest, words) }
	switch v.Code() {
	case openapierrors.RequiredFailCode:
		p.Message = "missing"
	case openapierrors.UnallowedPropertyCode:
		p.Field, p.Message = join(v.Name, fmt.Sprint(v.Value)), "unknown field"
	case openapierrors.InvalidTypeCode:
		want, _, _ := strings.Cut(after("must be of type "), ":")
		p.Message = fmt.Sprintf("want %s, got %s", want, quotedValue(v.Value))
		if slices.Contains(schemaTypes, fmt.Sprint(v.Value)) {
			p.Message = fmt.Sprintf("want %s, got %s", want, v.Value)
		}
	case openapierrors.EnumFailCode:
		var want []string
		for _, one := range v.Values {
			want = append(want, quotedValue(one))
		}
		p.Message = fmt.Sprintf("want one of %s, got %s", strings.Join(want, ", "), quotedValue(v.Value))
	case openapierrors.PatternFailCode:
		p.Message = fmt.Sprintf("want text that matches %s, got %s", after("should match "), quotedValue(v.Value))
	case openapierrors.TooLongFailCode, openapierrors.TooShortFailCode,
		openapierrors.MaxFailCode, openapierrors.MinFailCode, openapierrors.MultipleOfFailCode:
		p.Message = fmt.Sprintf("want %s, got %s", after("should be "), quotedValue(v.Value))
	case openapierrors.MaxItemsFailCode, openapierrors.MinItemsFailCode,
		openapierrors.TooFewPropertiesCode, openapierrors.TooManyPropertiesCode:
		p.Message = fmt.Sprintf("want %s, got %v", after("should have "), v.Value)
	default:
		p.Message = oneLine(rest)
	}
	return p
}

func quotedValue(v any) string {
	if s, ok := v.(string); ok {
		return quoted(s)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%T", v)
	}
	if len(text) > maxQuoted {
		return strings.ToValidUTF8(string(text[:maxQuoted]), "") + "..."
	}
	return string(text)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func countValues(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			n += countValues(item)
		}
	case []any:
		for _, item := range v {
			n += countValues(item)
		}
	}
	return n
}

func compileSchema(tree any) (*spec.Schema, error) {
	if tree == nil {
		return nil, nil
	}
	c := &schemaChecker{}
	c.schema("schema", tree)
	if root, ok := tree.(map[string]any); ok && len(c.problems) == 0 && root["type"] != "object" {
		c.fail("schema.type", "want \"object\", got %s", quotedValue(root["type"]))
	}
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	text, err := json.Marshal(tree)
	if err != nil {
		return nil, Problems{{Field: "schema", Message: oneLine(err.Error())}}
	}
	schema := &spec.Schema{}
	if err := json.Unmarshal(text, schema); err != nil {
		return nil, Problems{{Field: "schema", Message: oneLine(err.Error())}}
	}
	return schema, nil
}

// schemaChecker walks a schema and collects what is wrong with it.
type schemaChecker struct {
	problems Problems
	seen     int
}

func (c *schemaChecker) fail(field, format string, args ...any) {
	c.problems = append(c.problems, Problem{Field: field, Message: fmt.Sprintf(format, args...)})
}

func (c *schemaChecker) schema(field string, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		c.fail(field, "want a schema, got %s", quotedValue(v))
		return
	}
	if c.seen++; c.seen == MaxSchemas+1 {
		c.fail("schema", "want at most %d schemas within schemas, got more", MaxSchemas)
	}
	if c.seen > MaxSchemas {
		return
	}
	for _, word := range slices.Sorted(maps.Keys(m)) {
		if check, known := schemaKeywords[word]; known {
			check(c, join(field, word), m[word])
		} else {
			c.fail(field, "keyword %s is not served", quoted(word))
		}
	}
	if _, typed := m["type"]; !typed && m["enum"] != nil {
		c.fail(field, "enum: want a type beside it, got none")
	}
}

func (c *schemaChecker) schemas(field string, v any) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		c.fail(field, "want a list of schemas, got %s", quotedValue(v))
	}
	for i, item := range list {
		c.schema(fmt.Sprintf("%s[%d]", field, i), item)
	}
}

func (c *schemaChecker) properties(field string, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		c.fail(field, "want a map of schemas, got %s", quotedValue(v))
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		c.schema(join(field, name), m[name])
	}
}

func (c *schemaChecker) additional(field string, v any) {
	if _, ok := v.(bool); !ok {
		c.schema(field, v)
	}
}

func (c *schemaChecker) types(field string, v any) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, item := range list {
		if name, ok := item.(string); !ok || !slices.Contains(schemaTypes, name) {
			c.fail(field, "want one of %s, got %s", strings.Join(schemaTypes, ", "), quotedValue(item))
		}
	}
}

func (c *schemaChecker) required(field string, v any) {
	list, ok := v.([]any)
	for _, item := range list {
		_, text := item.(string)
		ok = ok && text
	}
	if !ok {
		c.fail(field, "want a list of names, got %s", quotedValue(v))
	}
}

func (c *schemaChecker) enum(field string, v any) {
	list, ok := v.([]any)
	for _, item := range list {
		switch item.(type) {
		case string, int64, float64, bool:
		default:
			ok = false
		}
	}
	if !ok || len(list) == 0 {
		c.fail(field, "want a list of strings, numbers or booleans, got %s", quotedValue(v))
	}
}

func (c *schemaChecker) format(field string, v any) {
	switch name, ok := v.(string); {
	case !ok:
		c.fail(field, "want a string, got %s", quotedValue(v))
	case !slices.Contains([]string{"int32", "int64", "float", "double"}, name) && !strfmt.Default.ContainsName(name):
		c.fail(field, "format %s is not served", quoted(name))
	}
}

func (c *schemaChecker) pattern(field string, v any) {
	text, ok := v.(string)
	if !ok || len(text) > MaxPattern {
		c.fail(field, "want a string of at most %d bytes, got %s", MaxPattern, quotedValue(v))
		return
	}
	if _, err := regexp.Compile(text); err != nil {
		c.fail(field, "%s", oneLine(err.Error()))
	}
}

func (c *schemaChecker) count(field string, v any) {
	if n, ok := v.(int64); !ok || n < 0 {
		c.fail(field, "want a whole number from 0, got %s", quotedValue(v))
	}
}

func (c *schemaChecker) number(field string, v any) {
	switch v.(type) {
	case int64, float64:
	default:
		c.fail(field, "want a number, got %s", quotedValue(v))
	}
}

// wantKind accepts any value of type T.
func wantKind[T any](want string) func(c *schemaChecker, field string, v any) {
	return func(c *schemaChecker, field string, v any) {
		if _, ok := v.(T); !ok {
			c.fail(field, "want %s, got %s", want, quotedValue(v))
		}
	}
}
