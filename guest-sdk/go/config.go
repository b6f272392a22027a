// SPDX-License-Identifier: Apache-2.0

package berth

import "github.com/berth-scheduler/berth/abi"

// ConfigPlugin is a plugin that an operator can configure.
type ConfigPlugin interface {
	// Config names the properties of the config and the fields of the plugin
	// that they are read into. The same list makes the schema that operators
	// see, so that a wrong config is refused before the policy gets it. Before
	// each reading, fields whose property is left out get their default or
	// their zero value.
	Config() []Property
}

// ConfiguredPlugin is a plugin that prepares itself from its config.
type ConfiguredPlugin interface {
	// Configured is called when the fields hold a new config, or their defaults
	// where there is no ConfigPlugin. Its error is shown to the operator, and the
	// config isn't taken. It is the place to check what no schema can say and to
	// build look-up tables.
	Configured() error
}

// Property is one key of an object in a config, made by Bind.
type Property interface {
	key() string
	isRequired() bool
	schema() any
	reset()
	read(v abi.Value) error
}

// Binding is a property of type T that is read into a variable. Its methods
// return it, to be chained.
type Binding[T any] struct {
	name     string
	into     *T
	of       Type[T]
	doc      string
	required bool
	fallback *T
}

// Bind reads the property name into a variable:
//
//	berth.Bind("maxPods", &p.maxPods, berth.IntBetween(1, 500)).Default(110)
func Bind[T any](name string, into *T, of Type[T]) *Binding[T] {
	return &Binding[T]{name: name, into: into, of: of}
}

// Default is the value of a property that is left out, and what the schema says
// it is.
func (b *Binding[T]) Default(v T) *Binding[T] {
	b.fallback = &v
	return b
}

// Required makes leaving the property out an error.
func (b *Binding[T]) Required() *Binding[T] {
	b.required = true
	return b
}

// Doc is what the schema says of the property.
func (b *Binding[T]) Doc(text string) *Binding[T] {
	b.doc = text
	return b
}

func (b *Binding[T]) key() string      { return b.name }
func (b *Binding[T]) isRequired() bool { return b.required }

func (b *Binding[T]) schema() any {
	s := make(map[string]any, len(b.of.schema)+2)
	for k, v := range b.of.schema {
		s[k] = v
	}
	if b.doc != "" {
		s["description"] = b.doc
	}
	if b.fallback != nil {
		s["default"] = b.of.tree(*b.fallback)
	}
	return s
}

func (b *Binding[T]) reset() {
	var v T
	if b.fallback != nil {
		v = *b.fallback
	}
	*b.into = v
}

func (b *Binding[T]) read(v abi.Value) error {
	t, err := b.of.read(v)
	if err == nil {
		*b.into = t
	}
	return err
}

// ConfigError says what is wrong with a config, and where.
type ConfigError struct {
	Path string // "pools.red[0]"; empty for the config as a whole
	Text string
}

func (e *ConfigError) Error() string {
	if e.Path == "" {
		return e.Text
	}
	return e.Path + ": " + e.Text
}

// inside puts a step before the path of an error.
func inside(step string, err error) error {
	e, ok := err.(*ConfigError)
	if !ok {
		return err
	}
	path := step
	if e.Path != "" {
		if e.Path[0] != '[' {
			path += "."
		}
		path += e.Path
	}
	return &ConfigError{path, e.Text}
}

func wrongKind(want string, v abi.Value) error {
	return &ConfigError{Text: "want " + want + ", got " + v.Kind().String()}
}

// schemaOf is the JSON schema of an object.
func schemaOf(ps []Property) map[string]any {
	properties, required := map[string]any{}, []any(nil)
	for _, p := range ps {
		if _, twice := properties[p.key()]; twice {
			panic("berth: config property \"" + p.key() + "\" is bound twice")
		}
		properties[p.key()] = p.schema()
		if p.isRequired() {
			required = append(required, p.key())
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if required != nil {
		s["required"] = required
	}
	return s
}

// readObject resets all properties and reads those that are there.
func readObject(ps []Property, v abi.Value) error {
	if k := v.Kind(); k != abi.Map && k != abi.Null {
		return wrongKind("an object", v)
	}
	for _, p := range ps {
		p.reset()
	}
	for _, p := range ps {
		e, ok := v.Get(p.key())
		if !ok || e.Kind() == abi.Null {
			if p.isRequired() {
				return &ConfigError{p.key(), "is required"}
			}
			continue
		}
		if err := p.read(e); err != nil {
			return inside(p.key(), err)
		}
	}
	for i := range v.Len() {
		if k := v.Key(i); !bound(ps, k) {
			return &ConfigError{k, "is unknown; want " + keysOf(ps)}
		}
	}
	return nil
}

func bound(ps []Property, key string) bool {
	for _, p := range ps {
		if p.key() == key {
			return true
		}
	}
	return false
}

func keysOf(ps []Property) string {
	if len(ps) == 0 {
		return "none"
	}
	s := "one of "
	for i, p := range ps {
		if i > 0 {
			s += ", "
		}
		s += p.key()
	}
	return s
}

// configure reads the operator's config into the plugin.
func (g *guest) configure(f frame) bool {
	f.done(AsStatus(g.takeConfig(f.arg())))
	return true
}

func (g *guest) takeConfig(record []byte) error {
	var v abi.Value // no record is an empty config
	if len(record) > 0 {
		var err error
		if v, err = abi.OpenValue(record); err != nil {
			return err
		}
	}
	var ps []Property
	if g.plugin.config != nil {
		ps = g.plugin.config.Config()
	}
	if err := readObject(ps, v); err != nil {
		return inside("config", err)
	}
	if g.plugin.configured == nil {
		return nil
	}
	return g.plugin.configured.Configured()
}
