// SPDX-License-Identifier: Apache-2.0

package host

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/view"
)

// groupArg is the argument of a group's own point: the group, with pods those
// that have no node yet, and more keys.
func (c *cycle) groupArg(pods bool, more map[string]any) ([]byte, error) {
	var obj interface {
		runtime.Object
		metav1.Object
	}
	kind := "PodGroup"
	if pg := c.info.GetPodGroup(); pg != nil {
		obj = pg
	} else if cpg := c.info.GetCompositePodGroup(); cpg != nil {
		obj, kind = cpg, "CompositePodGroup"
	}
	group := map[string]any{"kind": kind, "namespace": c.info.GetNamespace(), "name": c.info.GetName(), "uid": "", "spec": map[string]any{}, "labels": map[string]any{}}
	if obj != nil {
		spec, err := specOf(obj)
		if err != nil {
			return nil, err
		}
		group["uid"], group["spec"], group["labels"] = string(obj.GetUID()), spec, labelTree(obj.GetLabels())
	}
	arg := map[string]any{"group": group}
	if pods {
		list := make([]any, len(c.pods))
		for i, p := range c.pods {
			list[i] = podEntry(p)
		}
		arg["pods"] = list
	}
	maps.Copy(arg, more)
	return abi.EncodeValue(arg)
}

func podEntry(p *v1.Pod) map[string]any {
	return map[string]any{"uid": string(p.UID), "namespace": p.Namespace, "name": p.Name, "priority": int64(corev1helpers.PodPriority(p)), "labels": labelTree(p.Labels)}
}

// specOf is the spec of an object as a tree.
func specOf(obj runtime.Object) (any, error) {
	tree, err := view.Tree(obj)
	if err != nil {
		return nil, err
	}
	if m, ok := tree.(map[string]any); ok && m["spec"] != nil {
		return m["spec"], nil
	}
	return map[string]any{}, nil
}

func labelTree(labels map[string]string) map[string]any {
	tree := make(map[string]any, len(labels))
	for k, v := range labels {
		tree[k] = v
	}
	return tree
}

// readGroup answers the read group from the scheduler's snapshot, in which the
// pods that a simulation placed so far are assumed.
func readGroup(r *reading) readAnswer {
	lister := r.host.first.handle.SnapshotSharedLister()
	pg, err := lister.PodGroups().Get(r.part(0), r.part(1))
	if err != nil {
		return absent
	}
	state, err := lister.PodGroupStates().Get(r.part(0), r.part(1))
	if err != nil {
		return absent
	}
	spec, err := specOf(pg)
	if err != nil {
		r.version.log(abi.LogError, "read group: "+err.Error())
		return absent
	}
	unscheduled := sets.New[types.UID]()
	for _, p := range state.UnscheduledPods() {
		unscheduled.Insert(p.UID)
	}
	return readAnswer{tree: map[string]any{
		"namespace": pg.Namespace, "name": pg.Name, "spec": spec,
		"all": uids(state.AllPods()), "unscheduled": uids(unscheduled), "assumed": uids(state.AssumedPods()), "assigned": uids(state.AssignedPods()),
	}}
}

// uids are in order, so that equal groups read equal.
func uids(set sets.Set[types.UID]) []string {
	list := make([]string, 0, len(set))
	for _, uid := range sets.List(set) {
		list = append(list, string(uid))
	}
	return list
}
