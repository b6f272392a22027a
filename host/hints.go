// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"reflect"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/guest"
	"github.com/berth-scheduler/berth/host/view"
)

// eventRow is an event by its name in the table of abi, and which sections of a
// policy's reads it can change. A policy that reads none of them isn't helped by
// the event. nil: the event may help any policy.
type eventRow struct {
	name     string
	resource fwk.EventResource
	action   fwk.ActionType
	sections []string
}

// eventTable are those of the framework's that are registered.
var eventTable = []eventRow{
	{"node/add", fwk.Node, fwk.Add, nil},
	{"node/label", fwk.Node, fwk.UpdateNodeLabel, names(abi.NodeSections, abi.NodeLabels)},
	{"node/taint", fwk.Node, fwk.UpdateNodeTaint, names(abi.NodeSections, abi.NodeMeta, abi.NodeTaints)},
	{"node/allocatable", fwk.Node, fwk.UpdateNodeAllocatable, names(abi.NodeSections, abi.NodeResources)},
	{"node/condition", fwk.Node, fwk.UpdateNodeCondition, names(abi.NodeSections, abi.NodeConditions)},
	{"node/annotation", fwk.Node, fwk.UpdateNodeAnnotation, names(abi.NodeSections, abi.NodeAnnotations)},
	{"node/feature", fwk.Node, fwk.UpdateNodeDeclaredFeature, names(abi.NodeSections, abi.NodeFeatures)},
	{"assigned_pod/add", fwk.AssignedPod, fwk.Add, names(abi.NodeSections, abi.NodePods, abi.NodePodAffinity)},
	{"assigned_pod/delete", fwk.AssignedPod, fwk.Delete, names(abi.NodeSections, abi.NodePods, abi.NodeResources, abi.NodePorts, abi.NodePVCs, abi.NodePodAffinity)},
	{"assigned_pod/label", fwk.AssignedPod, fwk.UpdatePodLabel, names(abi.NodeSections, abi.NodePods)},
	{"assigned_pod/scale_down", fwk.AssignedPod, fwk.UpdatePodScaleDown, names(abi.NodeSections, abi.NodePods, abi.NodeResources)},
	{"pod/label", fwk.TargetPod, fwk.UpdatePodLabel, names(abi.PodSections, abi.PodLabels)},
	{"pod/scale_down", fwk.TargetPod, fwk.UpdatePodScaleDown, names(abi.PodSections, abi.PodResources, abi.PodContainers)},
	{"pod/toleration", fwk.TargetPod, fwk.UpdatePodToleration, names(abi.PodSections, abi.PodTolerations)},
	{"pod/gate", fwk.TargetPod, fwk.UpdatePodSchedulingGatesEliminated, names(abi.PodSections, abi.PodGates)},
}

func names(table []abi.Section, indices ...int) []string {
	out := make([]string, len(indices))
	for i, x := range indices {
		out[i] = table[x].Name
	}
	return out
}

// podUpdate is the general update of a pod, registered only where the arguments
// say so: with it every kubelet status update walks all unschedulable pods.
var podUpdate = eventRow{"pod/update", fwk.Pod, fwk.Update, nil}

// EventsToRegister lists the events that may help a pod which a policy turned
// down. The list is fixed at start, so it holds what any policy may read or ask
// for.
func (b *Berth) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	rows := eventTable
	if b.host.args.PodUpdateEvents {
		rows = append(rows[:len(rows):len(rows)], podUpdate)
	}
	list := make([]fwk.ClusterEventWithHint, len(rows))
	for i, row := range rows {
		list[i] = fwk.ClusterEventWithHint{
			Event:          fwk.ClusterEvent{Resource: row.resource, ActionType: row.action},
			QueueingHintFn: b.hint(row),
		}
	}
	return list, nil
}

// hint answers for one kind of event: Queue if it may help any policy that turned
// the pod down. A policy with queueing_hint is asked about the events that it
// declared, or without such a list about those that change what it reads; any
// other policy is taken to be helped by the latter. A label change of the pod
// itself may also change which policies match. A policy that isn't the one that
// decides any more has its pods activated by the swap.
func (b *Berth) hint(row eventRow) fwk.QueueingHintFn {
	own := row.resource == fwk.TargetPod && row.action == fwk.UpdatePodLabel
	return func(_ klog.Logger, pod *v1.Pod, before, after any) (fwk.QueueingHint, error) {
		by := b.host.rejections.by(pod.UID)
		if len(by) == 0 || own && b.rematched(before, after) {
			return fwk.Queue, nil
		}
		for _, e := range by {
			if e.version == nil {
				continue // recovery activates its pods
			}
			if b.helped(e.version, row, pod, before, after) {
				return fwk.Queue, nil
			}
		}
		return fwk.QueueSkip, nil
	}
}

// rematched says whether a pod's new labels may change which policies decide
// about it.
func (b *Berth) rematched(before, after any) bool {
	old, _ := before.(*v1.Pod)
	pod, _ := after.(*v1.Pod)
	if old == nil || pod == nil {
		return true
	}
	for _, e := range b.host.active.Load().entries {
		if e.matches(b.profile, old) != e.matches(b.profile, pod) {
			return true
		}
	}
	return false
}

// helped says whether an event may help a policy that turned the pod down.
func (b *Berth) helped(v *version, row eventRow, pod *v1.Pod, before, after any) bool {
	concerned := row.concerns(v)
	if !v.points[abi.QueueingHint] || v.health.quarantined(b.host.clock()) {
		return concerned
	}
	if len(v.desc.Events) > 0 {
		concerned = slices.Contains(v.desc.Events, row.name)
	}
	return concerned && b.host.askHint(v, b.profile, pod, row.name, before, after)
}

// concerns says whether an event can change what a policy reads. Who reads the
// whole pod reads its labels.
func (row eventRow) concerns(v *version) bool {
	if row.sections == nil || row.name == "pod/label" {
		return true
	}
	for _, s := range row.sections {
		if v.reads[s] || s == abi.NodeSections[abi.NodeMeta].Name {
			return true
		}
	}
	return false
}

// askHint asks a policy whether an event may help a pod. No wake-up is lost: if
// the policy can't be asked, or fails, the event helps.
func (h *Host) askHint(v *version, profile string, pod *v1.Pod, event string, before, after any) bool {
	arg, err := h.hintArgs.encode(event, before, after)
	if err != nil || !v.retain() {
		return true
	}
	defer h.giveBack(v)
	helps := true
	h.beside(v, profile, abi.QueueingHint, pod, arg, func(r *guest.Result) { helps = r.Code != abi.Skip })
	return helps
}

// changeHelps says whether any of the changes of resources may help a pod that a
// policy turned down. It is called outside the queue's lock.
func (h *Host) changeHelps(name string, pod *v1.Pod, changes []resourceChange) bool {
	for _, e := range h.active.Load().entries {
		if e.name != name || e.version == nil {
			continue
		}
		v := e.version
		if !v.points[abi.QueueingHint] || v.health.quarantined(h.clock()) || len(v.desc.Events) > 0 && !slices.Contains(v.desc.Events, abi.EventResource) {
			return true
		}
		return slices.ContainsFunc(changes, func(c resourceChange) bool {
			return h.askHint(v, pod.Spec.SchedulerName, pod, abi.EventResource, c.before, c.after)
		})
	}
	return true
}

// eventArgs encodes what a hint is asked about. One event is asked about many
// pods, so the last is kept. It is safe for concurrent use.
type eventArgs struct {
	mu            sync.Mutex
	event         string
	before, after any
	arg           []byte
}

func (a *eventArgs) encode(event string, before, after any) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.arg != nil && a.event == event && identical(a.before, before) && identical(a.after, after) {
		return a.arg, nil
	}
	tree := map[string]any{"event": event}
	for key, obj := range map[string]any{"old": before, "new": after} {
		t, err := objectTree(obj)
		if err != nil {
			return nil, err
		}
		tree[key] = t
	}
	arg, err := abi.EncodeValue(tree)
	if err != nil {
		return nil, err
	}
	a.event, a.before, a.after, a.arg = event, before, after, arg
	return arg, nil
}

// identical says whether two values are the same object. Trees never are.
func identical(a, b any) bool {
	if _, ok := a.(runtime.Object); !ok && a != nil {
		return false
	}
	_, ok := b.(runtime.Object)
	return (ok || b == nil) && a == b
}

// objectTree is a runtime.Object, a tree or nil as a tree.
func objectTree(obj any) (any, error) {
	if o, ok := obj.(runtime.Object); ok && !reflect.ValueOf(o).IsNil() {
		return view.Tree(o)
	} else if ok {
		return nil, nil
	}
	return obj, nil
}
