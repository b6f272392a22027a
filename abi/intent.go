// SPDX-License-Identifier: Apache-2.0

package abi

// KeyInfo is a key of a map that crosses as a value record.
type KeyInfo struct {
	Key, Type, Doc string
	Required       bool
}

// IntentInfo is a row of the table of intents: what a guest may ask the host to
// do after a call.
type IntentInfo struct {
	Kind   string
	Grant  bool    // a grant in policy.yaml must allow it
	Points []Point // where it may be asked for; nil is every point that takes intents
	Keys   []KeyInfo
	Doc    string
}

// Kinds of intents.
const (
	IntentActivate = "activate"
	IntentAllow    = "allow"
	IntentReject   = "reject"
	IntentEvent    = "event"
	IntentMetric   = "metric"
	IntentState    = "state"
	IntentPatch    = "patch"
	IntentBind     = "bind"
	IntentEvict    = "evict"
	IntentReclaim  = "reclaim"
)

// TakesIntents lists the points whose results may hold intents.
func TakesIntents() []Point {
	return []Point{
		PreEnqueue, QueueingHint, PreFilter, PostFilter, PreScore, Reserve, Unreserve, Permit, PreBind, Bind, PostBind,
		PodGroupPostFilter,
	}
}

// Intents is the table of intents. (It is a function so that guests, which don't
// call it, don't hold the table.)
func Intents() []IntentInfo {
	victims := []KeyInfo{{"pods", "list of maps", "node and uid of each victim", true}, {"pdb", "string", "Respect, the default, refuses victims that a disruption budget protects; Violate evicts them and says so", false}}
	return []IntentInfo{
		{IntentActivate, true, nil, []KeyInfo{{"pods", "list of strings", "namespace/name of each", true}}, "tries rejected pods again"},
		{IntentAllow, false, nil, []KeyInfo{{"pod", "string", "UID", true}}, "ends this policy's hold on a pod that waits in permit"},
		{IntentReject, false, nil, []KeyInfo{{"pod", "string", "UID", true}, {"reason", "string", "why; constant text", false}}, "rejects a pod that waits in permit and that this policy holds"},
		{IntentEvent, true, nil, []KeyInfo{{"type", "string", "Normal or Warning", true}, {"reason", "string", "CamelCase", true}, {"message", "string", "one line", false}}, "writes an Event about the call's pod"},
		{IntentMetric, false, nil, []KeyInfo{{"name", "string", "snake_case", true}, {"add", "float", "counts up by this", false}, {"set", "float", "is this from now on", false}}, "changes a metric of the policy's own; either add or set"},
		{IntentState, false, nil, []KeyInfo{{"key", "string", "at most max_state_key_bytes", true}, {"value", "any", "what read state gives; null deletes the key", false}, {"ttl_ns", "int", "how long it is kept; 0 is until the policy goes", false}}, "keeps a value in the host, over calls and versions"},
		{IntentPatch, true, []Point{PreBind}, []KeyInfo{{"labels", "map", "strings, or null to remove one", false}, {"annotations", "map", "strings, or null to remove one", false}}, "changes the pod's metadata before it is bound"},
		{IntentBind, true, []Point{Bind}, []KeyInfo{{"annotations", "map", "strings, added to the pod", false}}, "binds the pod to the node"},
		{IntentEvict, true, []Point{PostFilter, PodGroupPostFilter}, victims, "evicts pods of lower priority to make room"},
		{IntentReclaim, true, []Point{PostFilter}, victims, "as evict, of any priority: takes back what was only lent"},
	}
}

// PointKeys are the keys of the value records that cross at a point.
type PointKeys struct {
	Point Point
	Phase Phase
	Arg   []KeyInfo // of the frame's argument
	Ask   []KeyInfo // of the payload of a result with next 1: exactly one
	Reply []KeyInfo // of the payload of a result with next 0, beside intents
}

// Records is the table of value records that cross at points, beside those of
// describe and configure. (It is a function for the reason that Intents is.)
func Records() []PointKeys {
	node := []KeyInfo{{"node", "string", "name of the node that the pod was given", true}}
	group := []KeyInfo{{"group", "map", "kind (PodGroup or CompositePodGroup), name, namespace, uid, spec and labels of the pod group", true}, {"pods", "list of maps", "uid, namespace, name, priority and labels of its unscheduled pods", true}}
	ask := []KeyInfo{
		{"candidates", "int", "the next nodes, from this place among those that preemption may help on: they are the next frame's nodes", false},
		{"nodes", "list of strings", "these nodes: they are the next frame's nodes; names of no node are left out", false},
		{"dry_run", "list of maps", "node, and remove, a list of maps of node and uid: would the pod fit the node without those pods?", false},
	}
	step := []KeyInfo{{"answers", "list of maps", "to dry_run: code and reasons, in the order of the questions", false}}
	return []PointKeys{
		{QueueingHint, Whole, []KeyInfo{{"event", "string", "name of the event", true}, {"old", "map", "the object before; null where there is none", true}, {"new", "map", "the object after; null where there is none", true}}, nil, nil},
		{QueueKey, Whole, nil, nil, []KeyInfo{{"key", "int", "pods with a lower one come first", true}}},
		{PostFilter, Begin, []KeyInfo{{"candidates", "int", "number of nodes that preemption may help on", true}}, ask, []KeyInfo{{"node", "string", "the node that the pod is nominated to", false}}},
		{PostFilter, Step, step, ask, []KeyInfo{{"node", "string", "the node that the pod is nominated to", false}}},
		{Reserve, Whole, node, nil, nil},
		{Unreserve, Whole, node, nil, nil},
		{Permit, Whole, node, nil, []KeyInfo{{"timeout_ns", "int", "with wait: how long at most", false}}},
		{PreBindPreFlight, Whole, node, nil, nil},
		{PreBind, Whole, node, nil, nil},
		{Bind, Whole, node, nil, nil},
		{PostBind, Whole, node, nil, nil},
		{SignPod, Whole, nil, nil, []KeyInfo{{"key", "string", "pods are alike only if theirs are equal, too", false}}},
		{PodGroupPostFilter, Begin, group, []KeyInfo{{"nodes", "list of strings", "these nodes: they are the next frame's nodes; names of no node are left out", false}, {"dry_run", "list of maps", "node and uid of pods: would the group fit without them?", false}}, []KeyInfo{{"nodes", "map", "the node that each pod, by UID, is nominated to", false}}},
		{PodGroupPostFilter, Step, []KeyInfo{{"answers", "list of maps", "to dry_run: one, of code, reasons, and nodes, a map of which pod by UID would get which node", false}}, []KeyInfo{{"nodes", "list of strings", "as in begin", false}, {"dry_run", "list of maps", "as in begin", false}}, []KeyInfo{{"nodes", "map", "the node that each pod, by UID, is nominated to", false}}},
		{GeneratePlacements, Begin, group, nil, nil},
		{GeneratePlacements, End, nil, nil, []KeyInfo{{"placements", "list of maps", "name, which no other has, and nodes, a list of names; none is no placement", true}}},
		{ScorePlacement, Begin, append(group[:1:1], KeyInfo{"placement", "string", "name", true}, KeyInfo{"assignments", "list of maps", "uid and node of each pod", true}), nil, nil},
		{ScorePlacement, End, nil, nil, []KeyInfo{{"score", "int", "any number", true}}},
		{NormalizePlacementScore, Whole, append(group[:1:1], KeyInfo{"scores", "list of ints", "raw, one a placement", true}), nil, []KeyInfo{{"scores", "list of ints", "0 to 100, in the same order", true}}},
	}
}
