// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/berth-scheduler/berth/abi"
)

// Cause says what kind of fault ended a call. Causes are label values of
// metrics and rows of the failure table.
type Cause string

// Causes of faults.
const (
	Trap      Cause = "trap"       // the guest trapped or exited
	Fuel      Cause = "fuel"       // the call's budget is used up
	Memory    Cause = "memory"     // the guest could not give the memory that a call needs
	BadResult Cause = "bad_result" // the guest answered something that the ABI does not allow
	LostState Cause = "lost_state" // the cycle state died with its instance
)

// Fault is a call that did not end as the ABI wants. The message is one line;
// what the guest printed last is in Output.
type Fault struct {
	Cause  Cause
	Point  abi.Point
	Err    error
	Output string // the tail of what the guest wrote to stdout and stderr
	Panic  string // the line in which a Go guest said why it ends, or ""
}

// Error is one line, with what a panic said.
func (f *Fault) Error() string {
	msg := fmt.Sprintf("%s: %s: %v", f.Point, f.Cause, f.Err)
	if f.Panic != "" {
		msg += " (" + f.Panic + ")"
	}
	return msg
}

// panics says whether a line is the one in which a Go guest says why it ends.
// What follows is its stack, which may push the line out of the tail.
func panics(line string) bool {
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
}

func (f *Fault) Unwrap() error { return f.Err }

// AsFault finds the fault in err.
func AsFault(err error) (*Fault, bool) {
	var f *Fault
	ok := errors.As(err, &f)
	return f, ok
}
