// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"runtime"
	"unsafe"
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

// setGCPercent is runtime/debug.SetGCPercent without the 400 KB that importing
// runtime/debug (and with it fmt and os) adds to a module.
//
//go:linkname setGCPercent runtime/debug.setGCPercent
func setGCPercent(percent int32) int32

// A collection in the middle of a call would take 40 ms from a scheduling
// cycle; the host calls the export gc between cycles instead.
func init() { setGCPercent(-1) }

// Blocks that the host allocated, by address: the map keeps them reachable.
// What it frees is kept by size and used again, since nothing collects garbage
// between two calls of gc.
var (
	blocks      = map[uint32][]uint64{}
	spareBlocks = map[int][][]uint64{}
)

// words rounds a size in bytes up to 64 bytes, and to an eighth of its
// magnitude, so that blocks of near sizes can stand in for each other.
func words(size uint32) int {
	step := uint64(64)
	for step*16 <= uint64(size) {
		step *= 2
	}
	return int((uint64(size)+step-1)/step*step) / 8
}

func hostAlloc(size uint32) uint32 {
	n := max(words(size), 1)
	var b []uint64
	if s := spareBlocks[n]; len(s) > 0 {
		b = s[len(s)-1]
		spareBlocks[n] = s[:len(s)-1]
		clear(b)
	} else {
		b = make([]uint64, n)
	}
	p := uint32(uintptr(unsafe.Pointer(&b[0])))
	blocks[p] = b
	return p
}

func hostFree(p uint32) {
	b, ok := blocks[p]
	if !ok {
		panic("berth: free of an address that alloc didn't return")
	}
	delete(blocks, p)
	spareBlocks[len(b)] = append(spareBlocks[len(b)], b)
}

func collectGarbage() {
	clear(spareBlocks)
	runtime.GC()
}
