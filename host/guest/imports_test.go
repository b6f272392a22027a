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

// Every host function takes any pointer and length. Each test is a stack with
// places for the first range of memory and, where there is one, the second.
func TestImportsAnyPointer(t *testing.T) {
	edges := []uint64{0, 1, 7, 8, 64, 4095, 4096, 4097, 1<<31 - 1, 1 << 31, 1<<32 - 8, 1<<32 - 1, 1<<64 - 1}
	stacks := map[string]func(ptr, n uint64) []uint64{
		"log":           func(ptr, n uint64) []uint64 { return []uint64{0, ptr, n} },
		"intern":        func(ptr, n uint64) []uint64 { return []uint64{ptr, n} },
		"read":          func(ptr, n uint64) []uint64 { return []uint64{0, ptr, n, 64, 8} },
		"read's buffer": func(ptr, n uint64) []uint64 { return []uint64{0, 64, 1, ptr, n} },
	}
	record := make([]byte, abi.ValueHeadSize)
	for _, f := range HostFuncs() {
		if stacks[f.Name] == nil {
			t.Errorf("%s: want a test, got none", f.Name)
		}
	}
	for name, make := range stacks {
		t.Run(name, func(t *testing.T) {
			g := &fakeGuest{}
			in := fake(t, g, Options{Strings: intern.New(1000, 16), LogBytes: 100, Read: func(abi.Read, string) ([]byte, int64, int64) { return record, 0, 0 }})
			in.calling = true
			for _, ptr := range edges {
				for _, n := range edges {
					in.meter.Grant(1 << 20)
					stack := make(ptr, n)
					importName, _, buffer := strings.Cut(name, "'")
					err := imports[importName](in, stack)
					size := uint64(min(uint32(n), abi.MaxLogBytes))
					if buffer {
						if size = uint64(len(record)); uint32(n) < uint32(size) { // not written
							size, ptr = 0, 0
						}
					}
					if inside := uint64(uint32(ptr))+size <= uint64(g.Size()); err == nil && !inside {
						t.Fatalf("%v: want an error", stack)
					}
					if err != nil && strings.Contains(err.Error(), "\n") {
						t.Fatalf("%v: want one line, got %q", stack, err)
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
		stack := []uint64{64, 64, 64, 0, 0}
		in.meter.Grant(importCost + 8)
		if err := f.Call(g, stack); err != nil || in.meter.Left() != 0 {
			t.Errorf("%s: want all fuel used and no error, got %d left, %v", f.Name, in.meter.Left(), err)
		}
		stack = []uint64{64, 64, 64, 0, 0}
		in.meter.Grant(importCost + 7)
		if err := f.Call(g, stack); err == nil || !in.meter.OutOfFuel() {
			t.Errorf("%s: want it out of fuel, got %v", f.Name, err)
		}
	}
}

// The start function runs before there is anything to serve it.
func TestImportsBeforeStart(t *testing.T) {
	for _, f := range HostFuncs() {
		if err := f.Call(&fakeGuest{data: &Instance{}}, make([]uint64, 5)); err == nil || !strings.Contains(err.Error(), "start function") {
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

// A record that doesn't fit is read by the host once and written when there is
// room; refusals and outsiders are answered with numbers.
func TestRead(t *testing.T) {
	record, err := abi.EncodeValue(map[string]any{"a": 1})
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	g := &fakeGuest{}
	in := fake(t, g, Options{Read: func(what abi.Read, key string) ([]byte, int64, int64) {
		asked = append(asked, fmt.Sprint(what, " ", key))
		if what == abi.ReadState {
			return nil, abi.ReadNotReady, 0
		}
		return record, 0, 0
	}})
	read := func(what abi.Read, key string, room int) int64 {
		t.Helper()
		in.meter.Grant(1 << 20)
		copy(g.memory[64:], key)
		stack := []uint64{uint64(what), 64, uint64(len(key)), 128, uint64(room)}
		if err := hostRead(in, stack); err != nil {
			t.Fatal(err)
		}
		return int64(stack[0])
	}
	if got := read(abi.ReadPod, "", 1<<10); got != abi.ReadRefused {
		t.Errorf("outside a call: want it refused, got %d", got)
	}
	in.calling = true
	for _, room := range []int{0, len(record) - 1, len(record)} {
		if got := read(abi.ReadObject, "a\x00b", room); got != int64(len(record)) {
			t.Errorf("room %d: want %d, got %d", room, len(record), got)
		}
		if written := string(g.memory[128:128+len(record)]) == string(record); written != (room == len(record)) {
			t.Errorf("room %d: written %t", room, written)
		}
	}
	if got := read(abi.ReadState, "k", 8); got != abi.ReadNotReady {
		t.Errorf("state: want %d, got %d", abi.ReadNotReady, got)
	}
	if diff := cmp.Diff([]string{fmt.Sprint(abi.ReadObject, " a\x00b"), fmt.Sprint(abi.ReadState, " k")}, asked); diff != "" {
		t.Errorf("asked: want (-), got (+):\n%s", diff)
	}
}
