// SPDX-License-Identifier: Apache-2.0

package abi

// FieldType names how a field of a structure is laid out. All numbers are
// little-endian; offsets count from the start of the record that holds them,
// pointers from the start of guest memory.
type FieldType string

// Field types. Beside them, "list<x>" is {u32 offset, u32 count} of structures
// or ids x. (The tables are constant throughout: what a guest doesn't use of
// them, the linker leaves out.)
const (
	U16   FieldType = "u16"
	U32   FieldType = "u32"
	S32   FieldType = "i32"
	U64   FieldType = "u64"
	S64   FieldType = "i64"
	ID    FieldType = "id"   // u32, an interned string; 0 is the empty string
	Str   FieldType = "str"  // {u32 offset, u32 length}, UTF-8, no terminator
	Ptr   FieldType = "ptr"  // u32, an address in guest memory
	Flags FieldType = "bits" // u32, named bits
)

// Size is the field's size in bytes.
func (t FieldType) Size() uint32 {
	switch t {
	case U16:
		return 2
	case U32, S32, ID, Ptr, Flags:
		return 4
	}
	return 8 // u64, i64, str, list
}

// Align is the alignment of the field in bytes.
func (t FieldType) Align() uint32 {
	if t == U64 || t == S64 {
		return 8
	}
	return min(t.Size(), 4)
}

// Field is one field of a Struct.
type Field struct {
	Name   string
	Offset uint32
	Type   FieldType
	Doc    string
}

// Struct is a fixed layout: an entry of a section, a frame, a result.
type Struct struct {
	Name   string
	Size   uint32 // a multiple of 8, the stride in lists
	Fields []Field
}

// Section is a part of a view record. A record's section table holds its
// offset, 0 where the policy didn't declare it.
type Section struct {
	Name  string // "node.labels"; what describe's reads name
	Index uint32 // place in the section table
	Since uint32 // ABI minor
	Entry *Struct
	List  bool // {u32 count, u32 stride} and then count entries; else one entry
	Doc   string
}
