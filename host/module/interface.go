// SPDX-License-Identifier: Apache-2.0

package module

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/engine/wasi"
	"github.com/berth-scheduler/berth/host/weave"
)

// memoryExport is the name under which a guest exports its memory.
const memoryExport = "memory"

// maxPrinted is how many problems fit the one line of an error.
const maxPrinted = 5

// Problems are all that is wrong with a module, a line each. Errors of this
// package can be unwrapped to it with errors.As.
type Problems []string

// Error joins the first problems to one line.
func (ps Problems) Error() string {
	if len(ps) > maxPrinted {
		return strings.Join(ps[:maxPrinted], "; ") + fmt.Sprintf("; and %d more", len(ps)-maxPrinted)
	}
	return strings.Join(ps, "; ")
}

func (ps *Problems) add(format string, args ...any) {
	*ps = append(*ps, fmt.Sprintf(format, args...))
}

func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

// reactorExports are the names that toolchains give a meaning. A reactor has
// the first; a command has the second instead, and ends when it returns.
var reactorExports = []abi.Function{{Name: "_initialize"}, {Name: "_start"}}

// checkInterface compares a module's imports and exports with the tables of
// abi and of the WASI shim.
func checkInterface(i *weave.Interface) Problems {
	var ps Problems
	for _, im := range i.Imports {
		want, ok := importNamed(im.Module, im.Name)
		if !ok {
			ps.add("import %q %q: the host has no such function", clip(im.Module), clip(im.Name))
			continue
		}
		if got := weave.Signature(im.Params, im.Results); got != want {
			ps.add("import %q %q: want %s, got %s", im.Module, im.Name, want, got)
		}
	}
	exports := make(map[string]weave.Export, len(i.Exports))
	for _, e := range i.Exports {
		exports[e.Name] = e
	}
	for _, f := range slices.Concat(abi.Exports(), reactorExports) {
		e, ok := exports[f.Name]
		switch {
		case !ok && f.Required:
			ps.add("export %q: want a function %s, got none", f.Name, f.Signature())
		case !ok:
		case e.Kind != weave.KindFunction:
			ps.add("export %q: want a function %s, got a %s", f.Name, f.Signature(), e.Kind)
		case weave.Signature(e.Params, e.Results) != f.Signature():
			ps.add("export %q: want %s, got %s", f.Name, f.Signature(), weave.Signature(e.Params, e.Results))
		case f.Name == "_start":
			ps.add("export %q: want a reactor (Go: -buildmode=c-shared), got a command", f.Name)
		}
	}
	if e, ok := exports[memoryExport]; !ok {
		ps.add("export %q: want a memory, got none", memoryExport)
	} else if e.Kind != weave.KindMemory {
		ps.add("export %q: want a memory, got a %s", memoryExport, e.Kind)
	}
	return ps
}

// importNamed finds the signature of a host function.
func importNamed(module, name string) (string, bool) {
	table := wasi.Imports
	switch module {
	case abi.Module:
		table = abi.Imports
	case abi.WASIModule:
	default:
		return "", false
	}
	for _, f := range table {
		if f.Name == name {
			return f.Signature(), true
		}
	}
	return "", false
}

// pointsOf are the points that a module exports, in the order of abi.Points.
func pointsOf(i *weave.Interface) []abi.Point {
	var points []abi.Point
	for _, f := range abi.Exports() {
		if f.Frame && slices.ContainsFunc(i.Exports, func(e weave.Export) bool { return e.Name == f.Name }) {
			points = append(points, f.Point)
		}
	}
	return points
}

// clip bounds how much of a module's text a message repeats.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
