// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// wazeroMemory guards an instance's memory: after Close it is no longer there.
type wazeroMemory struct {
	inst *wazeroInstance
	mem  api.Memory // nil if the module exports none
}

func (m *wazeroMemory) gone() bool { return m.mem == nil || m.inst.state.Load() == stateClosed }

// Size implements Memory.
func (m *wazeroMemory) Size() uint32 {
	if m.gone() {
		return 0
	}
	return m.mem.Size()
}

// Read implements Memory.
func (m *wazeroMemory) Read(ptr, n uint32) ([]byte, bool) {
	if m.gone() {
		return nil, false
	}
	return m.mem.Read(ptr, n)
}

// Write implements Memory.
func (m *wazeroMemory) Write(ptr uint32, data []byte) bool {
	return !m.gone() && m.mem.Write(ptr, data)
}

// linearMemory is the memory of one instance. It reserves its maximum at once,
// outside of Go's heap: there the reserved part would count for the garbage
// collector's pace and be zeroed whenever the heap reuses it, and growing would
// copy.
type linearMemory struct {
	data []byte // nil if nothing could be reserved
}

// Allocate implements experimental.MemoryAllocator.
func (m *linearMemory) Allocate(_, most uint64) experimental.LinearMemory {
	m.data = reserve(most)
	return m
}

// Reallocate implements experimental.LinearMemory. nil makes memory.grow fail,
// and instantiation panic, which Instantiate recovers.
func (m *linearMemory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.data)) {
		return nil
	}
	return m.data[:size]
}

// Free implements experimental.LinearMemory.
func (m *linearMemory) Free() {
	release(m.data)
	m.data = nil
}
