// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// wazeroVersion is that of go.mod; a test compares them.
const wazeroVersion = "v1.12.0"

// WazeroOptions configures NewWazero.
type WazeroOptions struct {
	// CacheDir keeps compiled code for later processes; "" keeps it in memory
	// only. What is in it runs as native code: the directory is made for its
	// owner alone, and refused if others may enter it.
	CacheDir string
}

// Wazero is the engine on wazero, in pure Go.
type Wazero struct {
	dir   string
	cache wazero.CompilationCache

	mu    sync.Mutex
	plain wazero.CompilationCache // without the directory; made when an entry there is broken
}

// NewWazero returns an engine whose modules share one cache of compiled code.
func NewWazero(_ context.Context, opts WazeroOptions) (*Wazero, error) {
	if opts.CacheDir == "" {
		return &Wazero{cache: wazero.NewCompilationCache()}, nil
	}
	if err := os.MkdirAll(opts.CacheDir, 0o700); err != nil {
		return nil, fmt.Errorf("compilation cache: %w", err)
	}
	info, err := os.Stat(opts.CacheDir)
	if err != nil {
		return nil, fmt.Errorf("compilation cache: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("compilation cache %s: want mode 0700, got %#o", opts.CacheDir, mode)
	}
	cache, err := wazero.NewCompilationCacheWithDir(opts.CacheDir)
	if err != nil {
		return nil, fmt.Errorf("compilation cache: %w", err)
	}
	return &Wazero{dir: opts.CacheDir, cache: cache}, nil
}

// Name is "wazero".
func (e *Wazero) Name() string { return "wazero" }

// Version is wazero's version.
func (e *Wazero) Version() string { return wazeroVersion }

// Close frees all code.
func (e *Wazero) Close() error {
	ctx := context.Background()
	e.mu.Lock()
	defer e.mu.Unlock()
	err := e.cache.Close(ctx)
	if e.plain != nil {
		err = errors.Join(err, e.plain.Close(ctx))
	}
	return err
}

// Compile implements Engine.
func (e *Wazero) Compile(ctx context.Context, wasm []byte, opts CompileOptions) (Module, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	m, err := compile(e.cache, wasm, opts)
	if err != nil && e.dir != "" && !errors.Is(err, errImports) {
		// Either the module is bad or what the directory holds of it.
		if again, err := compile(e.withoutDir(), wasm, opts); err == nil {
			if err := e.clearDir(); err != nil {
				_ = again.Close() // the error at hand says more
				return nil, err
			}
			return again, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	return m, nil
}

func (e *Wazero) withoutDir() wazero.CompilationCache {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.plain == nil {
		e.plain = wazero.NewCompilationCache()
	}
	return e.plain
}

// clearDir empties the cache directory. wazero doesn't say which entry is
// broken, and compiling the others anew once is cheap next to running one.
func (e *Wazero) clearDir() error {
	files, err := filepath.Glob(filepath.Join(e.dir, "wazero-*", "*"))
	if err != nil {
		return fmt.Errorf("clear compilation cache: %w", err)
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("clear compilation cache: %w", err)
		}
	}
	return nil
}

const maxPages = 65536 // 4 GiB

// compile makes a runtime for one module: wazero keeps host functions and the
// memory limit by runtime.
func compile(cache wazero.CompilationCache, wasm []byte, opts CompileOptions) (m *wazeroModule, err error) {
	ctx := context.Background()
	config := wazero.NewRuntimeConfig().
		WithCompilationCache(cache).
		WithCoreFeatures(api.CoreFeaturesV2).
		WithMemoryCapacityFromMax(true).
		WithDebugInfoEnabled(false)
	if opts.MemoryPages > maxPages {
		return nil, fmt.Errorf("memory pages: want at most %d, got %d", maxPages, opts.MemoryPages)
	}
	if opts.MemoryPages > 0 {
		config = config.WithMemoryLimitPages(opts.MemoryPages)
	}
	m = &wazeroModule{runtime: wazero.NewRuntimeWithConfig(ctx, config)}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic in the compiler: %v", r)
		}
		if err != nil {
			_ = m.Close() // the error at hand says more
			m = nil
		}
	}()
	if m.compiled, err = m.runtime.CompileModule(ctx, wasm); err != nil {
		return m, err
	}
	if opts.MemoryPages == 0 {
		for _, mem := range m.compiled.ExportedMemories() {
			if _, ok := mem.Max(); !ok {
				return m, errors.New("memory: want a maximum, got none")
			}
		}
	}
	return m, m.addHost(ctx, opts.Host)
}

// errImports marks a module whose imports don't match; compiling it again is of no use.
var errImports = errors.New("imports")

type importError struct{ msg string }

func (e *importError) Error() string        { return e.msg }
func (e *importError) Is(target error) bool { return target == errImports }

// addHost instantiates the host functions that the module imports.
func (m *wazeroModule) addHost(ctx context.Context, host []HostFunc) error {
	type key struct{ module, name string }
	have := make(map[key]*HostFunc, len(host))
	for i := range host {
		have[key{host[i].Module, host[i].Name}] = &host[i]
	}
	builders := make(map[string]wazero.HostModuleBuilder)
	done := make(map[key]bool)
	for _, def := range m.compiled.ImportedFunctions() {
		module, name, _ := def.Import()
		h := have[key{module, name}]
		if h == nil {
			return &importError{fmt.Sprintf("import %q %q: the host has no such function", module, name)}
		}
		want := signature(h.Params, h.Results)
		if got := signature(fromAPI(def.ParamTypes()), fromAPI(def.ResultTypes())); got != want {
			return &importError{fmt.Sprintf("import %q %q: want %s, got %s", module, name, want, got)}
		}
		if done[key{module, name}] {
			continue
		}
		done[key{module, name}] = true
		b := builders[module]
		if b == nil {
			b = m.runtime.NewHostModuleBuilder(module)
			builders[module] = b
		}
		b.NewFunctionBuilder().
			WithGoModuleFunction(hostCall(h.Call), toAPI(h.Params), toAPI(h.Results)).
			Export(name)
	}
	for module, b := range builders {
		if _, err := b.Instantiate(ctx); err != nil {
			return fmt.Errorf("host module %q: %w", module, err)
		}
	}
	return nil
}

func toAPI(types []ValueType) []api.ValueType {
	list := make([]api.ValueType, len(types))
	for i, t := range types {
		list[i] = api.ValueType(t)
	}
	return list
}

func fromAPI(types []api.ValueType) []ValueType {
	list := make([]ValueType, len(types))
	for i, t := range types {
		list[i] = ValueType(t)
	}
	return list
}
