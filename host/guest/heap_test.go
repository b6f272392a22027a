// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/intern"
)

func TestSizeClass(t *testing.T) {
	for n, want := range map[uint32]uint32{
		0: 64, 1: 64, 64: 64, 65: 96, 96: 96, 97: 128, 128: 128, 129: 192, 192: 192, 193: 256,
		slabSize: slabSize, slabSize + 1: slabSize / 2 * 3, 1 << 30: 1 << 30,
	} {
		if got := sizeClass(n); got != want {
			t.Errorf("%d: want %d, got %d", n, want, got)
		}
	}
}

func TestHeapOverlaps(t *testing.T) {
	h := heap{slabs: []region{{1024, 512}, {4096, 64}, {1<<32 - 64, 64}}}
	for _, c := range []struct {
		ptr, size uint32
		want      bool
	}{
		{0, 1024, false}, {0, 1025, true}, {1024, 1, true}, {1535, 1, true}, {1536, 1, false}, {1100, 8, true},
		{512, 4096, true}, {1536, 2560, false}, {1536, 2561, true}, {4160, 1 << 20, false},
		{1<<32 - 128, 64, false}, {1<<32 - 128, 65, true}, {1<<32 - 1, 1, true}, {1<<32 - 65, 1<<32 - 1, true},
		{1024, 0, false},
	} {
		if got := h.overlaps(c.ptr, c.size); got != c.want {
			t.Errorf("[%d,+%d): want %t, got %t", c.ptr, c.size, c.want, got)
		}
	}
}

// Whatever is asked for and given back, live regions are aligned, inside what
// alloc gave, and apart.
func TestHeapApart(t *testing.T) {
	var top uint32 = 8
	h := heap{alloc: func(size uint32) (uint32, error) {
		top += size + 8
		return top - size, nil
	}}
	type piece struct {
		region
		end uint64
	}
	live := map[uint32]piece{}
	check := func(r region) {
		t.Helper()
		if r.ptr%8 != 0 {
			t.Fatalf("want an 8-aligned address, got %d", r.ptr)
		}
		end := uint64(r.ptr) + uint64(r.cap)
		if end > uint64(top) {
			t.Fatalf("[%d,%d) is not inside what alloc gave, %d", r.ptr, end, top)
		}
		for _, o := range live {
			if uint64(r.ptr) < o.end && uint64(o.ptr) < end {
				t.Fatalf("[%d,%d) overlaps [%d,%d)", r.ptr, end, o.ptr, o.end)
			}
		}
		live[r.ptr] = piece{r, end}
	}
	seed := uint32(1)
	for range 4000 {
		seed = seed*1664525 + 1013904223
		n := seed >> 16 % 5000
		if seed>>8%64 == 0 {
			n = slabSize + n
		}
		r, err := h.get(n)
		if err != nil {
			t.Fatal(err)
		}
		if r.cap < n {
			t.Fatalf("want at least %d bytes, got %d", n, r.cap)
		}
		check(r)
		if seed>>4%3 == 0 {
			for ptr, p := range live {
				delete(live, ptr)
				h.put(p.region)
				break
			}
		}
	}
}

func TestHeapRefuses(t *testing.T) {
	broken := errors.New("broken")
	h := heap{alloc: func(uint32) (uint32, error) { return 0, broken }}
	if _, err := h.get(1<<30 + 1); err == nil || errors.Is(err, broken) {
		t.Errorf("want a size that is refused before alloc, got %v", err)
	}
	r := region{8, 64}
	if err := h.grow(&r, 64); err != nil || r != (region{8, 64}) {
		t.Errorf("want the region as it is, got %v, %v", r, err)
	}
	if err := h.grow(&r, 65); !errors.Is(err, broken) || r != (region{8, 64}) {
		t.Errorf("want alloc's error and the region as it is, got %v, %v", r, err)
	}
}

// What a guest's alloc answers is checked; what breaks the rules ends the
// instance.
func TestAllocChecked(t *testing.T) {
	for name, c := range map[string]struct {
		alloc func(g *fakeGuest, size uint32) uint32
		want  string
	}{
		"null":           {func(*fakeGuest, uint32) uint32 { return 0 }, "8-aligned"},
		"misaligned":     {func(*fakeGuest, uint32) uint32 { return 4100 }, "8-aligned"},
		"outside":        {func(g *fakeGuest, _ uint32) uint32 { return g.Size() }, "inside"},
		"partly outside": {func(g *fakeGuest, size uint32) uint32 { return g.Size() - size + 8 }, "inside"},
		"wraps":          {func(*fakeGuest, uint32) uint32 { return 1<<32 - 8 }, "inside"},
		"given before":   {func(g *fakeGuest, _ uint32) uint32 { return 4096 }, "overlaps"},
		"inside another": {func(g *fakeGuest, _ uint32) uint32 { return 4096 + slabSize - 8 }, "overlaps"},
		"around another": {func(g *fakeGuest, _ uint32) uint32 { return 8 }, "overlaps"},
	} {
		t.Run(name, func(t *testing.T) {
			g := &fakeGuest{}
			in := fake(t, g, Options{})
			g.memory = append(g.memory, make([]byte, 4*slabSize)...)
			g.alloc = c.alloc
			err := in.SetPod(make([]byte, slabSize+1)) // needs a slab of its own
			f, ok := AsFault(err)
			if !ok || f.Cause != Memory || !strings.Contains(f.Error(), c.want) {
				t.Errorf("want a fault of memory with %q, got %v", c.want, err)
			}
			g.alloc = nil
			var out Result
			if err := in.Call(&Call{Point: abi.Filter}, &out); err == nil || !in.Dead() {
				t.Errorf("want the instance dead, got %v", err)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	opts := Options{Strings: intern.New(1000, 100), Budgets: Budgets{Life: 1000}}
	for name, c := range map[string]struct {
		guest *fakeGuest
		want  string
	}{
		"another major": {&fakeGuest{version: abi.PackVersion(abi.Major+1, 0)}, "abi version"},
		"alloc":         {&fakeGuest{version: abi.PackVersion(abi.Major, abi.Minor), alloc: func(*fakeGuest, uint32) uint32 { return 0 }}, "8-aligned"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(context.Background(), c.guest, opts); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want an error with %q, got %v", c.want, err)
			}
			if diff := cmp.Diff(1, c.guest.closed); diff != "" {
				t.Errorf("instances closed: %s", diff)
			}
		})
	}
}
