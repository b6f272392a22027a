// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ValueType is a WebAssembly number type in its binary encoding.
type ValueType byte

// The types that a host function may have.
const (
	I32 ValueType = 0x7f
	I64 ValueType = 0x7e
	F32 ValueType = 0x7d
	F64 ValueType = 0x7c
)

// String returns the name of the type in the text format.
func (t ValueType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	}
	return fmt.Sprintf("%#x", byte(t))
}

// Engine compiles modules.
type Engine interface {
	// Name and Version are part of the keys of caches that hold compiled code.
	Name() string
	Version() string
	// Compile validates a module and makes machine code of it. The module may
	// import functions only, each of opts.Host; the error names those that are
	// missing or of another type. Compilation may take seconds, and looks at
	// ctx only before it begins.
	Compile(ctx context.Context, wasm []byte, opts CompileOptions) (Module, error)
	// Close frees all code. The engine's instances must be closed before.
	Close() error
}

// CompileOptions are the conditions under which a module's instances live.
type CompileOptions struct {
	// MemoryPages bounds each instance's memory, in pages of 64 KiB, below the
	// module's own maximum. 0 means that the module's maximum, which it must
	// have, is enough.
	MemoryPages uint32
	// Host are the functions that the module may import; it needn't import all.
	Host []HostFunc
}

// HostFunc is a function that a guest may import.
type HostFunc struct {
	Module, Name    string
	Params, Results []ValueType
	// Call reads its parameters from stack, each in its lowest bits, and writes
	// its results there from the front. The stack is as long as the longer of
	// both. An error ends the guest's call: Func.Call returns a *Trap with
	// ReasonHost, or ReasonExit for an *ExitError, that wraps it. So does a
	// panic, with ReasonPanic. It must not keep inst's memory views.
	Call func(inst Instance, stack []uint64) error
}

// Module is compiled code.
type Module interface {
	// Instantiate makes an instance and runs the module's start function, if it
	// has one; _initialize is left to the caller. The error is a *Trap if the
	// start function ended in one.
	Instantiate(ctx context.Context, opts InstanceOptions) (Instance, error)
	// Close frees the code. The module's instances must be closed before.
	Close() error
}

// InstanceOptions are the conditions of one instance.
type InstanceOptions struct {
	// Data is the owner's, for host functions to find.
	Data any
}

// Instance is a running copy of a module.
type Instance interface {
	// Func returns an exported function. Fetch it once: a look-up takes a
	// microsecond, and each function has a call stack of its own.
	Func(name string) (Func, bool)
	// Memory returns the memory exported as "memory"; without one it is empty.
	Memory() Memory
	// Global returns an exported mutable global.
	Global(name string) (Global, bool)
	// Data returns what InstanceOptions held.
	Data() any
	// Close frees the memory; a second Close does nothing.
	Close() error
}

// Func is an exported function.
type Func interface {
	// Call passes the parameters in stack and leaves the results there; stack
	// must be as long as the longer of both. It allocates nothing. The error is
	// a *Trap if the guest failed; ErrClosed and ErrBusy say that it didn't run.
	Call(stack []uint64) error
}

// Memory is an instance's linear memory.
type Memory interface {
	// Size returns the size in bytes.
	Size() uint32
	// Read returns the n bytes at ptr, and whether they are inside. It is a
	// view: the guest sees what is written to it. A view is invalid after any
	// call into the guest, since memory may move when it grows, and must not be
	// touched after Close, which gives the memory back to the system.
	Read(ptr, n uint32) ([]byte, bool)
	// Write copies data to ptr, all of it or nothing, and reports which.
	Write(ptr uint32, data []byte) bool
}

// Global is a mutable number; Get and Set take and return its bits.
type Global interface {
	Get() uint64
	Set(uint64)
}

var (
	// ErrClosed is returned by calls of a closed instance.
	ErrClosed = errors.New("instance is closed")
	// ErrBusy is returned by calls of an instance that is in a call.
	ErrBusy = errors.New("instance is in a call")
)

// signature formats a function's type.
func signature(params, results []ValueType) string {
	list := func(types []ValueType) string {
		names := make([]string, len(types))
		for i, t := range types {
			names[i] = t.String()
		}
		return "(" + strings.Join(names, " ") + ")"
	}
	return list(params) + " -> " + list(results)
}
