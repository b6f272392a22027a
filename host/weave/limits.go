// SPDX-License-Identifier: Apache-2.0

package weave

import "fmt"

// Limits bounds what a module may look like. A zero field allows nothing of
// that kind; start from DefaultLimits.
//
// They are a guard against compile bombs: a few hundred kilobytes of nested
// blocks, locals or branch tables keep an engine's compiler busy for many
// seconds and a gigabyte, and it looks at no context while at it.
type Limits struct {
	ModuleBytes int // the module as given
	Sections    int // sections, custom ones included
	Types       int // entries of the type section
	Params      int // parameters of one type
	Results     int // results of one type
	Imports     int // imported functions
	Functions   int // functions with a body
	Globals     int
	Tables      int
	Exports     int
	Elements    int // element segments
	// ElementEntries bounds the functions of all element segments together.
	ElementEntries int
	DataSegments   int

	BodyBytes   int // one function body
	Locals      int // parameters and locals of one function
	Nesting     int // blocks within blocks of one function
	Blocks      int // block, loop and if of one function
	BlockLocals int // blocks times locals of one function: what SSA construction costs
	BranchTable int // targets of one br_table
	// BranchTargets bounds the targets of all br_tables of one function.
	BranchTargets int

	Loops       int // of one function
	LoopNesting int // loops within loops of one function

	// Of all functions together, which bounds how long compiling a module takes.
	TotalBlockLocals, TotalBranchTargets, TotalLoops int

	// MemoryPages is the memory's maximum, in pages of 64 KiB. A module that
	// declares none, or a larger one, gets it; one whose minimum is larger is refused.
	MemoryPages uint32
	// TableEntries is each table's maximum, treated in the same way.
	TableEntries uint32
	// StartFuel is the budget, in units, of what runs during instantiation:
	// the module's start function. Later the host sets the budget of each call.
	StartFuel int64
}

// DefaultLimits are a few times what the largest Go guest known needs: one of
// 11 MB with net/http, which no policy should be. Its largest functions have a
// body of 51 KB, 984 blocks nested 549 deep, 21 locals and a br_table of 1,145
// targets; all of them 1.6 million blocks times locals, 224,000 targets and
// 4,400 loops. Go makes no loops but one around a function's dispatch table;
// the limits on loops are for other compilers. The smallest Go module already
// has 22,000 data segments and a table of 5,405 entries.
func DefaultLimits() Limits {
	return Limits{
		ModuleBytes:    16 << 20,
		Sections:       256,
		Types:          4096,
		Params:         64,
		Results:        16,
		Imports:        256,
		Functions:      32768,
		Globals:        1024,
		Tables:         8,
		Exports:        1024,
		Elements:       1024,
		ElementEntries: 131072,
		DataSegments:   100000,
		BodyBytes:      128 << 10,
		Locals:         512,
		Nesting:        2048,
		Blocks:         4096,
		BlockLocals:    200000,
		BranchTable:    4096,
		BranchTargets:  32768,
		Loops:          512,
		LoopNesting:    32,

		TotalBlockLocals:   5_000_000,
		TotalBranchTargets: 1_000_000,
		TotalLoops:         50_000,

		MemoryPages:  1024,
		TableEntries: 65536,
		StartFuel:    10_000_000,
	}
}

// LimitError says which limit a module exceeds.
type LimitError struct {
	Where string // what of the module, such as "function 12"
	Limit string // the name of the limit
	Want  int64  // the most that is allowed
	Got   int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s: %s: want at most %d, got %d", e.Where, e.Limit, e.Want, e.Got)
}

// within returns a LimitError if got exceeds want.
func within(where, limit string, want int, got uint64) error {
	if want >= 0 && got <= uint64(want) {
		return nil
	}
	return &LimitError{Where: where, Limit: limit, Want: int64(want), Got: int64(min(got, 1<<62))}
}

// Shape is what Limits look at, measured; of a function's properties it holds
// the largest of all functions.
type Shape struct {
	ModuleBytes, Types, Imports, Functions, Globals, Tables, Exports int
	Elements, ElementEntries, DataSegments                           int

	BodyBytes, Locals, Nesting, Blocks, BlockLocals, BranchTable, BranchTargets int
	Loops, LoopNesting                                                          int

	TotalBlockLocals, TotalBranchTargets, TotalLoops int
}
