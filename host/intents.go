// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/guest"
)

// asking is a call whose intents are carried out.
type asking struct {
	host    *Host
	version *version
	profile string
	point   abi.Point
	pod     *v1.Pod // of the call; nil where there is none
}

// checkers say what is wrong with the values of an intent, by kind: the table of
// the ABI knows their types alone. A call with a bad intent is a fault, and none
// of its intents is carried out.
var checkers = map[string]func(a *asking, v abi.Value) error{}

// carriers carry out intents, by kind. They are called under the lock of the
// instance and maybe under the queue's: they don't block, take neither, and
// leave what may fail to others. Kinds that are the answer of a point (patch,
// bind, evict) are not here: the point does them.
var carriers = map[string]func(a *asking, v abi.Value){
	abi.IntentState:    carryState,
	abi.IntentActivate: carryActivate,
}

// carryOut does what a guest asked for in its result. Those of a call that ended
// with an error are dropped. The error is a fault of the guest: an intent that
// it didn't declare, or with values that can't be. (What it declared was granted, or it wouldn't run.)
func (a *asking) carryOut(r *guest.Result) error {
	for _, in := range r.Intents {
		if !slices.Contains(a.version.desc.Intents, in.Kind) {
			return &guest.Fault{Cause: guest.BadResult, Point: a.point, Err: fmt.Errorf("intent %s: want it declared in the document's intents", in.Kind)}
		}
		if check := checkers[in.Kind]; check != nil {
			if err := check(a, in.Value); err != nil {
				return &guest.Fault{Cause: guest.BadResult, Point: a.point, Err: fmt.Errorf("intent %s: %w", in.Kind, err)}
			}
		}
	}
	if r.Code == abi.Error {
		return nil
	}
	for _, in := range r.Intents {
		if carry := carriers[in.Kind]; carry != nil {
			carry(a, in.Value)
		}
	}
	return nil
}

// intentsOf are the intents of a kind.
func intentsOf(r *guest.Result, kind string) []abi.Value {
	var list []abi.Value
	for _, in := range r.Intents {
		if in.Kind == kind {
			list = append(list, in.Value)
		}
	}
	return list
}
