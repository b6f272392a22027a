// SPDX-License-Identifier: Apache-2.0

package berthtest

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// Intent is something that the policy asked the host to do.
type Intent struct {
	Kind string         // "event"
	Pod  string         // UID of the call's pod; empty where there is none
	Keys map[string]any // the others, as in the ABI's table: "reason"
}

// Asked are the intents of a kind that the policy asked for, in order; of an
// empty kind all.
func (h *Host) Asked(kind string) []Intent {
	var list []Intent
	for _, in := range h.asked {
		if kind == "" || in.Kind == kind {
			list = append(list, in)
		}
	}
	return list
}

// waitingPod is a pod that waits in Permit.
type waitingPod struct {
	pod   *PodBuilder
	node  string
	since int64
}

// Waiting are the UIDs of the pods that wait in Permit: those for which the
// policy returned Wait, less those that it allowed or rejected since.
func (h *Host) Waiting() []string {
	var uids []string
	for _, w := range h.waiting {
		uids = append(uids, w.pod.uid)
	}
	return uids
}

func (h *Host) waitingTree() []any {
	list := []any{}
	for _, w := range h.waiting {
		list = append(list, map[string]any{
			"uid": w.pod.uid, "namespace": w.pod.namespace, "name": w.pod.name, "node": w.node,
			"labels": texts(w.pod.labels), "since_ns": w.since, "held": true,
		})
	}
	return list
}

// texts is a map of texts as a tree.
func texts(m map[string]string) map[string]any {
	tree := map[string]any{}
	for k, v := range m {
		tree[k] = v
	}
	return tree
}

// carryOut keeps the intents of a call, and does what reads show: state is kept,
// pods stop waiting. As in the scheduler, those of an error are dropped.
func (h *Host) carryOut(q request, r response) {
	if r.verdict.Code == Error || r.next {
		return
	}
	list, _ := r.reply.Get(abi.IntentsKey)
	for i := range list.Len() {
		keys := list.At(i).Tree().(map[string]any)
		in := Intent{Kind: keys["kind"].(string), Keys: keys}
		delete(keys, "kind")
		if q.who != nil {
			in.Pod = q.who.uid
		}
		h.asked = append(h.asked, in)
		switch in.Kind {
		case abi.IntentAllow, abi.IntentReject:
			h.stopWaiting(keys["pod"].(string))
		case abi.IntentState:
			h.keep(keys)
		}
	}
}

func (h *Host) keep(keys map[string]any) {
	key := keys["key"].(string)
	if keys["value"] == nil {
		delete(h.world.kept, key)
		return
	}
	until := int64(0)
	if ttl, _ := keys["ttl_ns"].(int64); ttl > 0 {
		until = h.now + ttl
	}
	put(&h.world.kept, key, keptValue{keys["value"], until})
}

func (h *Host) stopWaiting(uid string) {
	h.waiting = slices.DeleteFunc(h.waiting, func(w waitingPod) bool { return w.pod.uid == uid })
}

// settled says whether a call allows or rejects a pod.
func (h *Host) settled(r response, uid string) bool {
	list, _ := r.reply.Get(abi.IntentsKey)
	for i := range list.Len() {
		if pod, ok := list.At(i).Get("pod"); ok && pod.Text() == uid {
			return true
		}
	}
	return false
}
