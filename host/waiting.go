// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
)

// maxWaiting is how many pods that wait a policy sees: more of them might not
// fit a value record.
const maxWaiting = 1000

func init() { readers[abi.ReadWaiting] = readWaiting }

// waitingPod is a pod that waits in Permit.
type waitingPod struct {
	pod   *v1.Pod
	node  string
	since int64 // Unix nanoseconds; 0 if no policy of ours holds it
	held  bool
}

// readWaiting lists the pods that wait in Permit, whoever holds them: those that
// the policy holds first, then by how long they wait.
func readWaiting(r *reading) readAnswer {
	list := r.host.waitingPods(r.version.name)
	slices.SortFunc(list, func(a, b waitingPod) int {
		if a.held != b.held {
			if a.held {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.pod.Namespace, b.pod.Namespace), cmp.Compare(a.pod.Name, b.pod.Name))
	})
	tree := make([]any, 0, min(len(list), maxWaiting))
	for _, w := range list[:min(len(list), maxWaiting)] {
		labels := make(map[string]any, len(w.pod.Labels))
		for k, v := range w.pod.Labels {
			labels[k] = v
		}
		tree = append(tree, map[string]any{
			"uid": string(w.pod.UID), "namespace": w.pod.Namespace, "name": w.pod.Name, "node": w.node,
			"labels": labels, "since_ns": w.since, "held": w.held,
		})
	}
	return readAnswer{tree: tree}
}

// waitingPods are the pods that policies hold, listed by the framework or not
// yet, and those that it lists for other plugins.
func (h *Host) waitingPods(policy string) []waitingPod {
	var list []waitingPod
	known := map[types.UID]bool{}
	h.holds.mu.Lock()
	for uid, w := range h.holds.pods {
		if w.settled != nil { // what the framework still lists is on its way
			known[uid] = true
		} else if w.asked {
			known[uid] = true
			list = append(list, waitingPod{w.cycle.pod, w.node, w.since.UnixNano(), w.by[policy] != nil})
		}
	}
	h.holds.mu.Unlock()
	h.mu.Lock()
	plugins := h.plugins
	h.mu.Unlock()
	for _, b := range plugins {
		b.handle.IterateOverWaitingPods(func(wp fwk.WaitingPod) {
			if p := wp.GetPod(); !known[p.UID] && len(wp.GetPendingPlugins()) > 0 {
				known[p.UID] = true
				list = append(list, waitingPod{pod: p, node: p.Spec.NodeName})
			}
		})
	}
	return list
}
