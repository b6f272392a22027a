// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/intern"
)

// Every host function takes any pointer and length.
func TestImportsAnyPointer(t *testing.T) {
	edges := []uint64{0, 1, 7, 8, 64, 4095, 4096, 4097, 1<<31 - 1, 1 << 31, 1<<32 - 8, 1<<32 - 1, 1<<64 - 1}
	for _, f := range HostFuncs() {
		t.Run(f.Name, func(t *testing.T) {
			g := &fakeGuest{}
			in := fake(t, g, Options{Strings: intern.New(1000, 16), LogBytes: 100})
			for _, a := range edges {
				for _, b := range edges {
					for _, c := range edges {
						in.meter.Grant(1 << 20)
						stack := []uint64{a, b, c}
						ptr, n := uint32(b), uint32(c)
						if len(f.Params) == 2 {
							ptr, n = uint32(a), uint32(b)
						}
						err := f.Call(g, stack[:max(len(f.Params), len(f.Results))])
						inside := uint64(ptr)+uint64(min(n, abi.MaxLogBytes)) <= uint64(g.Size())
						if err == nil && !inside {
							t.Fatalf("%v: want an error", stack)
						}
						if err != nil && strings.Contains(err.Error(), "\n") {
							t.Fatalf("%v: want one line, got %q", stack, err)
						}
					}
				}
			}
		})
	}
}

// Host calls cost fuel by their bytes, and end the call when there is none.
func TestImportsCharge(t *testing.T) {
	g := &fakeGuest{}
	in := fake(t, g, Options{})
	for _, f := range HostFuncs() {
		stack := []uint64{64, 64, 64}
		in.meter.Grant(importCost + 8)
		if err := f.Call(g, stack); err != nil || in.meter.Left() != 0 {
			t.Errorf("%s: want all fuel used and no error, got %d left, %v", f.Name, in.meter.Left(), err)
		}
		stack = []uint64{64, 64, 64}
		in.meter.Grant(importCost + 7)
		if err := f.Call(g, stack); err == nil || !in.meter.OutOfFuel() {
			t.Errorf("%s: want it out of fuel, got %v", f.Name, err)
		}
	}
}

// The start function runs before there is anything to serve it.
func TestImportsBeforeStart(t *testing.T) {
	for _, f := range HostFuncs() {
		if err := f.Call(&fakeGuest{data: &Instance{}}, make([]uint64, 3)); err == nil || !strings.Contains(err.Error(), "start function") {
			t.Errorf("%s: want an error that says why, got %v", f.Name, err)
		}
	}
}

func TestLog(t *testing.T) {
	var lines []string
	g := &fakeGuest{}
	in := fake(t, g, Options{LogBytes: 20, Log: func(level uint32, line string) { lines = append(lines, fmt.Sprint(level, " ", line)) }})
	say := func(level uint32, text string) {
		t.Helper()
		in.meter.Grant(1 << 20)
		copy(g.memory[64:], text)
		if err := hostLog(in, []uint64{uint64(level), 64, uint64(len(text))}); err != nil {
			t.Fatal(err)
		}
	}
	say(0, "a\nb\x00\u009bc")
	say(77, "d\xff")
	say(2, "0123456789")
	say(2, "more")
	say(2, "and more")
	want := []string{"0 a b  c", "3 d\ufffd", "2 0123456789", "2 [output dropped: want at most 20 bytes a call]"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	lines, in.logged, in.opts.LogBytes = nil, 0, 1<<20
	g.memory = append(g.memory, make([]byte, 1<<16)...)
	say(2, strings.Repeat("x", abi.MaxLogBytes+1))
	if want := "2 " + strings.Repeat("x", abi.MaxLogBytes) + " [cut]"; len(lines) != 1 || lines[0] != want {
		t.Errorf("want a line that is cut, got %d bytes", len(strings.Join(lines, "")))
	}
}

func TestIntern(t *testing.T) {
	table := intern.New(1000, 3)
	g := &fakeGuest{}
	in := fake(t, g, Options{Strings: table})
	id := func(text string) (uint64, error) {
		in.meter.Grant(1 << 20)
		copy(g.memory[64:], text)
		stack := []uint64{64, uint64(len(text))}
		err := hostIntern(in, stack)
		return stack[0], err
	}
	for _, c := range []struct {
		text string
		want uint64
	}{{"", 0}, {"zone", 1}, {"pool", 2}, {"zone", 1}} {
		if got, err := id(c.text); err != nil || got != c.want {
			t.Errorf("%q: want id %d, got %d, %v", c.text, c.want, got, err)
		}
	}
	if _, err := id("one more"); err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("want a full table, got %v", err)
	}
}
