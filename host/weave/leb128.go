// SPDX-License-Identifier: Apache-2.0

package weave

import "fmt"

// reader reads a module from front to back. Its error is sticky: after the
// first one every read returns zero and the reader is at its end, so that a
// caller may read a whole structure and look at err once.
type reader struct {
	data []byte
	off  int
	err  error
}

func (r *reader) more() bool { return r.off < len(r.data) }

func (r *reader) left() int { return len(r.data) - r.off }

// fail records the first error and moves to the end.
func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.off = len(r.data)
}

func (r *reader) byte() byte {
	if r.off >= len(r.data) {
		r.fail("unexpected end at byte %d", len(r.data))
		return 0
	}
	b := r.data[r.off]
	r.off++
	return b
}

// bytes returns the next n bytes without copying them.
func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(r.left()) {
		r.fail("unexpected end: want %d bytes, got %d", n, r.left())
		return nil
	}
	b := r.data[r.off : r.off+int(n) : r.off+int(n)]
	r.off += int(n)
	return b
}

func (r *reader) u32() uint32 {
	var x uint32
	for shift := uint(0); ; shift += 7 {
		b := r.byte()
		if shift == 28 && b > 0x0f {
			r.fail("integer at byte %d is longer than 32 bits", r.off)
			return 0
		}
		x |= uint32(b&0x7f) << shift
		if b < 0x80 {
			return x
		}
	}
}

// s33 reads the signed 33-bit integer of a block type.
func (r *reader) s33() int64 {
	var x int64
	for shift := uint(0); ; shift += 7 {
		b := r.byte()
		if shift == 28 && b > 0x0f && b&0xf0 != 0x70 {
			r.fail("integer at byte %d is longer than 33 bits", r.off)
			return 0
		}
		x |= int64(b&0x7f) << shift
		if b < 0x80 {
			if b&0x40 != 0 {
				x |= -1 << (shift + 7)
			}
			return x
		}
	}
}

// skipLEB passes over an integer of at most max bytes; the engine checks its value.
func (r *reader) skipLEB(max int) {
	for range max {
		if r.byte() < 0x80 {
			return
		}
	}
	r.fail("integer at byte %d is longer than %d bytes", r.off, max)
}

func (r *reader) name() string { return string(r.bytes(r.u32())) }

// count reads the length of a vector whose entries take at least one byte each.
func (r *reader) count(what string) uint32 {
	n := r.u32()
	if uint64(n) > uint64(r.left()) {
		r.fail("%s: want %d entries, got %d bytes", what, n, r.left())
		return 0
	}
	return n
}

func appendU32(dst []byte, x uint32) []byte {
	for x >= 0x80 {
		dst = append(dst, byte(x)|0x80)
		x >>= 7
	}
	return append(dst, byte(x))
}

func appendS64(dst []byte, x int64) []byte {
	for {
		b := byte(x & 0x7f)
		x >>= 7
		if (x == 0 && b&0x40 == 0) || (x == -1 && b&0x40 != 0) {
			return append(dst, b)
		}
		dst = append(dst, b|0x80)
	}
}

func appendName(dst []byte, name string) []byte {
	return append(appendU32(dst, uint32(len(name))), name...)
}

func appendSection(dst []byte, id byte, content []byte) []byte {
	dst = appendU32(append(dst, id), uint32(len(content)))
	return append(dst, content...)
}
