// SPDX-License-Identifier: Apache-2.0

package wasi

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/engine"
	"github.com/berth-scheduler/berth/host/weave"
)

// goGuest does what a policy shouldn't, with all of the standard library that
// reaches the system.
const goGuest = `package main

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"time"
)

//go:wasmexport hello
func hello() { fmt.Println("hello", "world"); fmt.Fprint(os.Stderr, "no newline") }

//go:wasmexport now
func now() int64 { return time.Now().UnixNano() }

//go:wasmexport random
func random() uint64 {
	var b [4]byte
	rand.Read(b[:])
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24
}

//go:wasmexport outside
func outside() int32 {
	n := int32(len(os.Args)*100 + len(os.Environ())*10)
	if f, err := os.Open("/etc/passwd"); err == nil {
		f.Close()
		n++
	}
	if _, err := os.ReadDir("."); err == nil {
		n++
	}
	if err := os.WriteFile("/tmp/x", nil, 0o600); err == nil {
		n++
	}
	if c, err := net.FileListener(os.NewFile(3, "")); err == nil {
		c.Close()
		n++
	}
	return n
}

//go:wasmexport sleep
func sleep() { time.Sleep(time.Hour) }

//go:wasmexport exit
func exit() { os.Exit(5) }

//go:wasmexport boom
func boom() { panic("at the disco") }

func main() {}
`

func buildGuest(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": goGuest, "go.mod": "module guest\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-buildmode=c-shared", "-o", "guest.wasm", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	wasm, err := os.ReadFile(filepath.Join(dir, "guest.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

func TestGoGuest(t *testing.T) {
	wasm := buildGuest(t)
	iface, err := weave.ParseInterface(wasm)
	if err != nil {
		t.Fatal(err)
	}
	for _, im := range iface.Imports {
		want := ""
		for _, f := range Imports {
			if f.Name == im.Name {
				want = f.Signature()
			}
		}
		if got := weave.Signature(im.Params, im.Results); im.Module != abi.WASIModule || got != want {
			t.Errorf("import %q %q: want %s, got %s", im.Module, im.Name, want, got)
		}
	}

	woven, err := weave.Weave(wasm, weave.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.NewWazero(t.Context(), engine.WazeroOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	m, err := e.Compile(t.Context(), woven.Wasm, engine.CompileOptions{Host: HostFuncs()})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()

	g := start(t, m)
	if _, err := g.call("hello", 1000); err != nil {
		t.Fatal(err)
	}
	g.state.SetClock(2000)
	if diff := cmp.Diff([]string{"stdout: hello world", "stderr: no newline"}, g.lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if now, err := g.call("now", 1700000000123456789); err != nil || now != 1700000000123456789 {
		t.Errorf("now: got %d, %v", now, err)
	}
	if n, err := g.call("outside", 3000); err != nil || n != 0 {
		t.Errorf("outside: want nothing to be there, got %d, %v", n, err)
	}
	a, err := g.call("random", 4000)
	if err != nil {
		t.Fatal(err)
	}
	spent := g.meter.Spent()

	// The same calls give the same answers and take the same fuel.
	g = start(t, m)
	for _, name := range []string{"hello", "now", "outside"} {
		if _, err := g.call(name, 1000); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := g.call("random", 4000); err != nil || a != b || g.meter.Spent() != spent {
		t.Errorf("random: want %d for %d units, got %d for %d, %v", a, spent, b, g.meter.Spent(), err)
	}

	for _, tt := range []struct {
		name   string
		reason engine.Reason
		want   string // of the error
		tail   string
	}{
		{"sleep", engine.ReasonHost, "sleeping is not available to a policy", ""},
		{"exit", engine.ReasonExit, "exit code 5", ""},
		{"boom", engine.ReasonUnreachable, "trap: unreachable", "panic: at the disco"},
	} {
		g := start(t, m)
		_, err := g.call(tt.name, 5000)
		var trap *engine.Trap
		if !errors.As(err, &trap) || trap.Reason != tt.reason || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: want %q, got %v", tt.name, tt.want, err)
		}
		if !strings.Contains(g.state.Tail(), tt.tail) {
			t.Errorf("%s: want a tail with %q, got %q", tt.name, tt.tail, g.state.Tail())
		}
	}
}

// running is a started guest.
type running struct {
	inst  engine.Instance
	state *State
	meter weave.Meter
	lines []string
}

func start(t *testing.T, m engine.Module) *running {
	t.Helper()
	g := &running{}
	g.state = NewState(Options{Seed: 1, Line: func(s Stream, line string) { g.lines = append(g.lines, s.String()+": "+line) }})
	inst, err := m.Instantiate(t.Context(), engine.InstanceOptions{Data: g.state})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inst.Close() })
	g.inst = inst
	g.meter.Fuel, _ = inst.Global(weave.FuelExport)
	g.meter.Budget, _ = inst.Global(weave.BudgetExport)
	if _, err := g.call("_initialize", 1); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *running) call(name string, now int64) (uint64, error) {
	f, ok := g.inst.Func(name)
	if !ok {
		return 0, errors.New("no export " + name)
	}
	g.state.SetClock(now)
	g.meter.Grant(100_000_000)
	stack := []uint64{0}
	err := f.Call(stack)
	return stack[0], err
}
