// SPDX-License-Identifier: Apache-2.0

package wasi

import (
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/berth-scheduler/berth/host/engine"
	"github.com/berth-scheduler/berth/host/weave"
)

// Stream is where a guest prints to.
type Stream uint32

// The streams, by their file descriptors.
const (
	Stdout Stream = 1
	Stderr Stream = 2
)

func (s Stream) String() string {
	if s == Stdout {
		return "stdout"
	}
	return "stderr"
}

// Limits of what a guest prints. The rest is dropped, and said to be.
const (
	MaxLineBytes = 1024 // of one line
	MaxCallBytes = 8192 // of all lines of one call
	TailBytes    = 4096 // what Tail keeps
)

// Options configures NewState.
type Options struct {
	// Line takes each line that the guest prints, without control characters
	// and in valid UTF-8. It is called during the guest's call, and may be nil.
	Line func(s Stream, line string)
	// Seed makes random_get's bytes; equal seeds make equal bytes.
	Seed uint64
	// Clock is the time until SetClock, in Unix nanoseconds.
	Clock int64
}

// State is the WASI side of one instance, used by the goroutine that uses the
// instance.
type State struct {
	line   func(Stream, string)
	random *rand.ChaCha8
	clock  int64

	partial [2][]byte // lines not yet ended
	printed int       // bytes of the current call
	cut     bool      // the note was printed
	tail    []byte
	naps    int // of the current call

	call    call // the one that is running
	meter   weave.Meter
	metered metering
}

type metering int

const (
	unknown metering = iota
	woven
	bare
)

// NewState returns the state of a new instance.
func NewState(opts Options) *State {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], opts.Seed)
	s := &State{line: opts.Line, random: rand.NewChaCha8(seed)}
	s.setClock(opts.Clock)
	return s
}

// WASI makes State a Holder of itself.
func (s *State) WASI() *State { return s }

// SetClock begins a new call: both clocks of the guest stand at ns, in Unix
// nanoseconds, lines not yet ended are, and the limit of what it prints starts
// anew. Go's runtime refuses to start at 0, so a time below 1 counts as 1.
func (s *State) SetClock(ns int64) {
	s.flush()
	s.setClock(ns)
	s.printed, s.cut, s.tail, s.naps = 0, false, s.tail[:0], 0
}

func (s *State) setClock(ns int64) { s.clock = max(ns, 1) }

// clockResolution is that of the pinned clock.
const clockResolution = time.Nanosecond

// callUnits is the fuel of a host call, without what it does for each byte.
const callUnits = 100

// charge takes fuel if the instance's module is woven.
func (s *State) charge(inst engine.Instance, units int64) bool {
	if s.metered == unknown {
		s.metered = bare
		fuel, ok1 := inst.Global(weave.FuelExport)
		budget, ok2 := inst.Global(weave.BudgetExport)
		if ok1 && ok2 {
			s.metered = woven
			s.meter = weave.Meter{Fuel: fuel, Budget: budget}
		}
	}
	return s.spend(units)
}

func (s *State) spend(units int64) bool { return s.metered != woven || s.meter.Charge(units) }
