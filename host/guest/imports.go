// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/engine"
)

// importCost is the fuel that a host call takes beyond its bytes.
const importCost = 100

// imports holds the host functions by name; HostFuncs ranges over abi.Imports,
// so that one without the other is found at start.
var imports = map[string]func(in *Instance, stack []uint64) error{
	"log":    hostLog,
	"intern": hostIntern,
	"read":   hostRead,
}

// HostFuncs are Berth's host functions for an engine, made from abi.Imports.
// They need an instance made by New.
func HostFuncs() []engine.HostFunc {
	fs := make([]engine.HostFunc, 0, len(abi.Imports))
	for _, f := range abi.Imports {
		call, ok := imports[f.Name]
		if !ok {
			panic("import " + f.Name + " is in abi.Imports but the host has no function for it")
		}
		hf := engine.HostFunc{Module: abi.Module, Name: f.Name, Call: func(i engine.Instance, stack []uint64) error {
			in := i.Data().(*Instance)
			if in.inst == nil {
				return errors.New("the start function must not call the host")
			}
			return call(in, stack)
		}}
		for _, t := range f.Params {
			hf.Params = append(hf.Params, engine.ValueType(t))
		}
		for _, t := range f.Results {
			hf.Results = append(hf.Results, engine.ValueType(t))
		}
		fs = append(fs, hf)
	}
	return fs
}

// errFuel ends a call whose host function costs more than is left.
var errFuel = errors.New("out of fuel")

// charge takes fuel for n bytes of work in the host.
func (in *Instance) charge(n uint32) error {
	if !in.meter.Charge(importCost + int64(n/8)) {
		return errFuel
	}
	return nil
}

func (in *Instance) bytes(ptr, n, limit uint32) ([]byte, error) {
	if n > limit {
		return nil, fmt.Errorf("want at most %d bytes, got %d", limit, n)
	}
	b, ok := in.inst.Memory().Read(ptr, n)
	if !ok {
		return nil, fmt.Errorf("want %d bytes inside memory, got address %d", n, ptr)
	}
	return b, nil
}

// hostLog is log(level, ptr, len): one line to the scheduler's log. Control
// characters become spaces; a longer text than abi.MaxLogBytes is cut.
//
//	level  0 error, 1 warning, 2 info, 3 debug; others count as debug
//	ptr    first byte of the text
//	len    bytes
//
// It traps when the text is not inside memory.
func hostLog(in *Instance, stack []uint64) error {
	level, ptr, n := uint32(stack[0]), uint32(stack[1]), uint32(stack[2])
	cut := min(n, abi.MaxLogBytes)
	if err := in.charge(cut); err != nil {
		return err
	}
	b, err := in.bytes(ptr, cut, abi.MaxLogBytes)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	line := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(b), "\ufffd"))
	if cut < n {
		line += " [cut]"
	}
	in.log(min(level, abi.LogDebug), line)
	return nil
}

// hostIntern is intern(ptr, len) -> id: the id of a string in the policy's
// table, which gains it if need be.
//
//	ptr  first byte of the string, UTF-8
//	len  bytes, at most abi.MaxInternBytes
//
// It traps when the string is not inside memory, too long, or the table full.
func hostIntern(in *Instance, stack []uint64) error {
	ptr, n := uint32(stack[0]), uint32(stack[1])
	if err := in.charge(n); err != nil {
		return err
	}
	b, err := in.bytes(ptr, n, abi.MaxInternBytes)
	if err != nil {
		return fmt.Errorf("intern: %w", err)
	}
	id, ok := in.opts.Strings.IDBytes(b)
	if !ok {
		return fmt.Errorf("intern: the table of %d strings is full", in.opts.Strings.Len())
	}
	stack[0] = uint64(id)
	return nil
}

// hostRead is read(what, key, key_len, buffer, buffer_len) -> bytes: a value
// record of what the key names, written to the buffer if it fits. A guest that
// gave too little room asks again; the host answers both from one reading.
//
//	what        a number of abi.ReadTable
//	key         first byte of the key, its parts joined by NULs
//	key_len     bytes, at most abi.MaxReadKeyBytes
//	buffer      where the record goes, 8-aligned
//	buffer_len  bytes there
//
// It returns the record's bytes, or a negative number that says why there is
// none. It traps when key or buffer is not inside memory.
func hostRead(in *Instance, stack []uint64) error {
	what, ptr, n, buf, room := abi.Read(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3]), uint32(stack[4])
	if err := in.charge(n); err != nil {
		return err
	}
	key, err := in.bytes(ptr, n, abi.MaxReadKeyBytes)
	if err != nil {
		return fmt.Errorf("read: key: %w", err)
	}
	if in.lastRead.what != what || string(key) != in.lastRead.key || in.lastRead.record == nil {
		in.lastRead = reading{what: what, key: string(key)}
		answer := int64(abi.ReadRefused)
		if in.opts.Read != nil && in.calling {
			var work int64
			in.lastRead.record, answer, work = in.opts.Read(what, in.lastRead.key)
			if !in.meter.Charge(work) {
				return errFuel
			}
		}
		if in.lastRead.record == nil {
			stack[0] = uint64(min(answer, -1))
			return nil
		}
	}
	record := in.lastRead.record
	if err := in.charge(uint32(len(record))); err != nil {
		return err
	}
	stack[0] = uint64(len(record))
	if uint32(len(record)) > room {
		return nil
	}
	in.lastRead = reading{}
	if !in.inst.Memory().Write(buf, record) {
		return fmt.Errorf("read: want %d bytes inside memory, got address %d", len(record), buf)
	}
	return nil
}

// reading is what the last read gave, kept for a guest that had too little room.
type reading struct {
	what   abi.Read
	key    string
	record []byte
}
