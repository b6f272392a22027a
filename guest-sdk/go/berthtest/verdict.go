// SPDX-License-Identifier: Apache-2.0

package berthtest

import "github.com/berth-scheduler/berth/abi"

// Code is a status code.
type Code = abi.Code

// Status codes.
const (
	Success                      = abi.Success
	Error                        = abi.Error
	Unschedulable                = abi.Unschedulable
	UnschedulableAndUnresolvable = abi.UnschedulableAndUnresolvable
	Wait                         = abi.Wait
	Skip                         = abi.Skip
	Pending                      = abi.Pending
)

// Verdict is a point's answer.
type Verdict struct {
	Code   Code
	Reason string // several reasons are joined by "; "
}

func (v Verdict) String() string {
	if v.Reason == "" {
		return v.Code.String()
	}
	return v.Code.String() + ": " + v.Reason
}

// PreFilterResult is PreFilter's answer.
type PreFilterResult struct {
	Verdict
	All   bool     // every node is to be considered
	Nodes []string // else these
}
