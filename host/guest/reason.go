// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/berth-scheduler/berth/abi"
)

// maxCachedReasons bounds the cache of a policy that makes its reasons up.
const maxCachedReasons = 512

// reasonCache turns reasons in guest memory into Go strings once: rejecting
// 5,000 nodes for the same reason allocates nothing.
type reasonCache struct {
	prefix string
	none   []string
	sets   map[string][]string
	key    []byte
}

// noReason stands in for the reasons that a guest leaves out: a pod's event must
// name the policy.
const noReason = "no reason given"

// verdict checks a code against the point's and reads its reasons. Every code
// but Success and Skip has at least one.
func (in *Instance) verdict(info *abi.PointInfo, code, n, ptr uint32) (Verdict, error) {
	allowed := false
	for _, c := range info.Codes {
		allowed = allowed || abi.Code(code) == c
	}
	if !allowed {
		return Verdict{}, fmt.Errorf("code: want one of %v, got %s", info.Codes, abi.Code(code))
	}
	if c := abi.Code(code); c == abi.Success || c == abi.Skip {
		return Verdict{Code: c}, nil
	}
	if n == 0 {
		if in.reasons.none == nil {
			in.reasons.none = []string{in.reasons.prefix + noReason}
		}
		return Verdict{abi.Code(code), in.reasons.none}, nil
	}
	reasons, err := in.readReasons(n, ptr)
	return Verdict{abi.Code(code), reasons}, err
}

func (in *Instance) readReasons(n, ptr uint32) ([]string, error) {
	if n > abi.MaxReasons {
		return nil, fmt.Errorf("reasons: want at most %d, got %d", abi.MaxReasons, n)
	}
	refs, ok := in.mem.Read(ptr, n*abi.StringRefSize)
	if !ok {
		return nil, fmt.Errorf("reasons: want %d inside memory, got address %d", n, ptr)
	}
	rc := &in.reasons
	rc.key = rc.key[:0]
	var ends [abi.MaxReasons]int
	for i := range int(n) {
		p, l := binary.LittleEndian.Uint32(refs[i*8:]), binary.LittleEndian.Uint32(refs[i*8+4:])
		if l > abi.MaxReasonBytes {
			return nil, fmt.Errorf("reason: want at most %d bytes, got %d", abi.MaxReasonBytes, l)
		}
		text, ok := in.mem.Read(p, l)
		if !ok {
			return nil, fmt.Errorf("reason: want %d bytes inside memory, got address %d", l, p)
		}
		rc.key = append(rc.key, text...)
		ends[i] = len(rc.key)
		rc.key = append(rc.key, 0)
	}
	if set, ok := rc.sets[string(rc.key)]; ok {
		return set, nil
	}
	set := make([]string, n)
	start := 0
	for i := range set {
		text := rc.key[start:ends[i]]
		if err := checkText(text); err != nil {
			return nil, fmt.Errorf("reason: %w", err)
		}
		set[i] = rc.prefix + cmp.Or(string(text), noReason)
		start = ends[i] + 1
	}
	if len(rc.sets) < maxCachedReasons {
		if rc.sets == nil {
			rc.sets = map[string][]string{}
		}
		rc.sets[string(rc.key)] = set
	}
	return set, nil
}

// CheckText refuses text of a guest that must not reach an event or a terminal,
// or is longer than a reason.
func CheckText(s string) error {
	if len(s) > abi.MaxReasonBytes {
		return fmt.Errorf("want at most %d bytes, got %d", abi.MaxReasonBytes, len(s))
	}
	return checkText([]byte(s))
}

// checkText refuses what must not reach an event or a terminal.
func checkText(b []byte) error {
	if !utf8.Valid(b) {
		return fmt.Errorf("want UTF-8 text, got other bytes")
	}
	for i, r := range string(b) {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("want printable text, got %U at byte %d", r, i)
		}
	}
	return nil
}
