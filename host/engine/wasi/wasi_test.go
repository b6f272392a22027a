// SPDX-License-Identifier: Apache-2.0

package wasi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/host/engine"
	"github.com/berth-scheduler/berth/host/weave"
)

// instance stands for a guest with some memory.
type instance struct {
	engine.Instance
	mem     memory
	data    any
	globals map[string]engine.Global
}

func (i *instance) Memory() engine.Memory { return i.mem }
func (i *instance) Data() any             { return i.data }

func (i *instance) Global(name string) (engine.Global, bool) {
	g, ok := i.globals[name]
	return g, ok
}

type memory []byte

func (m memory) Size() uint32 { return uint32(len(m)) }

func (m memory) Read(ptr, n uint32) ([]byte, bool) {
	if uint64(ptr)+uint64(n) > uint64(len(m)) {
		return nil, false
	}
	return m[ptr : ptr+n : ptr+n], true
}

func (m memory) Write(ptr uint32, data []byte) bool {
	b, ok := m.Read(ptr, uint32(len(data)))
	copy(b, data)
	return ok
}

type cell uint64

func (c *cell) Get() uint64  { return uint64(*c) }
func (c *cell) Set(x uint64) { *c = cell(x) }

const memorySize = 64

// newInstance makes a guest whose memory is all '?', but for content at 32.
func newInstance(s *State, content string) *instance {
	m := memory(bytes.Repeat([]byte("?"), memorySize))
	copy(m[32:], content)
	return &instance{mem: m, data: s}
}

func named(t testing.TB, name string) engine.HostFunc {
	t.Helper()
	for _, f := range HostFuncs() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no function %q", name)
	return engine.HostFunc{}
}

func TestFunctions(t *testing.T) {
	const at = 32
	iovs := "\x38\x00\x00\x00\x02\x00\x00\x00" + "\x3a\x00\x00\x00\x03\x00\x00\x00"
	for _, tt := range []struct {
		name    string
		content string // of memory, from 32
		params  []uint64
		errno   errno
		err     error
		want    string // of memory, from 32, up to the guard bytes
	}{
		{name: "args_get", params: []uint64{at, at}},
		{name: "args_get", params: []uint64{1 << 31, 1<<32 - 1}},
		{name: "args_sizes_get", params: []uint64{at, at + 5}, want: "\x00\x00\x00\x00?\x00\x00\x00\x00"},
		{name: "args_sizes_get", params: []uint64{memorySize - 3, at}, errno: efault},
		{name: "args_sizes_get", params: []uint64{at, memorySize - 3}, errno: efault, want: "\x00\x00\x00\x00"},
		{name: "environ_get", params: []uint64{at, at}},
		{name: "environ_sizes_get", params: []uint64{at, at + 4}, want: "\x00\x00\x00\x00\x00\x00\x00\x00"},
		{name: "clock_res_get", params: []uint64{0, at}, want: "\x01\x00\x00\x00\x00\x00\x00\x00"},
		{name: "clock_res_get", params: []uint64{4, at}, errno: einval},
		{name: "clock_res_get", params: []uint64{0, memorySize - 7}, errno: efault},
		{name: "clock_time_get", params: []uint64{0, 1, at}, want: "\x08\x07\x06\x05\x04\x03\x02\x01"},
		{name: "clock_time_get", params: []uint64{1, 1 << 40, at}, want: "\x08\x07\x06\x05\x04\x03\x02\x01"},
		{name: "clock_time_get", params: []uint64{9, 1, at}, errno: einval},
		{name: "clock_time_get", params: []uint64{0, 1, memorySize}, errno: efault},
		{name: "fd_fdstat_get", params: []uint64{1, at},
			want: "\x02\x00\x00\x00\x00\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"},
		{name: "fd_fdstat_get", params: []uint64{0, at}, errno: ebadf},
		{name: "fd_fdstat_get", params: []uint64{2, memorySize - 23}, errno: efault},
		{name: "fd_write", content: iovs, params: []uint64{1, at, 0, at + 16}, want: iovs + "\x00\x00\x00\x00"},
		{name: "fd_write", content: iovs + "....\x00\x00\x00\x00hi yo", params: []uint64{1, at, 2, at + 16},
			want: iovs + "\x05\x00\x00\x00\x00\x00\x00\x00hi yo"},
		{name: "fd_write", content: iovs, params: []uint64{0, at, 2, at + 16}, errno: ebadf, want: iovs},
		{name: "fd_write", content: iovs, params: []uint64{3, at, 2, at + 16}, errno: ebadf, want: iovs},
		{name: "fd_write", content: iovs, params: []uint64{1, at, 1025, at + 16}, errno: einval, want: iovs},
		{name: "fd_write", content: iovs, params: []uint64{1, at, 2, memorySize - 3}, errno: efault, want: iovs},
		{name: "fd_write", content: iovs, params: []uint64{1, at, 5, at + 16}, errno: efault, want: iovs},
		{name: "fd_write", content: "\x38\x00\x00\x00\x09\x00\x00\x00", params: []uint64{1, at, 1, at + 16}, errno: efault,
			want: "\x38\x00\x00\x00\x09\x00\x00\x00"},
		{name: "fd_write", content: "\xff\xff\xff\xff\xff\xff\xff\xff", params: []uint64{1, at, 1, at + 16}, errno: efault,
			want: "\xff\xff\xff\xff\xff\xff\xff\xff"},
		{name: "poll_oneoff", params: []uint64{0, 0, 1, 0}, err: errSleep},
		{name: "poll_oneoff", params: []uint64{at, at, 2, at}, err: errSleep},
		{name: "poll_oneoff", params: []uint64{at, at, 1, at}, errno: efault},
		{name: "poll_oneoff", params: []uint64{at, at, 0, at}, errno: einval},
		{name: "proc_exit", params: []uint64{7}, err: &engine.ExitError{Code: 7}},
		{name: "proc_raise", params: []uint64{9}, errno: enosys},
		{name: "random_get", params: []uint64{at, 0}},
		{name: "random_get", params: []uint64{at, memorySize - at + 1}, errno: efault},
		{name: "random_get", params: []uint64{1<<32 - 1, 1<<32 - 1}, errno: efault},
		{name: "sched_yield", params: []uint64{0}},
		{name: "fd_read", params: []uint64{0, at, 1, at}, errno: ebadf},
		{name: "fd_prestat_get", params: []uint64{3, at}, errno: ebadf},
		{name: "path_open", params: []uint64{3, 0, at, 9, 0, 0, 0, 0, at}, errno: ebadf},
		{name: "sock_accept", params: []uint64{3, 0, at}, errno: ebadf},
	} {
		s := NewState(Options{Clock: 0x0102030405060708})
		inst := newInstance(s, tt.content)
		f := named(t, tt.name)
		stack := append([]uint64{}, tt.params...)
		err := f.Call(inst, stack)
		if tt.err != nil {
			if err == nil || err.Error() != tt.err.Error() {
				t.Errorf("%s(%v): want error %v, got %v", tt.name, tt.params, tt.err, err)
			}
		} else if err != nil || errno(stack[0]) != tt.errno {
			t.Errorf("%s(%v): want errno %d, got %d, %v", tt.name, tt.params, tt.errno, stack[0], err)
		}
		want := strings.Repeat("?", at) + tt.want
		want += strings.Repeat("?", memorySize-len(want))
		if diff := cmp.Diff(want, string(inst.mem)); diff != "" {
			t.Errorf("%s(%v): memory (-want +got):\n%s", tt.name, tt.params, diff)
		}
	}
}

// Every row is in the table once, with a doc.
func TestTable(t *testing.T) {
	seen := make(map[string]bool)
	for _, f := range Imports {
		if seen[f.Name] || f.Doc == "" {
			t.Errorf("%s: twice in the table or without a doc", f.Name)
		}
		seen[f.Name] = true
	}
	if len(seen) != 46 {
		t.Errorf("want the 46 functions of preview 1, got %d", len(seen))
	}
}

func TestRandom(t *testing.T) {
	draw := func(seed uint64) string {
		inst := newInstance(NewState(Options{Seed: seed}), "")
		for _, p := range [][]uint64{{32, 5}, {37, 11}} {
			if err := named(t, "random_get").Call(inst, p); err != nil {
				t.Fatal(err)
			}
		}
		if got := string(inst.mem[:32]) + string(inst.mem[48:]); got != strings.Repeat("?", 48) {
			t.Errorf("bytes outside were touched: %q", got)
		}
		return string(inst.mem[32:48])
	}
	if a, b := draw(1), draw(1); a != b || strings.Contains(a, "????") {
		t.Errorf("one seed gave %q and %q", a, b)
	}
	if draw(1) == draw(2) {
		t.Error("two seeds gave the same bytes")
	}
}

func TestClock(t *testing.T) {
	s := NewState(Options{})
	inst := newInstance(s, "")
	now := func() byte {
		if err := named(t, "clock_time_get").Call(inst, []uint64{1, 0, 0}); err != nil {
			t.Fatal(err)
		}
		return inst.mem[0]
	}
	for _, tt := range []struct {
		set  int64
		want byte
	}{{0, 1}, {-5, 1}, {9, 9}} {
		s.SetClock(tt.set)
		if got := now(); got != tt.want {
			t.Errorf("clock %d: want %d, got %d", tt.set, tt.want, got)
		}
	}
}

func TestNap(t *testing.T) {
	sleep := func(timeout uint64, tag, flags byte) string {
		sub := make([]byte, 48)
		copy(sub, "userdata")
		sub[8], sub[40] = tag, flags
		binary.LittleEndian.PutUint64(sub[24:], timeout)
		return string(sub)
	}
	poll := named(t, "poll_oneoff")
	run := func(s *State, sub string, out, events uint64) (errno, error, string) {
		inst := newInstance(s, "")
		inst.mem = memory(sub + strings.Repeat("?", 48))
		stack := []uint64{0, out, 1, events}
		err := poll.Call(inst, stack)
		if got := string(inst.mem[:48]); got != sub {
			t.Errorf("the subscription was touched: %q", got)
		}
		return errno(stack[0]), err, string(inst.mem[48:])
	}
	untouched := strings.Repeat("?", 48)
	event := "userdata" + strings.Repeat("\x00", 24)
	s := NewState(Options{})
	for _, tt := range []struct {
		name        string
		sub         string
		out, events uint64
		errno       errno
		err         error
		want        string
	}{
		{"a nap", sleep(1e6, 0, 0), 50, 84, 0, nil, "??" + event + "??\x01\x00\x00\x00" + "????????"},
		{"longer", sleep(uint64(maxNap)+1, 0, 0), 50, 84, 0, errSleep, untouched},
		{"until a time", sleep(1, 0, 1), 50, 84, 0, errSleep, untouched},
		{"a file", sleep(1, 1, 0), 50, 84, 0, errSleep, untouched},
		{"no place for the event", sleep(1, 0, 0), 65, 48, efault, nil, untouched},
		{"no place for the count", sleep(1, 0, 0), 50, 93, efault, nil, untouched},
	} {
		e, err, mem := run(s, tt.sub, tt.out, tt.events)
		if !errors.Is(err, tt.err) || err == nil && e != tt.errno || mem != tt.want {
			t.Errorf("%s: got errno %d, %v, memory %q", tt.name, e, err, mem)
		}
	}
	for range 2 {
		s.SetClock(1)
		for i := range maxNaps {
			if _, err, _ := run(s, sleep(1, 0, 0), 50, 84); err != nil {
				t.Fatalf("nap %d: %v", i, err)
			}
		}
		if _, err, _ := run(s, sleep(1, 0, 0), 50, 84); !errors.Is(err, errSleep) {
			t.Errorf("one nap more: got %v", err)
		}
	}
}

func TestNoState(t *testing.T) {
	for _, data := range []any{nil, 3, (*State)(nil)} {
		inst := newInstance(nil, "")
		inst.data = data
		if err := named(t, "sched_yield").Call(inst, []uint64{0}); !errors.Is(err, errNoState) {
			t.Errorf("%v: got %v", data, err)
		}
	}
}

func TestCharge(t *testing.T) {
	for _, tt := range []struct {
		budget, left int64
		name         string
		params       []uint64
		err          error
	}{
		{1000, 900, "sched_yield", []uint64{0}, nil},
		{1000, 884, "random_get", []uint64{0, 16}, nil},
		{1000, 900, "random_get", []uint64{1 << 30, 16}, nil},
		{1000, 900 - 16 - 4, "fd_write", []uint64{1, 32, 2, 60}, nil},
		{99, -1, "sched_yield", []uint64{0}, errFuel},
		{110, -1, "random_get", []uint64{0, 16}, errFuel},
	} {
		s := NewState(Options{})
		inst := newInstance(s, "\x00\x00\x00\x00\x02\x00\x00\x00"+"\x00\x00\x00\x00\x02\x00\x00\x00")
		var fuel, budget cell
		inst.globals = map[string]engine.Global{weave.FuelExport: &fuel, weave.BudgetExport: &budget}
		meter := weave.Meter{Fuel: &fuel, Budget: &budget}
		meter.Grant(tt.budget)
		if err := named(t, tt.name).Call(inst, tt.params); !errors.Is(err, tt.err) {
			t.Errorf("%s: want %v, got %v", tt.name, tt.err, err)
		}
		if meter.Left() != tt.left || meter.OutOfFuel() != (tt.err != nil) {
			t.Errorf("%s: want %d left, got %d", tt.name, tt.left, meter.Left())
		}
	}
}

// numbers are pointers and lengths at and around every edge.
var numbers = []uint64{0, 1, 2, 3, 7, 8, 31, 32, 33, 56, 60, 61, 63, 64, 65, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 8, 1<<32 - 4, 1<<32 - 1, 1<<64 - 1}

// Any function may be called with anything: it answers, and memory keeps its size.
func TestAnyPointer(t *testing.T) {
	for _, f := range HostFuncs() {
		n := max(len(f.Params), 1)
		for i := range 20000 {
			stack := make([]uint64, n)
			for p, x := 0, i*2654435761; p < len(stack); p++ {
				stack[p] = numbers[x%len(numbers)]
				x /= len(numbers)
			}
			callAny(t, f, stack, "\x20\x00\x00\x00\x08\x00\x00\x00")
		}
	}
}

func callAny(t *testing.T, f engine.HostFunc, stack []uint64, content string) {
	t.Helper()
	params := append([]uint64{}, stack...)
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("%s(%v): panic: %v", f.Name, params, r)
		}
	}()
	s := NewState(Options{})
	err := f.Call(newInstance(s, content), stack)
	var exit *engine.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, errSleep) {
		t.Fatalf("%s(%v): %v", f.Name, params, err)
	}
	if err == nil && stack[0] > 76 {
		t.Fatalf("%s(%v): want an errno, got %d", f.Name, params, stack[0])
	}
}

func FuzzFunctions(f *testing.F) {
	all := HostFuncs()
	f.Add(byte(0), uint64(32), uint64(32), uint64(1), uint64(60), "\x20\x00\x00\x00\x08\x00\x00\x00")
	for i := range all {
		f.Add(byte(i), uint64(1), uint64(32), uint64(3), uint64(63), "\x3f\x00\x00\x00\x01\x00\x00\x00")
	}
	f.Fuzz(func(t *testing.T, i byte, a, b, c, d uint64, content string) {
		callAny(t, all[int(i)%len(all)], []uint64{a, b, c, d, a, b, c, d, a}, content[:min(len(content), 32)])
	})
}
