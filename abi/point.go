// SPDX-License-Identifier: Apache-2.0

package abi

// Point is an extension point of the scheduling framework, by its number in a
// call frame.
type Point uint16

// Points and the two calls of a policy's life (describe, configure), which use
// the same frame.
const (
	Describe Point = iota
	Configure
	PreEnqueue
	QueueingHint
	QueueKey
	PreFilter
	AddPod
	RemovePod
	Filter
	PostFilter
	PreScore
	Score
	NormalizeScore
	Reserve
	Unreserve
	Permit
	PreBindPreFlight
	PreBind
	Bind
	PostBind
	SignPod
	PodGroupPostFilter
	GeneratePlacements
	ScorePlacement
	NormalizePlacementScore
)

// Phase says which part of a batched or stepped call a frame is.
type Phase uint16

// Phases. Points without phases use Whole.
const (
	Whole Phase = iota // the call is complete in itself
	Begin              // before the first chunk; no nodes
	Chunk              // some of the nodes
	End                // after the last chunk; no nodes
	Apply              // normalize_score only: the normalised scores of some nodes
	Step               // post_filter only: the host's answer to what the guest asked
)

// Item says what a call's result holds for each node of its frame.
type Item uint8

// Kinds of items.
const (
	NoItem Item = iota
	VerdictItem
	ScoreItem
)

// PointInfo is a row of the table of points.
type PointInfo struct {
	Point  Point
	Name   string // wire name = export name
	Phases []Phase
	Item   Item   // what Whole, Chunk and Apply results hold for each node
	Codes  []Code // codes a result (or item, where there are items) may carry
	Doc    string
}

// Points is the table of points, indexed by Point.
var Points = []PointInfo{
	{Describe, "describe", []Phase{Whole}, NoItem, []Code{Success}, "returns the describe document"},
	{Configure, "configure", []Phase{Whole}, NoItem, []Code{Success, Error}, "takes the operator's config"},
	{PreEnqueue, "pre_enqueue", []Phase{Whole}, NoItem, []Code{Success, UnschedulableAndUnresolvable, Error}, "gates a pod before it is queued"},
	{QueueingHint, "queueing_hint", []Phase{Whole}, NoItem, []Code{Success, Skip, Error}, "says whether an event may help a rejected pod"},
	{QueueKey, "queue_key", []Phase{Whole}, NoItem, []Code{Success, Error}, "gives a pod its sort key"},
	{PreFilter, "pre_filter", []Phase{Whole, Begin, Chunk, End}, VerdictItem, []Code{Success, Skip, Unschedulable, UnschedulableAndUnresolvable, Error}, "prepares cycle state and may narrow the set of nodes"},
	{AddPod, "add_pod", []Phase{Whole}, NoItem, []Code{Success, Error}, "updates cycle state as if a pod were on a node"},
	{RemovePod, "remove_pod", []Phase{Whole}, NoItem, []Code{Success, Error}, "updates cycle state as if a pod had left a node"},
	{Filter, "filter", []Phase{Whole}, VerdictItem, []Code{Success, Unschedulable, UnschedulableAndUnresolvable, Error}, "says whether a pod fits nodes"},
	{PostFilter, "post_filter", []Phase{Begin, Step}, NoItem, []Code{Success, Unschedulable, UnschedulableAndUnresolvable, Error}, "tries to make an unschedulable pod schedulable"},
	{PreScore, "pre_score", []Phase{Whole, Begin, Chunk, End}, VerdictItem, []Code{Success, Skip, Error}, "prepares scoring of the nodes that passed"},
	{Score, "score", []Phase{Whole}, ScoreItem, []Code{Success, Error}, "ranks nodes"},
	{NormalizeScore, "normalize_score", []Phase{Begin, Chunk, End, Apply}, ScoreItem, []Code{Success, Error}, "maps raw scores to 0..100"},
	{Reserve, "reserve", []Phase{Whole}, NoItem, []Code{Success, Unschedulable, UnschedulableAndUnresolvable, Pending, Error}, "notes that a pod was given a node"},
	{Unreserve, "unreserve", []Phase{Whole}, NoItem, []Code{Success}, "undoes reserve; idempotent"},
	{Permit, "permit", []Phase{Whole}, NoItem, []Code{Success, Wait, Unschedulable, UnschedulableAndUnresolvable, Pending, Error}, "allows, delays or rejects a pod before binding"},
	{PreBindPreFlight, "pre_bind_pre_flight", []Phase{Whole}, NoItem, []Code{Success, Skip, Error}, "says whether pre_bind has work for a pod"},
	{PreBind, "pre_bind", []Phase{Whole}, NoItem, []Code{Success, Unschedulable, UnschedulableAndUnresolvable, Error}, "asks for work before a pod is bound"},
	{Bind, "bind", []Phase{Whole}, NoItem, []Code{Success, Skip, Error}, "asks the host to bind a pod"},
	{PostBind, "post_bind", []Phase{Whole}, NoItem, []Code{Success}, "is told that a pod was bound"},
	{SignPod, "sign_pod", []Phase{Whole}, NoItem, []Code{Success, Unschedulable, Error}, "narrows a pod's batching signature"},
	{PodGroupPostFilter, "pod_group_post_filter", []Phase{Begin, Step}, NoItem, []Code{Success, Unschedulable, UnschedulableAndUnresolvable, Error}, "tries to make a pod group schedulable"},
	{GeneratePlacements, "generate_placements", []Phase{Begin, Chunk, End}, NoItem, []Code{Success, Skip, Unschedulable, Error}, "proposes sets of nodes for a pod group"},
	{ScorePlacement, "score_placement", []Phase{Begin, Chunk, End}, NoItem, []Code{Success, Error}, "ranks a placement"},
	{NormalizePlacementScore, "normalize_placement_score", []Phase{Whole}, NoItem, []Code{Success, Error}, "maps placement scores to 0..100"},
}

func (p Point) String() string {
	if int(p) < len(Points) {
		return Points[p].Name
	}
	return "point " + itoa(uint64(p))
}

// PointByName finds a point by its wire name.
func PointByName(name string) (Point, bool) {
	for i := range Points {
		if Points[i].Name == name {
			return Points[i].Point, true
		}
	}
	return 0, false
}

// PhaseNames are the wire names of the phases, indexed by Phase.
var PhaseNames = []string{"whole", "begin", "chunk", "end", "apply", "step"}

func (p Phase) String() string {
	if int(p) < len(PhaseNames) {
		return PhaseNames[p]
	}
	return "phase " + itoa(uint64(p))
}
