// SPDX-License-Identifier: Apache-2.0

package abi

// ValueType is a WebAssembly number type, by its binary encoding.
type ValueType byte

// The number types that the ABI uses.
const (
	I32 ValueType = 0x7f
	I64 ValueType = 0x7e
)

func (t ValueType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	}
	return "type " + itoa(uint64(t))
}

// Function is a row of the tables of imports and exports.
type Function struct {
	Name     string
	Params   []ValueType
	Results  []ValueType
	Required bool   // exports: a guest without it is refused
	Point    Point  // exports that take a frame: the point it carries
	Frame    bool   // exports: the one parameter is a call frame
	Doc      string // one line
}

// Signature is the function's type in the text format's words.
func (f Function) Signature() string { return Signature(f.Params, f.Results) }

// Signature writes a function type as "(i32 i32) -> (i32)".
func Signature(params, results []ValueType) string {
	list := func(ts []ValueType) string {
		s := "("
		for i, t := range ts {
			if i > 0 {
				s += " "
			}
			s += t.String()
		}
		return s + ")"
	}
	return list(params) + " -> " + list(results)
}

// Log levels, the first parameter of the import log.
const (
	LogError   = 0 // the policy can't do what it is for
	LogWarning = 1 // someone should look at it
	LogInfo    = 2 // stdout and stderr too
	LogDebug   = 3 // and every other number
)

// Imports are the host functions in module "berth". A guest imports those it
// needs.
var Imports = []Function{
	{Name: "log", Params: []ValueType{I32, I32, I32}, Doc: "writes a line (level, ptr, len) to the scheduler's log"},
	{Name: "intern", Params: []ValueType{I32, I32}, Results: []ValueType{I32}, Doc: "returns the id of the string (ptr, len); 0 only for the empty string"},
	{Name: "read", Params: []ValueType{I32, I32, I32, I32, I32}, Results: []ValueType{I64}, Doc: "writes a value record of what (read, key ptr, key len) names to (buffer ptr, buffer len), if it fits, and returns its bytes; a negative number says why there is none"},
}

// Exports are the functions that a guest exports: those of its life and memory,
// then one for each point that it implements. (It is a function so that guests,
// which don't call it, don't hold the table.)
func Exports() []Function {
	fs := []Function{
		{Name: "abi_version", Results: []ValueType{I32}, Required: true, Doc: "returns major<<16 | minor"},
		{Name: "alloc", Params: []ValueType{I32}, Results: []ValueType{I32}, Required: true, Doc: "returns size bytes, 8-aligned, that stay where they are until free"},
		{Name: "free", Params: []ValueType{I32}, Required: true, Doc: "gives back what alloc returned"},
		{Name: "gc", Doc: "collects garbage, between cycles"},
		{Name: "state_clone", Params: []ValueType{I32}, Results: []ValueType{I32}, Doc: "copies the cycle state behind a handle; returns the copy's handle, 0 if there is none"},
		{Name: "cycle_end", Params: []ValueType{I64}, Doc: "frees every cycle state of a cycle"},
	}
	for i := range Points {
		p := &Points[i]
		fs = append(fs, Function{
			Name: p.Name, Params: []ValueType{I32}, Results: []ValueType{I32},
			Required: p.Point == Describe, Point: p.Point, Frame: true, Doc: p.Doc,
		})
	}
	return fs
}

// ExportByName finds a row of Exports.
func ExportByName(name string) (Function, bool) {
	for _, f := range Exports() {
		if f.Name == name {
			return f, true
		}
	}
	return Function{}, false
}

// What an export that takes a frame returns.
const (
	Answered   = 0 // the result is filled
	NotHandled = 1 // the guest doesn't know the frame's point or phase
)
