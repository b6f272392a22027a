// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/policy"
)

// activeSet is what decides from some moment on. It is never changed: a swap
// puts another one in its place.
type activeSet struct {
	serial  uint64
	entries []*entry // by order, then name
}

// entry is one policy in an activeSet.
type entry struct {
	name    string
	order   int64
	policy  *policy.Policy // nil if policy.yaml can't be read and there is no last good one
	version *version       // nil if none can run
	suspend bool
	// reason is why there is no version. With fail the pods that match are
	// unschedulable for it.
	reason string
	fail   bool
	// selector stands in for the policy's match where policy is nil.
	selector labels.Selector
}

func newActiveSet(serial uint64, entries []*entry) *activeSet {
	slices.SortFunc(entries, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.name, b.name))
	})
	return &activeSet{serial, entries}
}

// matches says whether the policy has a say about a pod.
func (e *entry) matches(profile string, pod *v1.Pod) bool {
	switch {
	case e.suspend:
		return false
	case e.policy != nil:
		return e.policy.Matches(profile, pod)
	case e.selector != nil:
		return e.selector.Matches(labels.Set(pod.Labels))
	}
	return true
}

// available is the version to ask, or, while none can run and the policy must
// not be ignored, the answer for the pod. Both nil means to ignore it.
func (e *entry) available(now time.Time) (*version, *fwk.Status) {
	if e.version == nil {
		if e.fail {
			return nil, fwk.NewStatus(fwk.Unschedulable, e.name+": "+e.reason)
		}
		return nil, nil
	}
	if !e.version.health.quarantined(now) {
		return e.version, nil
	}
	if e.policy.FailurePolicy == policy.Fail {
		return nil, fwk.NewStatus(fwk.Unschedulable, e.name+": quarantined after repeated faults")
	}
	return nil, nil
}

// has says whether the set has the policy of an entry as it was: what decides
// about a pod that matches it is the same.
func (s *activeSet) has(e *entry) bool {
	for _, x := range s.entries {
		if x.name == e.name {
			return x.version == e.version && x.suspend == e.suspend && x.fail == e.fail && x.reason == e.reason
		}
	}
	return false
}

// same says whether a policy decides in both sets, in the same way.
func (s *activeSet) same(other *activeSet, name string) bool {
	for _, e := range s.entries {
		if e.name == name {
			return other.has(e)
		}
	}
	return false
}

// scoreWeights is Σw of a profile: the weights of its scoring policies, whether
// they match a pod or not. A policy scores nodes at Score, placements at
// ScorePlacement.
func (s *activeSet) scoreWeights(profile string, at abi.Point) int64 {
	var sum int64
	for _, e := range s.entries {
		if e.version != nil && !e.suspend && e.version.points[at] && e.policy.MatchesProfile(profile) {
			sum += e.policy.Weight
		}
	}
	return sum
}

// serves says whether any policy may have a say in a profile.
func (s *activeSet) serves(profile string) bool {
	for _, e := range s.entries {
		if !e.suspend && (e.policy == nil && e.fail || e.policy != nil && e.policy.MatchesProfile(profile)) {
			return true
		}
	}
	return false
}
