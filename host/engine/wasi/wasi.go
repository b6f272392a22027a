// SPDX-License-Identifier: Apache-2.0

package wasi

import (
	"encoding/binary"
	"errors"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/engine"
)

// errno is what a function returns to the guest. The numbers are WASI's.
type errno uint32

const (
	esuccess errno = 0
	ebadf    errno = 8
	efault   errno = 21
	einval   errno = 28
	enosys   errno = 52
)

// call is the state of one call of a host function.
type call struct {
	state *State
	mem   engine.Memory
	stack []uint64
}

func (c *call) u32(param int) uint32 { return uint32(c.stack[param]) }

// putU32 writes to memory and reports whether the place is inside.
func (c *call) putU32(ptr, x uint32) bool {
	b, ok := c.mem.Read(ptr, 4)
	if ok {
		binary.LittleEndian.PutUint32(b, x)
	}
	return ok
}

func (c *call) putU64(ptr uint32, x uint64) bool {
	b, ok := c.mem.Read(ptr, 8)
	if ok {
		binary.LittleEndian.PutUint64(b, x)
	}
	return ok
}

// function is a row of the table: a type and what it does. An error ends the
// guest's call.
type function struct {
	abi.Function
	run func(c *call) (errno, error)
}

// errnoOf makes a function that knows one answer.
func errnoOf(e errno) func(*call) (errno, error) {
	return func(*call) (errno, error) { return e, nil }
}

// Shorthands for the table.
const (
	i32 = abi.I32
	i64 = abi.I64
)

func define(run func(c *call) (errno, error), name, doc string, params ...abi.ValueType) function {
	return function{abi.Function{Name: name, Params: params, Results: []abi.ValueType{i32}, Doc: doc}, run}
}

// functions is the whole of wasi_snapshot_preview1.
var functions = append([]function{
	argsGet, argsSizesGet, environGet, environSizesGet,
	clockResGet, clockTimeGet,
	fdFdstatGet, fdWrite,
	pollOneoff, procExit, procRaise, randomGet, schedYield,
}, noFiles...)

// Imports are the functions of module abi.WASIModule that a guest may import.
var Imports = imports()

func imports() []abi.Function {
	list := make([]abi.Function, len(functions))
	for i, f := range functions {
		list[i] = f.Function
	}
	return list
}

// Holder is what an instance's Data must be: a *State or what holds one.
type Holder interface {
	WASI() *State
}

var errNoState = errors.New("the instance's data holds no WASI state")

// errFuel ends a call whose fuel doesn't cover what a host function would do.
// The cells say so too.
var errFuel = errors.New("out of fuel")

// HostFuncs are the host functions for an engine, made from Imports.
func HostFuncs() []engine.HostFunc {
	list := make([]engine.HostFunc, len(functions))
	for i, f := range functions {
		list[i] = engine.HostFunc{
			Module: abi.WASIModule, Name: f.Name,
			Params: types(f.Params), Results: types(f.Results),
			Call: f.host,
		}
	}
	return list
}

func types(list []abi.ValueType) []engine.ValueType {
	out := make([]engine.ValueType, len(list))
	for i, t := range list {
		out[i] = engine.ValueType(t)
	}
	return out
}

// host is the function as an engine calls it.
func (f *function) host(inst engine.Instance, stack []uint64) error {
	h, ok := inst.Data().(Holder)
	if !ok {
		return errNoState
	}
	s := h.WASI()
	if s == nil {
		return errNoState
	}
	if !s.charge(inst, callUnits) {
		return errFuel
	}
	s.call = call{state: s, mem: inst.Memory(), stack: stack}
	e, err := f.run(&s.call)
	if err != nil {
		return err
	}
	if len(f.Results) > 0 {
		stack[0] = uint64(e)
	}
	return nil
}
