// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"fmt"
	"math/bits"
)

// slabSize is how much the host asks of the guest's alloc at once: records are
// a few hundred bytes, and a guest call for each would cost more than the copy.
const slabSize = 128 << 10

// region is a piece of guest memory that the host uses. The zero region is
// empty.
type region struct{ ptr, cap uint32 }

// heap hands out pieces of slabs that the guest allocated. All of its
// book-keeping is in the host.
type heap struct {
	alloc func(size uint32) (uint32, error) // checked: aligned, inside, nothing live under it
	slabs []region
	next  uint32 // bytes used of the last slab
	free  map[uint32][]uint32
	used  uint64 // bytes handed out
}

// sizeClass rounds up to a power of two or to three quarters of one, at least 64.
func sizeClass(n uint32) uint32 {
	if n <= 64 {
		return 64
	}
	p := uint32(1) << bits.Len32(n-1)
	if q := p / 4 * 3; n <= q {
		return q
	}
	return p
}

// get returns at least n bytes, 8-aligned.
func (h *heap) get(n uint32) (region, error) {
	if n > 1<<30 {
		return region{}, fmt.Errorf("want at most %d bytes at once, got %d", 1<<30, n)
	}
	c := sizeClass(n)
	if l := h.free[c]; len(l) > 0 {
		h.free[c] = l[:len(l)-1]
		h.used += uint64(c)
		return region{l[len(l)-1], c}, nil
	}
	if len(h.slabs) == 0 || h.slabs[len(h.slabs)-1].cap-h.next < c {
		size := max(c, slabSize)
		ptr, err := h.alloc(size)
		if err != nil {
			return region{}, err
		}
		h.slabs = append(h.slabs, region{ptr, size})
		h.next = 0
	}
	s := h.slabs[len(h.slabs)-1]
	r := region{s.ptr + h.next, c}
	h.next += c
	h.used += uint64(c)
	return r, nil
}

// put gives a region back.
func (h *heap) put(r region) {
	if r.cap == 0 {
		return
	}
	if h.free == nil {
		h.free = map[uint32][]uint32{}
	}
	h.free[r.cap] = append(h.free[r.cap], r.ptr)
	h.used -= uint64(r.cap)
}

// grow makes r hold n bytes; the content is lost if it moves.
func (h *heap) grow(r *region, n uint32) error {
	if n <= r.cap {
		return nil
	}
	nr, err := h.get(n)
	if err != nil {
		return err
	}
	h.put(*r)
	*r = nr
	return nil
}

// overlaps says whether [ptr, ptr+size) touches a live slab.
func (h *heap) overlaps(ptr, size uint32) bool {
	for _, s := range h.slabs {
		if uint64(ptr) < uint64(s.ptr)+uint64(s.cap) && uint64(s.ptr) < uint64(ptr)+uint64(size) {
			return true
		}
	}
	return false
}
