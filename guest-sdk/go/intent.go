// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// Intent is a kind of what a policy asks the host to do after a call. A policy
// lists those that it may ask for in Policy.Intents; those said to need a grant
// must be allowed in policy.yaml, too. They may be asked for in PreEnqueue,
// QueueingHint, PreFilter, PostFilter, PreScore, and from Reserve to PostBind.
type Intent string

// Kinds of intents.
const (
	IntentActivate Intent = abi.IntentActivate // Activate; needs a grant
	IntentAllow    Intent = abi.IntentAllow    // Allow
	IntentReject   Intent = abi.IntentReject   // Reject
	IntentEvent    Intent = abi.IntentEvent    // Event; needs a grant
	IntentMetric   Intent = abi.IntentMetric   // Count, Gauge
	IntentState    Intent = abi.IntentState    // Keep, Forget, Kept
	IntentPatch    Intent = abi.IntentPatch    // PatchLabels, PatchAnnotations and their like; needs a grant
	IntentBind     Intent = abi.IntentBind     // BindPod; needs a grant
	IntentEvict    Intent = abi.IntentEvict    // victims of a Nomination, Evict; needs a grant
	IntentReclaim  Intent = abi.IntentReclaim  // victims of a Nomination of AnyPriority; needs a grant
)

// intent writes what is asked for into a map.
type intent struct {
	keys  int
	write func(o *object)
}

// ask adds an intent to the call's answer. It has that many keys, kind included;
// write writes all of them.
//
//go:noinline
func (c *Cycle) ask(kind Intent, keys int, write func(o *object)) {
	if !slices.Contains(c.guest.policy.Intents, kind) {
		panic("berth: the policy asks for the intent " + string(kind) + " without declaring it: add it to Policy.Intents")
	}
	if !takesIntents(c.point) {
		panic("berth: intents can't be asked for in " + pointName(c.point))
	}
	if len(c.reply.intents) == abi.MaxIntents {
		panic("berth: too many intents in one call")
	}
	c.reply.intents = append(c.reply.intents, intent{keys, write})
	c.finish = writeReply
}

// takesIntents is abi.TakesIntents in fewer bytes.
func takesIntents(p abi.Point) bool {
	const points = 1<<abi.PreEnqueue | 1<<abi.QueueingHint | 1<<abi.PreFilter | 1<<abi.PostFilter | 1<<abi.PreScore |
		1<<abi.Reserve | 1<<abi.Unreserve | 1<<abi.Permit | 1<<abi.PreBind | 1<<abi.Bind | 1<<abi.PostBind |
		1<<abi.PodGroupPostFilter
	return points>>p&1 == 1
}

// Activate tries rejected pods again, by "namespace/name".
func (c *Cycle) Activate(pods ...string) {
	pods = slices.Clone(pods)
	c.ask(IntentActivate, 2, func(o *object) {
		o.text("kind", abi.IntentActivate)
		o.strings("pods", pods)
	})
}

// Allow ends this policy's hold on a pod that waits in Permit, by UID.
func (c *Cycle) Allow(uid string) {
	c.ask(IntentAllow, 2, func(o *object) {
		o.text("kind", abi.IntentAllow)
		o.text("pod", uid)
	})
}

// Reject rejects a pod that waits in Permit and that this policy holds. The
// reason is constant text.
func (c *Cycle) Reject(uid, reason string) {
	c.ask(IntentReject, 3, func(o *object) {
		o.text("kind", abi.IntentReject)
		o.text("pod", uid)
		o.text("reason", reason)
	})
}

// Types of events.
const (
	EventNormal  = "Normal"
	EventWarning = "Warning"
)

// Event writes a Kubernetes event about the call's pod. The kind is EventNormal
// or EventWarning, the reason one word in CamelCase.
func (c *Cycle) Event(kind, reason, message string) {
	c.ask(IntentEvent, 4, func(o *object) {
		o.text("kind", abi.IntentEvent)
		o.text("message", message)
		o.text("reason", reason)
		o.text("type", kind)
	})
}

// Count counts a metric of the policy's own up. The name is in snake_case.
func (c *Cycle) Count(name string, delta float64) {
	c.ask(IntentMetric, 3, func(o *object) {
		o.w.Float(o.cell("add"), delta)
		o.text("kind", abi.IntentMetric)
		o.text("name", name)
	})
}

// Gauge sets a metric of the policy's own.
func (c *Cycle) Gauge(name string, value float64) {
	c.ask(IntentMetric, 3, func(o *object) {
		o.text("kind", abi.IntentMetric)
		o.text("name", name)
		o.w.Float(o.cell("set"), value)
	})
}

// Keep keeps a value in the host, over calls, instances and versions of the
// policy; Kept reads it, from the next call on. The value is a tree of bool, int,
// int64, float64, string, []string, []any and map[string]any, which mustn't
// change before the call ends. It is kept for ttl nanoseconds, or with 0 until
// the policy goes.
func (c *Cycle) Keep(key string, value any, ttl int64) {
	c.ask(IntentState, 4, func(o *object) {
		o.text("key", key)
		o.text("kind", abi.IntentState)
		o.w.Int(o.cell("ttl_ns"), ttl)
		if err := o.w.Tree(o.cell("value"), value); err != nil {
			panic("berth: Keep \"" + key + "\": " + err.Error())
		}
	})
}

// Forget deletes what Keep kept.
func (c *Cycle) Forget(key string) {
	c.ask(IntentState, 3, func(o *object) {
		o.text("key", key)
		o.text("kind", abi.IntentState)
		o.w.Null(o.cell("value"))
	})
}

// PatchLabels sets labels of the pod, key after value, before it is bound: in
// PreBind.
func (c *Cycle) PatchLabels(pairs ...string) { c.patch("labels", pairsOf(pairs)) }

// PatchAnnotations is PatchLabels for annotations.
func (c *Cycle) PatchAnnotations(pairs ...string) { c.patch("annotations", pairsOf(pairs)) }

// RemoveLabels removes labels of the pod before it is bound: in PreBind.
func (c *Cycle) RemoveLabels(keys ...string) { c.patch("labels", removed(keys)) }

// RemoveAnnotations is RemoveLabels for annotations.
func (c *Cycle) RemoveAnnotations(keys ...string) { c.patch("annotations", removed(keys)) }

// BindPod binds the pod to the node, in Bind, and adds annotations to it, key
// after value. Return nil with it.
func (c *Cycle) BindPod(annotations ...string) {
	if c.point != abi.Bind {
		panic("berth: BindPod in " + pointName(c.point) + ": want it in bind")
	}
	pairs := pairsOf(annotations)
	c.ask(IntentBind, 2, func(o *object) {
		writePairs(o.w, o.cell("annotations"), pairs)
		o.text("kind", abi.IntentBind)
	})
}

func (c *Cycle) patch(what string, pairs []pair) {
	if c.point != abi.PreBind {
		panic("berth: a patch in " + pointName(c.point) + ": want it in pre_bind")
	}
	c.ask(IntentPatch, 2, func(o *object) {
		if what == "annotations" {
			writePairs(o.w, o.cell(what), pairs)
		}
		o.text("kind", abi.IntentPatch)
		if what == "labels" {
			writePairs(o.w, o.cell(what), pairs)
		}
	})
}

// pair is an entry of a map of texts.
type pair struct {
	key, value string
	remove     bool // null in place of the value
}

func pairsOf(list []string) []pair {
	if len(list)%2 != 0 {
		panic("berth: want pairs of a key and a value, got a key without one")
	}
	var pairs []pair
	for i := 0; i < len(list); i += 2 {
		pairs = putPair(pairs, pair{key: list[i], value: list[i+1]})
	}
	return pairs
}

func removed(keys []string) (pairs []pair) {
	for _, k := range keys {
		pairs = putPair(pairs, pair{key: k, remove: true})
	}
	return pairs
}

// putPair keeps pairs in ascending order of their keys, each once.
func putPair(pairs []pair, p pair) []pair {
	at := 0
	for at < len(pairs) && pairs[at].key < p.key {
		at++
	}
	if at < len(pairs) && pairs[at].key == p.key {
		pairs[at] = p
		return pairs
	}
	pairs = append(pairs, pair{})
	copy(pairs[at+1:], pairs[at:])
	pairs[at] = p
	return pairs
}

func writePairs(w *abi.ValueWriter, cell int, pairs []pair) {
	o := newObject(w, cell, len(pairs))
	for _, p := range pairs {
		if at := o.cell(p.key); !p.remove {
			w.String(at, p.value)
		}
	}
}
