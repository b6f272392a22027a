// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

type wazeroModule struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
}

// Close implements Module.
func (m *wazeroModule) Close() error {
	ctx := context.Background()
	err := m.runtime.Close(ctx)
	if m.compiled != nil { // which the runtime doesn't close
		err = errors.Join(err, m.compiled.Close(ctx))
	}
	return err
}

// Instantiate implements Module.
func (m *wazeroModule) Instantiate(ctx context.Context, opts InstanceOptions) (_ Instance, err error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("instantiate: %w", err)
	}
	i := &wazeroInstance{data: opts.Data, funcs: make(map[string]*wazeroFunc)}
	i.memory.inst = i
	i.ctx.inst = i
	memory := &linearMemory{}
	starting := &callContext{
		inst:   i,
		values: experimental.WithMemoryAllocator(context.Background(), memory),
	}
	i.state.Store(stateRunning) // the start function
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("instantiate: panic in the engine: %v", r)
		}
		if err != nil {
			memory.Free() // wazero forgets it
		}
	}()
	mod, err := m.runtime.InstantiateModule(starting, m.compiled, moduleConfig)
	if err != nil {
		return nil, fmt.Errorf("instantiate: %w", startError(err))
	}
	i.attach(mod)
	i.leave()
	return i, nil
}

// moduleConfig makes instances without a name, of which there may be many, and
// runs no export at instantiation.
var moduleConfig = wazero.NewModuleConfig().WithName("").WithStartFunctions()

// startError tells a trap of the start function from other errors.
func startError(err error) error {
	var host *hostError
	if errors.As(err, &host) || strings.Contains(err.Error(), stackTraceMark) || strings.HasSuffix(err.Error(), string(ReasonStack)) {
		return newTrap(err)
	}
	return err
}

// callContext is the context of every call of an instance. wazero hands it to
// host functions, which so find the instance without a look-up.
type callContext struct {
	inst   *wazeroInstance
	values context.Context // nil but during instantiation
}

// Deadline, Done and Err implement context.Context for a call that nobody cancels.
func (*callContext) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }
func (*callContext) Done() <-chan struct{}                   { return nil }
func (*callContext) Err() error                              { return nil }

// Value implements context.Context. wazero asks for a few keys at each call.
func (c *callContext) Value(key any) any {
	if c.values == nil {
		return nil
	}
	return c.values.Value(key)
}

// States of an instance. Whoever moves it to stateClosed frees it.
const (
	stateIdle int32 = iota
	stateRunning
	stateClosing // closed while running
	stateClosed
)

type wazeroInstance struct {
	mod    api.Module
	memory wazeroMemory
	data   any
	ctx    callContext
	state  atomic.Int32
	funcs  map[string]*wazeroFunc
}

// attach makes a wazero instance ours; a start function may call the host before that.
func (i *wazeroInstance) attach(mod api.Module) {
	i.mod = mod
	i.memory.mem = mod.ExportedMemory("memory")
}

func (i *wazeroInstance) enter() error {
	if i.state.CompareAndSwap(stateIdle, stateRunning) {
		return nil
	}
	if i.state.Load() == stateRunning {
		return ErrBusy
	}
	return ErrClosed
}

func (i *wazeroInstance) leave() {
	if !i.state.CompareAndSwap(stateRunning, stateIdle) && i.state.CompareAndSwap(stateClosing, stateClosed) {
		_ = i.free() // Close, which could have told, has returned
	}
}

// Close implements Instance.
func (i *wazeroInstance) Close() error {
	for {
		switch {
		case i.state.CompareAndSwap(stateIdle, stateClosed):
			return i.free()
		case i.state.CompareAndSwap(stateRunning, stateClosing):
			return nil
		case i.state.Load() >= stateClosing:
			return nil
		}
	}
}

func (i *wazeroInstance) free() error { return i.mod.Close(context.Background()) }

// Data implements Instance.
func (i *wazeroInstance) Data() any { return i.data }

// Memory implements Instance.
func (i *wazeroInstance) Memory() Memory { return &i.memory }

// Global implements Instance.
func (i *wazeroInstance) Global(name string) (Global, bool) {
	g, ok := i.mod.ExportedGlobal(name).(api.MutableGlobal)
	return g, ok
}

// Func implements Instance.
func (i *wazeroInstance) Func(name string) (Func, bool) {
	if f, ok := i.funcs[name]; ok {
		return f, true
	}
	fn := i.mod.ExportedFunction(name)
	if fn == nil {
		return nil, false
	}
	def := fn.Definition()
	f := &wazeroFunc{inst: i, fn: fn, slots: max(len(def.ParamTypes()), len(def.ResultTypes()))}
	i.funcs[name] = f
	return f, true
}

type wazeroFunc struct {
	inst  *wazeroInstance
	fn    api.Function
	slots int
}

// Call implements Func.
func (f *wazeroFunc) Call(stack []uint64) (err error) {
	if len(stack) < f.slots {
		return fmt.Errorf("call: want a stack of %d, got %d", f.slots, len(stack))
	}
	if err := f.inst.enter(); err != nil {
		return fmt.Errorf("call: %w", err)
	}
	defer func() {
		// wazero recovers what panics under a guest; this is for wazero itself.
		if r := recover(); r != nil {
			err = &Trap{Reason: ReasonPanic, Err: fmt.Errorf("engine: %v", r)}
		}
		f.inst.leave()
	}()
	if err := f.fn.CallWithStack(&f.inst.ctx, stack); err != nil {
		return newTrap(err)
	}
	return nil
}

// hostError is what a host function's error panics as, to end the guest's call.
type hostError struct{ err error }

func (e *hostError) Error() string { return e.err.Error() }
func (e *hostError) Unwrap() error { return e.err }

// hostCall adapts a host function to wazero.
func hostCall(call func(Instance, []uint64) error) api.GoModuleFunc {
	return func(ctx context.Context, mod api.Module, stack []uint64) {
		i := ctx.(*callContext).inst
		if i.mod == nil {
			i.attach(mod)
		}
		if err := call(i, stack); err != nil {
			panic(&hostError{err})
		}
	}
}

const (
	stackTraceMark = "\nwasm stack trace:\n\t"
	wasmErrorMark  = "wasm error: "
)

// reasons are wazero's messages, whose errors it keeps to itself.
var reasons = map[string]Reason{
	"unreachable":                   ReasonUnreachable,
	"out of bounds memory access":   ReasonMemory,
	"invalid table access":          ReasonTable,
	"null reference":                ReasonTable,
	"indirect call type mismatch":   ReasonCallType,
	"integer overflow":              ReasonInteger,
	"integer divide by zero":        ReasonInteger,
	"invalid conversion to integer": ReasonInteger,
	"stack overflow":                ReasonStack,
}

// newTrap classifies wazero's error.
func newTrap(err error) *Trap {
	msg, stack, _ := strings.Cut(err.Error(), stackTraceMark)
	t := &Trap{Stack: stack}
	var host *hostError
	var exit *ExitError
	if errors.As(err, &host) {
		t.Reason, t.Err = ReasonHost, host.err
		if errors.As(err, &exit) {
			t.Reason = ReasonExit
		}
		return t
	}
	if i := strings.LastIndex(msg, wasmErrorMark); i >= 0 {
		msg = msg[i+len(wasmErrorMark):]
	}
	var ok bool
	if t.Reason, ok = reasons[msg]; !ok {
		t.Reason, t.Err = ReasonPanic, errors.New(msg)
	}
	return t
}
