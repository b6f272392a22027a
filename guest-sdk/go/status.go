// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"unicode/utf8"
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
)

// Code is a status code of the scheduling framework.
type Code = abi.Code

// Status is what a point answers. A nil *Status is Success.
//
// The reason is constant text, without names of pods or nodes or numbers: the
// scheduler counts equal reasons over all nodes and shows "12 node(s) belong to
// another team", which it can't if each node has its own. A constant one also
// costs nothing: a status of a code and reason is made once and kept.
type Status struct {
	code   Code
	reason string
	ref    stringRef
	ptr    uint32 // of ref in guest memory, once published
}

// Code is the status's code; that of nil is Success.
func (s *Status) Code() Code {
	if s == nil {
		return abi.Success
	}
	return s.code
}

// Reason is the status's reason; that of nil is empty.
func (s *Status) Reason() string {
	if s == nil {
		return ""
	}
	return s.reason
}

// IsSuccess says whether the status is Success.
func (s *Status) IsSuccess() bool { return s.Code() == abi.Success }

// Unschedulable rejects the pod, or a node for it, as long as something
// doesn't change that preemption may bring about.
func Unschedulable(reason string) *Status { return newStatus(abi.Unschedulable, reason) }

// UnschedulableAndUnresolvable rejects the pod, or a node for it, where
// preempting other pods can't help: labels, ownership, the node's hardware.
func UnschedulableAndUnresolvable(reason string) *Status {
	return newStatus(abi.UnschedulableAndUnresolvable, reason)
}

// Error says that the policy couldn't decide. The pod is tried again soon.
func Error(reason string) *Status { return newStatus(abi.Error, reason) }

// AsStatus is Error with the error's text; nil for nil.
func AsStatus(err error) *Status {
	if err == nil {
		return nil
	}
	return Error(err.Error())
}

// Pending rejects the pod, in Reserve and Permit, until the policy activates it:
// it skips the queue's back-off then.
func Pending(reason string) *Status { return newStatus(abi.Pending, reason) }

var skip = &Status{code: abi.Skip}

// Skip says that a policy has nothing to say: from PreFilter that AddPod,
// RemovePod and Filter needn't be called for this pod, from PreScore that Score
// needn't, from PreFilterNode that the node is left out, from PreBindPreFlight that
// PreBind needn't, from Bind that another binder shall.
func Skip() *Status { return skip }

// maxStatuses bounds how many statuses are kept: a policy that puts names into
// reasons makes garbage, but doesn't fill its memory.
const maxStatuses = 64

// statuses are the kept ones; unkept those that the call in progress made beyond
// them. Both need lock.
var statuses, unkept []*Status

func newStatus(code Code, reason string) *Status {
	reason = cut(reason, abi.MaxReasonBytes)
	lock()
	defer unlock()
	for _, s := range statuses {
		if s.code == code && s.reason == reason {
			return s
		}
	}
	// The reason may be in a record that the host overwrites after the call.
	s := &Status{code: code, reason: string([]byte(reason))}
	if len(statuses) < maxStatuses {
		statuses = append(statuses, s)
	} else {
		unkept = append(unkept, s)
	}
	return s
}

// cut is as much of a text as fits n bytes.
//
//go:noinline
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// forgetStatuses lets go of what the call before made.
func forgetStatuses() {
	lock()
	defer unlock()
	unkept = unkept[:0]
}

// publish writes the number and the address of the status's reasons.
//
//go:noinline
func (s *Status) publish(lenAt, ptrAt unsafe.Pointer) {
	if s == nil || s.reason == "" {
		return
	}
	if s.ptr == 0 || !addressesLast {
		s.ref = refTo(s.reason)
		s.ptr = address(unsafe.Pointer(&s.ref), abi.StringRefSize)
	}
	setU32(lenAt, 0, 1)
	setU32(ptrAt, 0, s.ptr)
}
