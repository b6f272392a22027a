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
// A reason is constant text, without names of pods or nodes or numbers: the
// scheduler counts equal reasons over all nodes and shows "12 node(s) belong to
// another team", which it can't if each node has its own. A constant one also
// costs nothing: a status of a code and reasons is made once and kept.
type Status struct {
	code   Code
	reason string
	more   *Status // holds the next reason; its code says nothing
	refs   []stringRef
	ptr    uint32 // of refs in guest memory, once published
}

// Code is the status's code; that of nil is Success.
func (s *Status) Code() Code {
	if s == nil {
		return abi.Success
	}
	return s.code
}

// Reason is the status's first reason; that of nil is empty.
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

// And adds a reason, behind those that the status has, as where a node lacks
// two resources. It returns a status of its own and leaves s as it is, so it
// works as append does:
//
//	s = s.And("Insufficient memory")
//
// A status has at most 8 reasons; And returns s where it has as many. It panics
// on Success, nil or Skip, which have no reasons.
func (s *Status) And(reason string) *Status {
	if s == nil || s.code == abi.Skip {
		panic("berth: a status that rejects nothing has no reasons")
	}
	n := 1
	for m := s.more; m != nil; m = m.more {
		n++
	}
	if n >= abi.MaxReasons {
		return s
	}
	return s.with(newStatus(s.code, reason))
}

// with is s with one more reason at its end.
func (s *Status) with(last *Status) *Status {
	if s.more != nil {
		last = s.more.with(last)
	}
	return chain(s.code, s.reason, last)
}

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

func newStatus(code Code, reason string) *Status { return chain(code, reason, nil) }

// chain is a status whose further reasons are those of another one.
func chain(code Code, reason string, more *Status) *Status {
	reason = cut(reason, abi.MaxReasonBytes)
	lock()
	defer unlock()
	for _, s := range statuses {
		if s.code == code && s.reason == reason && s.more == more {
			return s
		}
	}
	// The reason may be in a record that the host overwrites after the call.
	s := &Status{code: code, reason: string([]byte(reason)), more: more}
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
		s.refs = s.refs[:0]
		for m := s; m != nil; m = m.more {
			s.refs = append(s.refs, refTo(m.reason))
		}
		s.ptr = address(unsafe.Pointer(&s.refs[0]), len(s.refs)*abi.StringRefSize)
	}
	setU32(lenAt, 0, uint32(len(s.refs)))
	setU32(ptrAt, 0, s.ptr)
}
