// SPDX-License-Identifier: Apache-2.0

package module

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/weave"
)

func TestInspect(t *testing.T) {
	a := newAssembly(t, &description)
	info, err := Inspect(described(t, a), weave.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Problems) > 0 || len(info.Warnings) > 0 {
		t.Errorf("want nothing to complain of, got %q and %q", info.Problems, info.Warnings)
	}
	if diff := cmp.Diff(&description, info.Description); diff != "" {
		t.Errorf("description (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]abi.Point{abi.Describe, abi.Filter}, info.Points); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
	if info.Shape.Functions != 5 {
		t.Errorf("shape: want 5 functions, got %+v", info.Shape)
	}
	if !strings.HasPrefix(info.Digest, "sha256:") || len(info.Digest) != len("sha256:")+64 {
		t.Errorf("digest: got %q", info.Digest)
	}
}

func TestInspectWithoutSection(t *testing.T) {
	info, err := Inspect(newAssembly(t, &description).wasm(), weave.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Problems) > 0 || info.Description != nil || info.Section != nil {
		t.Errorf("want no description and no problem, got %+v and %q", info.Description, info.Problems)
	}
	if len(info.Warnings) != 1 || !strings.Contains(info.Warnings[0], "no section berth.describe") {
		t.Errorf("want a warning, got %q", info.Warnings)
	}
}

func TestInspectProblems(t *testing.T) {
	pure := func(change func(d *abi.Description)) func(*assembly) {
		return func(a *assembly) {
			d := description
			change(&d)
			record, err := d.Encode()
			if err != nil {
				t.Fatal(err)
			}
			a.data = record
		}
	}
	for _, test := range []struct {
		name   string
		change func(a *assembly)
		want   string
	}{
		{"import of an unknown module", func(a *assembly) {
			a.imports = []assemblyImport{{"env", "abort", nil, nil}}
		}, `import "env" "abort": the host has no such function`},
		{"unknown import", func(a *assembly) {
			a.imports = []assemblyImport{{"berth", "delete_all_nodes", nil, nil}}
		}, `import "berth" "delete_all_nodes": the host has no such function`},
		{"import of a file", func(a *assembly) {
			a.imports = []assemblyImport{{abi.WASIModule, "sock_open", nil, []byte{i32}}}
		}, `import "wasi_snapshot_preview1" "sock_open": the host has no such function`},
		{"type of an import", func(a *assembly) {
			a.imports = []assemblyImport{{"berth", "log", []byte{i32, f64}, nil}}
		}, `import "berth" "log": want (i32 i32 i32) -> (), got (i32 f64) -> ()`},
		{"type of a WASI import", func(a *assembly) {
			a.imports = []assemblyImport{{abi.WASIModule, "fd_write", []byte{i32}, []byte{i32}}}
		}, `import "wasi_snapshot_preview1" "fd_write": want (i32 i32 i32 i32) -> (i32), got (i32) -> (i32)`},
		{"export missing", func(a *assembly) { a.without("alloc") },
			`export "alloc": want a function (i32) -> (i32), got none`},
		{"type of an export", func(a *assembly) { a.with(assemblyFunc{"filter", []byte{i32, i32}, nil, nil}) },
			`export "filter": want (i32) -> (i32), got (i32 i32) -> ()`},
		{"export of another kind", func(a *assembly) { a.without("filter"); a.memory = "filter" },
			`export "filter": want a function (i32) -> (i32), got a memory`},
		{"memory under another name", func(a *assembly) { a.memory = "mem" },
			`export "memory": want a memory, got none`},
		{"memory of another kind", func(a *assembly) {
			a.memory = ""
			a.funcs = append(a.funcs, assemblyFunc{"memory", nil, nil, nil})
		}, `export "memory": want a memory, got a func`},
		{"command", func(a *assembly) { a.with(assemblyFunc{"_start", nil, nil, nil}) },
			`export "_start": want a reactor (Go: -buildmode=c-shared), got a command`},
		{"type of _initialize", func(a *assembly) { a.with(assemblyFunc{"_initialize", nil, []byte{i32}, constant(0)}) },
			`export "_initialize": want () -> (), got () -> (i32)`},
		{"point without export", pure(func(d *abi.Description) { d.Points = []string{"filter", "score"} }),
			`describe: point score: want an export "score", got none`},
		{"schema", pure(func(d *abi.Description) { d.Schema = map[string]any{"type": "object", "$ref": "x"} }),
			`describe: schema: keyword "$ref" is not served`},
		{"section that isn't a record", func(a *assembly) { a.data = []byte("{}") },
			`section berth.describe: describe document: value record: want 24 to`},
		{"instruction", func(a *assembly) { a.with(assemblyFunc{"gc", nil, nil, []byte{0x08, 0}}) }, // throw
			`weave: `},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newAssembly(t, &description)
			test.change(a)
			info, err := Inspect(described(t, a), weave.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			if got := info.Problems.Error(); !strings.Contains(got, test.want) {
				t.Errorf("want %s, got %s", test.want, got)
			}
		})
	}
}

func TestInspectRefuses(t *testing.T) {
	small := weave.DefaultLimits()
	small.ModuleBytes = 10
	for _, test := range []struct {
		name   string
		wasm   []byte
		limits weave.Limits
		want   string
	}{
		{"empty", nil, weave.DefaultLimits(), "header"},
		{"text", []byte("(module)"), weave.DefaultLimits(), "header"},
		{"cut off", newAssembly(t, &description).wasm()[:60], weave.DefaultLimits(), "parse module: "},
		{"too large", make([]byte, 11), small, "module: bytes: want at most 10, got 11"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Inspect(test.wasm, test.limits)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("want one line with %q, got %v", test.want, err)
			}
		})
	}
	var limit *weave.LimitError
	if _, err := Inspect(make([]byte, 11), small); !errors.As(err, &limit) {
		t.Errorf("want a *weave.LimitError, got %T", err)
	}
}

func TestProblemsOnOneLine(t *testing.T) {
	ps := Problems{"a", "b", "c", "d", "e", "f", "g"}
	if want, got := "a; b; c; d; e; and 2 more", ps.Error(); got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}

func FuzzInspect(f *testing.F) {
	f.Add(described(f, newAssembly(f, &description)))
	a := newAssembly(f, &description)
	a.imports = []assemblyImport{{"berth", "log", []byte{i32, i32, i32}, nil}}
	f.Add(a.wasm())
	f.Add([]byte("\x00asm\x01\x00\x00\x00"))
	limits := weave.DefaultLimits()
	limits.ModuleBytes = 1 << 16
	f.Fuzz(func(t *testing.T, wasm []byte) {
		info, err := Inspect(wasm, limits)
		if err == nil && len(info.Problems) == 0 && info.woven == nil {
			t.Fatal("no problem, but nothing to compile")
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatalf("want one line, got %q", err)
		}
	})
}
