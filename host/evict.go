// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/evictor"
	"github.com/berth-scheduler/berth/host/guest"
)

// What an intent that evicts says about disruption budgets.
const (
	respectBudgets = "Respect"
	violateBudgets = "Violate"
)

// leave is what was asked about one victim.
type leave struct{ violate, reclaim bool }

// victims are the pods that intents evict or reclaim, each once. The error is a
// fault of the guest: a pod that isn't on the node. refusal is what the host
// doesn't do for anyone: evict for a pod that mustn't preempt, evict a pod whose
// priority isn't lower, or, unless told to, violate a disruption budget.
func (h *Host) victims(handle fwk.Handle, nodes fwk.NodeInfoLister, intents []guest.Intent, p *evictor.Preemption) (list []evictor.Victim, refusal string, _ error) {
	asked := map[types.UID]leave{}
	for _, in := range intents {
		if in.Kind != abi.IntentEvict && in.Kind != abi.IntentReclaim {
			continue
		}
		mode, _ := in.Value.Get("pdb")
		switch mode.Text() {
		case "", respectBudgets, violateBudgets:
		default:
			return nil, "", fmt.Errorf("%s: pdb: want %s or %s, got %q", in.Kind, respectBudgets, violateBudgets, mode.Text())
		}
		pods, _ := in.Value.Get("pods")
		for i := range pods.Len() {
			on, err := findPod(nodes, pods.At(i))
			if err != nil {
				return nil, "", fmt.Errorf("%s: %w", in.Kind, err)
			}
			pod := on.pod.GetPod()
			l, known := asked[pod.UID]
			asked[pod.UID] = leave{l.violate || mode.Text() == violateBudgets, l.reclaim || in.Kind == abi.IntentReclaim}
			if known {
				continue
			}
			if list = append(list, evictor.Victim{Pod: pod, Node: on.node.Node().Name}); len(list) > abi.MaxVictims {
				return nil, "", fmt.Errorf("%s: want at most %d pods, got more", in.Kind, abi.MaxVictims)
			}
		}
	}
	if len(list) == 0 {
		return nil, "", nil
	}
	for _, pod := range p.Pods {
		if pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy == v1.PreemptNever {
			return nil, "evict: want no victims for a pod with preemptionPolicy Never", nil
		}
	}
	for _, v := range list {
		if n := corev1.PodPriority(v.Pod); n >= p.Priority && !asked[v.Pod.UID].reclaim {
			return nil, fmt.Sprintf("evict: pod %s: want a priority below %d, got %d", klog.KObj(v.Pod), p.Priority, n), nil
		}
	}
	if f := handle.SharedInformerFactory(); f != nil {
		budgets, err := f.Policy().V1().PodDisruptionBudgets().Lister().List(labels.Everything())
		if err != nil {
			return nil, "evict: list disruption budgets: " + err.Error(), nil
		}
		h.evictor.Budget(budgets, list)
	}
	for _, v := range list {
		if v.Violates != "" && !asked[v.Pod.UID].violate {
			return nil, fmt.Sprintf("evict: pod %s is protected by PodDisruptionBudget %s", klog.KObj(v.Pod), v.Violates), nil
		}
	}
	return list, "", nil
}

// remaining is the number of victims of the pod that haven't ended. After a
// restart they are known by their condition, which names the preemptor; as in
// DefaultPreemption any victim on the nominated node counts too. A nomination to
// a node that can't be had any more doesn't bind the pod.
func (q *postFilter) remaining(m fwk.NodeToStatusReader) int {
	nominated := q.pod.Status.NominatedNodeName
	if nominated != "" && m.Get(nominated).Code() == fwk.UnschedulableAndUnresolvable {
		return 0
	}
	n := q.remainingOf([]*v1.Pod{q.pod}, q.nodes)
	if n > 0 || nominated == "" {
		return n
	}
	list, err := q.nodes.List()
	if err != nil {
		return 0
	}
	priority, suffix := corev1.PodPriority(q.pod), " "+string(q.pod.UID)
	for _, ni := range list {
		for _, p := range ni.GetPods() {
			pod := p.GetPod()
			if pod.DeletionTimestamp == nil {
				continue
			}
			lower := corev1.PodPriority(pod) < priority
			for _, c := range pod.Status.Conditions {
				if c.Type == v1.DisruptionTarget && c.Status == v1.ConditionTrue && c.Reason == v1.PodReasonPreemptionByScheduler &&
					(lower && ni.Node().Name == nominated || strings.HasSuffix(c.Message, suffix)) {
					n++
				}
			}
		}
	}
	return n
}

// remainingOf is the number of victims of pods that the snapshot still holds, as
// far as this process knows them.
func (b *Berth) remainingOf(pods []*v1.Pod, nodes fwk.NodeInfoLister) int {
	n := 0
	for _, pod := range pods {
		n = max(n, b.host.evictor.Remaining(pod.UID, func(node string, uid types.UID) bool {
			ni, err := nodes.Get(node)
			return err == nil && podOn(ni, uid) != nil
		}))
	}
	return n
}

// preempting says why a pod must not be tried: its victims haven't ended.
func (h *Host) preempting(uid types.UID) (string, bool) { return h.evictor.Holding(uid) }

// readNominated answers the read nominated.
func readNominated(r *reading) readAnswer {
	if _, ok := r.host.index.slot(r.part(0)); !ok {
		return absent
	}
	list := []any{}
	for _, info := range r.host.first.handle.NominatedPodsForNode(r.part(0)) {
		pod := info.GetPod()
		list = append(list, map[string]any{
			"uid": string(pod.UID), "namespace": pod.Namespace, "name": pod.Name, "priority": int(corev1.PodPriority(pod)),
		})
	}
	return readAnswer{tree: list}
}

// readNodeStatus answers the read node_status.
func readNodeStatus(r *reading) readAnswer {
	if r.point != abi.PostFilter || r.cycle.statuses == nil {
		return refused
	}
	if _, ok := r.host.index.slot(r.part(0)); !ok {
		return absent
	}
	return readAnswer{tree: statusTree(r.cycle.statuses.Get(r.part(0)))}
}
