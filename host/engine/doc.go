// SPDX-License-Identifier: Apache-2.0

// Package engine is what Berth wants of a WebAssembly engine, and the one on wazero.
//
//	Engine ── Compile(wasm, host functions) ── Module ── Instantiate ── Instance ── Func.Call
//	  │ owns the compiled code's cache           │ many instances          │ memory, globals
//
// An Engine and its Modules may be used by any number of goroutines. An Instance
// with its Funcs, Memory and Globals is for one goroutine at a time; Close alone
// may come from another, and then waits for the running call. A call from within
// a host function is refused: no guest call happens inside a host function.
//
// No error of a guest leaves the call: it becomes a *Trap, after which the
// instance must be closed. Calls are bounded by the fuel that package weave
// counts, not by contexts: an engine looks at none while a guest runs.
//
//	e, err := engine.NewWazero(ctx, engine.WazeroOptions{CacheDir: dir})
//	m, err := e.Compile(ctx, woven, engine.CompileOptions{Host: functions})
//	i, err := m.Instantiate(ctx, engine.InstanceOptions{Data: state})
//	f, ok := i.Func("filter")
//	stack := []uint64{frame}
//	err = f.Call(stack) // stack[0] is the result
package engine
