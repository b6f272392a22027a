// SPDX-License-Identifier: Apache-2.0

package abi

// Code is a status code. The numbers are those of the scheduling framework.
type Code uint32

// Status codes. Unset is what the host writes into a result before a call, so
// that a field which the guest did not fill can't be taken for Success.
const (
	Success                      Code = 0
	Error                        Code = 1
	Unschedulable                Code = 2
	UnschedulableAndUnresolvable Code = 3
	Wait                         Code = 4
	Skip                         Code = 5
	Pending                      Code = 6
	Unset                        Code = 0xffffffff
)

// CodeNames are the wire names of the codes, indexed by Code.
var CodeNames = []string{"success", "error", "unschedulable", "unschedulable_and_unresolvable", "wait", "skip", "pending"}

func (c Code) String() string {
	if int(c) < len(CodeNames) {
		return CodeNames[c]
	}
	if c == Unset {
		return "unset"
	}
	return "code " + itoa(uint64(c))
}

// itoa keeps fmt and strconv out of guests.
func itoa(n uint64) string {
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(b[i:])
		}
	}
}
