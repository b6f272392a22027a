// SPDX-License-Identifier: Apache-2.0

package weave_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/berth-scheduler/berth/host/weave"
)

// valid reports whether wazero accepts a module. Its interpreter makes no
// machine code, which is the slow part.
func valid(t *testing.T, wasm []byte, pages uint32) bool {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().
		WithCoreFeatures(api.CoreFeaturesV2).WithMemoryLimitPages(pages).WithDebugInfoEnabled(false))
	defer func() { _ = r.Close(ctx) }()
	m, err := r.CompileModule(ctx, wasm)
	if err != nil {
		t.Logf("wazero: %v", err)
		return false
	}
	_ = m.Close(ctx)
	return true
}

// No bytes make the weaver panic, and what it accepts is valid after weaving if
// and only if it was before.
func FuzzWeave(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.wasm"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, file := range files {
		wasm, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wasm)
	}
	for seed := range uint64(5) {
		f.Add(generate(seed))
	}
	f.Add([]byte("\x00asm\x01\x00\x00\x00"))
	limits := weave.DefaultLimits()
	limits.BodyBytes = 4096 // wazero's interpreter is slow on long bodies
	f.Fuzz(func(t *testing.T, wasm []byte) {
		_, _, _ = weave.CustomSection(wasm, "name")
		_, _ = weave.RemoveExports(wasm, "run")
		iface, ierr := weave.ParseInterface(wasm)
		r, err := weave.Weave(wasm, limits)
		if err != nil {
			return
		}
		if ierr != nil || iface == nil {
			t.Fatalf("woven, but its interface can't be read: %v", ierr)
		}
		before, after := valid(t, wasm, 65536), valid(t, r.Wasm, limits.MemoryPages)
		if before != after {
			t.Fatalf("valid before weaving: %v, after: %v", before, after)
		}
		if _, err := weave.Weave(r.Wasm, limits); err == nil {
			t.Fatal("a woven module was woven again")
		}
	})
}
