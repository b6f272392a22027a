// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"iter"

	"github.com/berth-scheduler/berth/abi"
)

// Group is a pod group that is scheduled as a whole. It is valid during the
// call, in the forms of several calls to the end of the last.
type Group struct{ arg Object }

// Namespace is the group's namespace.
func (g Group) Namespace() string { return g.arg.Get("group", "namespace").Text() }

// Name is the group's name.
func (g Group) Name() string { return g.arg.Get("group", "name").Text() }

// UID is the group's UID.
func (g Group) UID() string { return g.arg.Get("group", "uid").Text() }

// Spec is the group's spec.
func (g Group) Spec() Object { return g.arg.Get("group", "spec") }

// Label is a label's value, empty where there is none.
func (g Group) Label(key string) string { return g.arg.Get("group", "labels", key).Text() }

// Len is the number of the group's unscheduled pods. (ScorePlacement and
// NormalizePlacementScore see none.)
func (g Group) Len() int { return g.arg.Get("pods").Len() }

// Pods ranges over the group's unscheduled pods.
func (g Group) Pods() iter.Seq[GroupPod] {
	return func(yield func(GroupPod) bool) {
		for o := range g.arg.Get("pods").All() {
			if !yield(GroupPod{o}) {
				return
			}
		}
	}
}

// GroupPod is a pod of a group.
type GroupPod struct{ pod Object }

// UID is the pod's UID.
func (p GroupPod) UID() string { return p.pod.Get("uid").Text() }

// Namespace is the pod's namespace.
func (p GroupPod) Namespace() string { return p.pod.Get("namespace").Text() }

// Name is the pod's name.
func (p GroupPod) Name() string { return p.pod.Get("name").Text() }

// Priority is the pod's priority.
func (p GroupPod) Priority() int32 { return int32(p.pod.Get("priority").Int()) }

// Label is a label's value, empty where there is none.
func (p GroupPod) Label(key string) string { return p.pod.Get("labels", key).Text() }

// kept is the argument in memory of the guest's own, for later calls.
func (f frame) kept() Object {
	if u32(f.at, abi.FrameArgLen) == 0 {
		return Object{}
	}
	return Object{abi.TrustValue(append([]byte(nil), f.arg()...))}
}
