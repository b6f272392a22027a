// SPDX-License-Identifier: Apache-2.0

//go:build unix

package engine

import "syscall"

// reserve returns size zero bytes that take memory only once they are touched,
// or nil if the system refuses.
func reserve(size uint64) []byte {
	if size == 0 || size > 1<<32 {
		return nil
	}
	data, err := syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return data
}

// release gives back what reserve returned.
func release(data []byte) {
	if data != nil {
		_ = syscall.Munmap(data) // fails only for what isn't mapped
	}
}
