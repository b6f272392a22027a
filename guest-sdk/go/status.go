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
// Reasons are constant text, without names of pods or nodes or numbers: the
// scheduler counts equal reasons over all nodes and shows "12 node(s) belong to
// another team", which it can't if each node has its own. Constant ones also
// cost nothing: a status of a code and reason is made once and kept.
type Status struct {
	code    Code
	reasons []string
	refs    []stringRef
	ptr     uint32 // of refs in guest memory, once published
}

// Code is the status's code; that of nil is Success.
func (s *Status) Code() Code {
	if s == nil {
		return abi.Success
	}
	return s.code
}

// Reasons are the status's reasons.
func (s *Status) Reasons() []string {
	if s == nil {
		return nil
	}
	return s.reasons
}

// IsSuccess says whether the status is Success.
func (s *Status) IsSuccess() bool { return s.Code() == abi.Success }

// Unschedulable rejects the pod, or a node for it, as long as something
// doesn't change that preemption may bring about.
func Unschedulable(reason string, more ...string) *Status {
	return newStatus(abi.Unschedulable, reason, more)
}

// UnschedulableAndUnresolvable rejects the pod, or a node for it, where
// preempting other pods can't help: labels, ownership, the node's hardware.
func UnschedulableAndUnresolvable(reason string, more ...string) *Status {
	return newStatus(abi.UnschedulableAndUnresolvable, reason, more)
}

// Error says that the policy couldn't decide. The pod is tried again soon.
func Error(reason string) *Status { return newStatus(abi.Error, reason, nil) }

// AsStatus is Error with the error's text; nil for nil.
func AsStatus(err error) *Status {
	if err == nil {
		return nil
	}
	return Error(err.Error())
}

var skip = &Status{code: abi.Skip}

// Skip says that a policy has nothing to say: from PreFilter that AddPod,
// RemovePod and Filter needn't be called for this pod, from PreScore that Score
// needn't, from PreFilterNode that the node is left out.
func Skip() *Status { return skip }

// maxStatuses bounds how many statuses are kept: a policy that puts names into
// reasons makes garbage, but doesn't fill its memory.
const maxStatuses = 256

type statusKey struct {
	code   Code
	reason string
}

// statuses are the kept ones with one reason; unkept those that the call in
// progress made beyond them. Both need lock.
var (
	statuses = map[statusKey]*Status{}
	unkept   []*Status
)

func newStatus(code Code, reason string, more []string) *Status {
	lock()
	defer unlock()
	if len(more) == 0 {
		if s := statuses[statusKey{code, reason}]; s != nil {
			return s
		}
	}
	s := &Status{code: code, reasons: make([]string, 0, 1+len(more))}
	s.add(reason)
	for _, r := range more {
		s.add(r)
	}
	s.refs = make([]stringRef, len(s.reasons))
	if len(more) == 0 && len(statuses) < maxStatuses {
		statuses[statusKey{code, s.reasons[0]}] = s
	} else {
		unkept = append(unkept, s)
	}
	return s
}

// add copies a reason, which may be in a record that the host overwrites after
// the call, within the limits of the ABI.
func (s *Status) add(reason string) {
	if len(s.reasons) == abi.MaxReasons {
		return
	}
	s.reasons = append(s.reasons, string([]byte(cut(reason, abi.MaxReasonBytes))))
}

// cut is as much of a text as fits n bytes.
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
	clear(unkept)
	unkept = unkept[:0]
}

// publish is the address of the status's reasons.
func (s *Status) publish() uint32 {
	if len(s.refs) == 0 {
		return 0
	}
	if s.ptr == 0 || !addressesLast {
		for i, r := range s.reasons {
			s.refs[i] = refTo(r)
		}
		s.ptr = address(unsafe.Pointer(&s.refs[0]), len(s.refs)*abi.StringRefSize)
	}
	return s.ptr
}
