// SPDX-License-Identifier: Apache-2.0

package abi

// What follows keeps encoding/binary (and with it reflect) and slices.Sort out of
// guests, where they take 80 KB. The compiler doesn't merge byte accesses for
// WebAssembly: inlined everywhere, these four would take 30 KB more.

//go:noinline
func getU32(b []byte) uint32 {
	_ = b[3]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

//go:noinline
func getU64(b []byte) uint64 {
	_ = b[7]
	return uint64(getU32(b)) | uint64(getU32(b[4:]))<<32
}

//go:noinline
func putU32(b []byte, v uint32) {
	_ = b[3]
	b[0], b[1], b[2], b[3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
}

//go:noinline
func putU64(b []byte, v uint64) {
	_ = b[7]
	putU32(b, uint32(v))
	putU32(b[4:], uint32(v>>32))
}

// sortStrings sorts in place, by Shell's method.
func sortStrings(s []string) {
	gap := 1
	for gap < len(s)/3 {
		gap = 3*gap + 1
	}
	for ; gap > 0; gap /= 3 {
		for i := gap; i < len(s); i++ {
			for j := i; j >= gap && s[j] < s[j-gap]; j -= gap {
				s[j], s[j-gap] = s[j-gap], s[j]
			}
		}
	}
}
