// SPDX-License-Identifier: Apache-2.0

package module

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/engine"
	"github.com/berth-scheduler/berth/host/guest"
	"github.com/berth-scheduler/berth/host/policy"
)

func newEngine(t testing.TB) engine.Engine {
	t.Helper()
	e, err := engine.NewWazero(t.Context(), engine.WazeroOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() }) // the test is over
	return e
}

func load(t testing.TB, wasm []byte) (*Module, error) {
	t.Helper()
	m, err := Load(t.Context(), wasm, Options{Engine: newEngine(t)})
	if err == nil {
		t.Cleanup(func() { _ = m.Close() })
	}
	return m, err
}

func TestDescribe(t *testing.T) {
	a := newAssembly(t, &description)
	for _, test := range []struct {
		name string
		wasm []byte
	}{
		{"with section", described(t, a)},
		{"without section", a.wasm()},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, err := load(t, test.wasm)
			if err != nil {
				t.Fatal(err)
			}
			d, raw, err := m.Describe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&description, d); diff != "" {
				t.Errorf("description (-want +got):\n%s", diff)
			}
			if !slices.Equal(raw, a.data) {
				t.Errorf("bytes: want %d as given, got %d", len(a.data), len(raw))
			}
		})
	}
}

func TestDescribeProblems(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(a *assembly)
		want   string
		cause  guest.Cause // empty: not a fault
	}{
		{"trap", func(a *assembly) { a.with(assemblyFunc{"describe", []byte{i32}, []byte{i32}, []byte{0}}) },
			"describe: trap: ", guest.Trap},
		{"loop in describe", func(a *assembly) {
			a.with(assemblyFunc{"describe", []byte{i32}, []byte{i32}, []byte{0x03, 0x40, 0x0c, 0, 0x0b, 0}})
		}, "want at most 100000000 units", guest.Fuel},
		{"loop in _initialize", func(a *assembly) {
			a.with(assemblyFunc{"_initialize", nil, nil, []byte{0x03, 0x40, 0x0c, 0, 0x0b}})
		}, "want at most 100000000 units", guest.Fuel},
		{"no document", func(a *assembly) { a.with(assemblyFunc{"describe", []byte{i32}, []byte{i32}, answer(0, 0)}) },
			"describe document: value record: want 24 to", ""},
		{"document outside memory", func(a *assembly) {
			a.with(assemblyFunc{"describe", []byte{i32}, []byte{i32}, answer(-16, 64)})
		}, "payload: want 64 bytes inside memory", guest.BadResult},
		{"huge document", func(a *assembly) {
			a.with(assemblyFunc{"describe", []byte{i32}, []byte{i32}, answer(0, abi.MaxPayloadBytes+1)})
		}, "payload: want at most 262144 bytes, got 262145", guest.BadResult},
		{"newer ABI", func(a *assembly) {
			a.with(assemblyFunc{"abi_version", nil, []byte{i32}, constant(int32(abi.PackVersion(abi.Major, abi.Minor+1)))})
		}, "abi version: want 1.0 to ", ""},
		{"point without export", func(a *assembly) { a.without("filter") },
			`describe: point filter: want an export "filter", got none`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newAssembly(t, &description)
			test.change(a)
			m, err := load(t, a.wasm())
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = m.Describe(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("want one line with %q, got %v", test.want, err)
			}
			f, isFault := guest.AsFault(err)
			if isFault != (test.cause != "") || isFault && f.Cause != test.cause {
				t.Errorf("want cause %q, got %T with %+v", test.cause, err, f)
			}
		})
	}
}

func TestDescribeOtherThanSection(t *testing.T) {
	a := newAssembly(t, &description)
	lie := description
	lie.Pure, lie.Reads = true, nil
	record, err := lie.Encode()
	if err != nil {
		t.Fatal(err)
	}
	wasm := newAssembly(t, &description)
	wasm.custom[abi.DescribeSection] = record
	m, err := load(t, wasm.wasm())
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = m.Describe(t.Context())
	if want := "describe: reads: want <nil> as in section berth.describe, got [node.labels]"; err == nil || err.Error() != want {
		t.Errorf("want %s, got %v", want, err)
	}
	if err := CheckDescription(a.data, append(slices.Clone(a.data), 0)); err == nil {
		t.Error("want other bytes refused")
	}
	if err := CheckDescription(a.data, a.data); err != nil {
		t.Error(err)
	}
}

func TestLoadRefuses(t *testing.T) {
	a := newAssembly(t, &description).without("free")
	_, err := load(t, a.wasm())
	var ps Problems
	if !errors.As(err, &ps) || len(ps) != 1 {
		t.Errorf("want one problem, got %v", err)
	}
	// What only the engine's validation sees.
	a = newAssembly(t, &description).with(assemblyFunc{"gc", nil, nil, constant(1)})
	if _, err := load(t, a.wasm()); err == nil || !strings.Contains(err.Error(), "compile: ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("want one line from the engine, got %v", err)
	}
}

func TestLoadUnderMemoryLimit(t *testing.T) {
	p, err := policy.Parse([]byte("{apiVersion: berth.dev/v1alpha1, kind: Policy, limits: {memory: 1Mi}}"))
	if err != nil {
		t.Fatal(err)
	}
	if got := LimitsFor(p).MemoryPages; got != 16 {
		t.Fatalf("want 16 pages, got %d", got)
	}
	limits := LimitsFor(p)
	limits.MemoryPages = 3
	_, err = Load(t.Context(), newAssembly(t, &description).wasm(), Options{Engine: newEngine(t), Limits: limits})
	if err == nil || !strings.Contains(err.Error(), "want at most 3, got 4") {
		t.Errorf("want the memory refused, got %v", err)
	}
}

func TestConfigure(t *testing.T) {
	d := description
	d.Schema = map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}}
	for _, test := range []struct {
		name   string
		config map[string]any
		want   string
	}{
		{"none", nil, ""},
		{"right", map[string]any{"a": "b"}, ""},
		{"wrong", map[string]any{"a": int64(1)}, "config.a: want string, got integer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			record, err := EncodeConfig(&d, test.config)
			if test.want != "" {
				if err == nil || err.Error() != test.want {
					t.Fatalf("want %s, got %v", test.want, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			v, err := abi.OpenValue(record)
			if err != nil || v.Kind() != abi.Map || v.Len() != len(test.config) {
				t.Errorf("want a map of %d, got %v and %v", len(test.config), v.Tree(), err)
			}
		})
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(described(f, newAssembly(f, &description)), []byte{})
	f.Add(newAssembly(f, &description).wasm(), []byte{0x41, 0, 0x0b})
	e := newEngine(f)
	f.Fuzz(func(t *testing.T, wasm, filter []byte) {
		a := newAssembly(t, &description)
		a.with(assemblyFunc{"filter", []byte{i32}, []byte{i32}, filter})
		for _, wasm := range [][]byte{wasm, a.wasm()} {
			m, err := Load(t.Context(), wasm, Options{Engine: e})
			if err != nil {
				continue
			}
			_, _, _ = m.Describe(t.Context()) // any answer but a panic
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
