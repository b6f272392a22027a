// SPDX-License-Identifier: Apache-2.0

package module

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/engine"
	"github.com/berth-scheduler/berth/host/engine/wasi"
	"github.com/berth-scheduler/berth/host/guest"
	"github.com/berth-scheduler/berth/host/intern"
	"github.com/berth-scheduler/berth/host/policy"
	"github.com/berth-scheduler/berth/host/weave"
)

// LifeFuel is the budget, in units of about one instruction, of each call that
// isn't a point's: _initialize, describe, configure, gc. A Go guest starts with
// some 300,000 units; a hundred million take 0.2 s in a loop, and 2.5 s in one
// that misses the cache with every load.
const LifeFuel uint64 = 100_000_000

// Options say how a module is loaded.
type Options struct {
	// Engine compiles and runs it. It must stay open as long as the module.
	Engine engine.Engine
	// Limits bound its shape and memory. The zero value is weave.DefaultLimits.
	Limits weave.Limits
}

// LimitsFor are the default limits with a policy's memory.
func LimitsFor(p *policy.Policy) weave.Limits {
	limits := weave.DefaultLimits()
	limits.MemoryPages = uint32(p.Limits.Memory >> 16)
	return limits
}

// hostFuncs are all functions that a guest may import.
var hostFuncs = slices.Concat(guest.HostFuncs(), wasi.HostFuncs())

// Module is a compiled module. It may be used by any number of goroutines.
type Module struct {
	Info
	compiled engine.Module
}

// Load checks, weaves and compiles a module. It keeps no reference to wasm but
// Info.Section. The error is one line; if the module is one that the host
// refuses, errors.As gives all [Problems].
func Load(ctx context.Context, wasm []byte, opts Options) (*Module, error) {
	if opts.Limits == (weave.Limits{}) {
		opts.Limits = weave.DefaultLimits()
	}
	info, err := Inspect(wasm, opts.Limits)
	if err != nil {
		return nil, err
	}
	if err := info.Problems.err(); err != nil {
		return nil, err
	}
	m := &Module{Info: *info}
	if m.compiled, err = opts.Engine.Compile(ctx, info.woven, engine.CompileOptions{Host: hostFuncs}); err != nil {
		return nil, lineError{err} // a validator's message has several
	}
	m.woven = nil
	return m, nil
}

// lineError is an error on one line.
type lineError struct{ error }

func (e lineError) Error() string { return strings.Join(strings.Fields(e.error.Error()), " ") }

func (e lineError) Unwrap() error { return e.error }

// Close frees the compiled code. Instances must be closed before.
func (m *Module) Close() error { return m.compiled.Close() }

// NewInstance starts a guest. The error is a *guest.Fault, or says what the
// module lacks.
func (m *Module) NewInstance(ctx context.Context, opts guest.Options) (*guest.Instance, error) {
	return guest.New(ctx, m.compiled, opts)
}

// Describe starts the guest and asks it what it is: the document and its bytes.
// They agree with the section if there is one, name only points that the module
// exports and the host serves, and their schema is one that the host can check.
// The error is a *guest.Fault if the guest failed.
func (m *Module) Describe(ctx context.Context) (*abi.Description, []byte, error) {
	g, err := m.NewInstance(ctx, guest.Options{
		Strings: intern.New(intern.MaxBytes, intern.MaxCount),
		Budgets: guest.Budgets{Life: LifeFuel},
	})
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = g.Close() }() // nothing of it is needed any more
	raw, d, err := g.Describe()
	if err != nil {
		return nil, nil, err
	}
	if m.Section != nil {
		if err := CheckDescription(m.Section, raw); err != nil {
			return nil, nil, err
		}
	}
	if err := checkDescription(d, m.Interface).err(); err != nil {
		return nil, nil, err
	}
	return d, raw, nil
}

// EncodeConfig checks a policy's config against the schema of a description and
// makes the value record that configure takes. No config is an empty map.
func EncodeConfig(d *abi.Description, config map[string]any) ([]byte, error) {
	if err := policy.CheckConfig(d.Schema, config); err != nil {
		return nil, err
	}
	if config == nil {
		config = map[string]any{}
	}
	record, err := abi.EncodeValue(config)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return record, nil
}
