// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"
)

// Reason says why a guest's call ended early.
type Reason string

// Reasons of a Trap. Engines agree on all of them.
const (
	// ReasonUnreachable is the guest's own doing, such as a Go panic, or its
	// fuel or stack is used up: the cells of package weave tell.
	ReasonUnreachable Reason = "unreachable"
	ReasonMemory      Reason = "out of bounds memory access"
	ReasonTable       Reason = "out of bounds table access"  // or the entry of an indirect call is null
	ReasonCallType    Reason = "indirect call type mismatch" // the entry is of another type
	ReasonInteger     Reason = "integer overflow or division by zero"
	ReasonStack       Reason = "stack overflow" // the engine's own limit
	ReasonExit        Reason = "exit"           // Err is an *ExitError
	ReasonHost        Reason = "host function"  // a host function returned Err
	ReasonPanic       Reason = "panic in a host function"
)

// Trap is the error of a call that did not return. The instance is in an
// unknown state and must be closed.
type Trap struct {
	Reason Reason
	Err    error  // of a host function, else nil
	Stack  string // the guest's functions, innermost first, for logs; may be long
}

// Error is one line.
func (t *Trap) Error() string {
	if t.Err == nil {
		return "trap: " + string(t.Reason)
	}
	return fmt.Sprintf("trap: %s: %v", t.Reason, oneLine(t.Err.Error()))
}

// Unwrap returns the error of a host function.
func (t *Trap) Unwrap() error { return t.Err }

// ExitError ends a call as the guest's own exit does.
type ExitError struct{ Code uint32 }

func (e *ExitError) Error() string { return fmt.Sprintf("exit code %d", e.Code) }

func oneLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
