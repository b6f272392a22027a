// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"runtime"
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
)

// addressesLast says that the address of a Go value is its address in guest
// memory, for as long as the value is reachable: Go's collector moves nothing
// that is on the heap.
const addressesLast = true

// at is the place of an address in guest memory.
func at(address uint32) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(nil), address) }

// address is where n bytes at p, which are on the heap or constant, are in
// guest memory.
func address(p unsafe.Pointer, n int) uint32 { return uint32(uintptr(p)) }

func unpublish() {}

// An instance has one thread.
func lock()   {}
func unlock() {}

//go:wasmimport berth log
func hostLog(level uint32, line string)

//go:wasmimport berth intern
func hostIntern(s string) uint32

//go:wasmimport berth read
func hostRead(what uint32, key string, buffer unsafe.Pointer, room uint32) int64

// setGCPercent is runtime/debug.SetGCPercent without the 400 KB that importing
// runtime/debug (and with it fmt and os) adds to a module.
//
//go:linkname setGCPercent runtime/debug.setGCPercent
func setGCPercent(percent int32) int32

// A collection in the middle of a call would take 40 ms from a scheduling
// cycle; the host calls the export gc between cycles instead.
func init() { setGCPercent(-1) }

// blocks are what the host allocated, and are reachable through it. What the
// host freed is kept in spareBlocks and used again, since nothing collects
// garbage between two calls of gc. The host takes few and large blocks.
var blocks, spareBlocks [][]uint64

func hostAlloc(size uint32) uint32 {
	n := max(1, (int(size)+7)/8)
	b := takeSpare(n)
	if b == nil {
		b = make([]uint64, n)
	}
	blocks = append(blocks, b)
	return uint32(uintptr(unsafe.Pointer(&b[0])))
}

// takeSpare finds a spare block of at least n words, and not much more.
func takeSpare(n int) []uint64 {
	for i, b := range spareBlocks {
		if len(b) >= n && len(b) <= n+n/4 {
			spareBlocks = remove(spareBlocks, i)
			clear(b)
			return b
		}
	}
	return nil
}

func remove(l [][]uint64, i int) [][]uint64 {
	last := len(l) - 1
	l[i] = l[last]
	l[last] = nil
	return l[:last]
}

func hostFree(p uint32) {
	for i, b := range blocks {
		if uint32(uintptr(unsafe.Pointer(&b[0]))) == p {
			blocks = remove(blocks, i)
			spareBlocks = append(spareBlocks, b)
			return
		}
	}
	panic("berth: free of an address that alloc didn't return")
}

func collectGarbage() {
	spareBlocks = nil
	runtime.GC()
}

// guarded runs a goroutine's function: a panic in any ends the instance.
func guarded(_ *any, f func()) { f() }

// What the host checks in production, by the describe document and the schema,
// is checked in tests only.

func checkDescription([]byte) error          { return nil }
func (*guest) contradiction() string         { return "" }
func unknownKey([]Property, abi.Value) error { return nil }
