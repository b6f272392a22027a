// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
)

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
type Property interface{ binding() *property }

// property is a Binding but for its type, so that the code for it is in a module
// once.
type property struct {
	name, doc string
	required  bool
	of        *erased
	into      unsafe.Pointer
	fallback  unsafe.Pointer // the default, nil for the zero value
}

func (p *property) binding() *property { return p }

func (p *property) reset() { p.of.assign(p.into, p.fallback) }

// Binding is a property of type T that is read into a variable. Its methods
// return it, to be chained.
type Binding[T any] struct{ *property }

// Bind reads the property name into a variable:
//
//	berth.Bind("maxPods", &p.maxPods, berth.IntBetween(1, 500)).Default(110)
func Bind[T any](name string, into *T, of Type[T]) Binding[T] {
	return Binding[T]{newProperty(name, unsafe.Pointer(into), of.erased)}
}

//go:noinline
func newProperty(name string, into unsafe.Pointer, of *erased) *property {
	return &property{name: name, of: of, into: into}
}

// Default is the value of a property that is left out, and what the schema says
// it is.
func (b Binding[T]) Default(v T) Binding[T] {
	b.fallback = unsafe.Pointer(&v)
	return b
}

// Required makes leaving the property out an error.
func (b Binding[T]) Required() Binding[T] {
	b.required = true
	return b
}

// Doc is what the schema says of the property.
func (b Binding[T]) Doc(text string) Binding[T] {
	b.doc = text
	return b
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

// readObject resets all properties and reads those that are there.
func readObject(ps []Property, v abi.Value) error {
	if k := v.Kind(); k != abi.Map && k != abi.Null {
		return wrongKind("an object", v)
	}
	for _, p := range ps {
		p.binding().reset()
	}
	for _, p := range ps {
		p := p.binding()
		e, ok := v.Get(p.name)
		if !ok || e.Kind() == abi.Null {
			if p.required {
				return &ConfigError{p.name, "is required"}
			}
			continue
		}
		if err := p.of.read(e, p.into); err != nil {
			return inside(p.name, err)
		}
	}
	return unknownKey(ps, v)
}

// configure reads the operator's config into the plugin.
func (g *guest) configure(f frame) bool {
	f.done(AsStatus(g.takeConfig(f.arg())))
	return true
}

func (g *guest) takeConfig(record []byte) error {
	var v abi.Value // no record is an empty config
	if len(record) > 0 {
		v = abi.TrustValue(record)
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
