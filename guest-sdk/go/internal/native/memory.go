// SPDX-License-Identifier: Apache-2.0

// Package native stands in for a WebAssembly instance where a policy runs as
// ordinary Go, in unit tests: one block of bytes is the guest's memory, so that
// frames, records and results cross in it exactly as they do in an instance.
//
// The block, the interned strings and the lock are shared by the process, since
// symbols are package variables of the policy.
package native

import (
	"encoding/binary"
	"sync"
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
)

// Sizes of the memory and of its string table.
const (
	memorySize  = 256 << 20 // untouched pages cost nothing
	maxStrings  = 1 << 18
	stringTable = 64 // where it starts; address 0 stays unused
	granule     = 16
)

// Mu is held during every call into a guest, as an instance runs one call at a
// time.
var Mu sync.Mutex

var (
	memoryMu sync.Mutex // guards what follows

	memory = make([]byte, memorySize)
	top    = uint32(stringTable + maxStrings*abi.StringRefSize)
	sizes  = map[uint32]uint32{}   // live blocks, by address
	spare  = map[uint32][]uint32{} // free blocks, by size
)

// Base is where address 0 of the memory is.
func Base() unsafe.Pointer { return unsafe.Pointer(&memory[0]) }

// Bytes are n bytes of memory at an address.
func Bytes(at, n uint32) []byte { return memory[at : at+n : at+n] }

// Alloc returns the address of n zero bytes, 16-aligned.
func Alloc(n uint32) uint32 {
	memoryMu.Lock()
	defer memoryMu.Unlock()
	n = (max(n, 1) + granule - 1) &^ (granule - 1)
	at := top
	if free := spare[n]; len(free) > 0 {
		at = free[len(free)-1]
		spare[n] = free[:len(free)-1]
		clear(Bytes(at, n))
	} else {
		if n > memorySize-top {
			panic("berthtest: the memory of the fake guest is full")
		}
		top += n
	}
	sizes[at] = n
	return at
}

// Free gives back what Alloc returned.
func Free(at uint32) {
	memoryMu.Lock()
	defer memoryMu.Unlock()
	n, ok := sizes[at]
	if !ok {
		panic("berthtest: free of an address that alloc didn't return")
	}
	delete(sizes, at)
	spare[n] = append(spare[n], at)
}

var published []uint32 // guarded by Mu

// Publish copies n bytes at p into the memory and returns their address. It
// is what the address of a Go value becomes. The copy lives until Unpublish.
func Publish(p unsafe.Pointer, n int) uint32 {
	at := Alloc(uint32(n))
	copy(Bytes(at, uint32(n)), unsafe.Slice((*byte)(p), n))
	published = append(published, at)
	return at
}

// Unpublish frees what Publish copied.
func Unpublish() {
	for _, at := range published {
		Free(at)
	}
	published = published[:0]
}

var (
	internMu sync.Mutex // guards what follows

	ids     = map[string]uint32{"": 0}
	strings = []string{""}
)

// Intern returns the id of a string, 0 for the empty one.
func Intern(s string) uint32 {
	internMu.Lock()
	defer internMu.Unlock()
	if id, ok := ids[s]; ok {
		return id
	}
	id := uint32(len(strings))
	if id == maxStrings {
		panic("berthtest: the string table of the fake guest is full")
	}
	at := Alloc(uint32(len(s)))
	copy(Bytes(at, uint32(len(s))), s)
	ref := Bytes(stringTable+id*abi.StringRefSize, abi.StringRefSize)
	binary.LittleEndian.PutUint32(ref, at)
	binary.LittleEndian.PutUint32(ref[4:], uint32(len(s)))
	strings = append(strings, s)
	ids[s] = id
	return id
}

// Strings is the address of the string table and its number of entries.
func Strings() (at, n uint32) {
	internMu.Lock()
	defer internMu.Unlock()
	return stringTable, uint32(len(strings))
}
