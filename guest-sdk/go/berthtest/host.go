// SPDX-License-Identifier: Apache-2.0

package berthtest

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/guest-sdk/go"
	"github.com/berth-scheduler/berth/guest-sdk/go/internal/native"
)

// Host plays the scheduler for one policy. It may be used by one goroutine; the
// hosts of parallel tests don't disturb each other.
type Host struct {
	t                 testing.TB
	guest             native.Guest
	description       *abi.Description
	nodeMask, podMask uint32
	cycles            uint64
	now               int64
	nodes             uint32
	logs              []string
	world             world
	asked             []Intent
	waiting           []waitingPod
}

// New returns a host of a policy and its plugin, configured as an operator
// would. The test fails if the policy refuses the config. Give each host a
// plugin of its own.
func New(t testing.TB, policy *berth.Policy, plugin any, config map[string]any) *Host {
	t.Helper()
	h := start(t, policy, plugin)
	if err := h.Configure(config); err != nil {
		t.Fatalf("berthtest: configure: %v", err)
	}
	return h
}

// TryConfig returns the policy's error for a config, nil if it takes it.
func TryConfig(t testing.TB, policy *berth.Policy, plugin any, config map[string]any) error {
	t.Helper()
	return start(t, policy, plugin).Configure(config)
}

func start(t testing.TB, policy *berth.Policy, plugin any) *Host {
	t.Helper()
	if problem := checkMethods(plugin); problem != "" {
		t.Fatalf("berthtest: %s", problem)
	}
	h := &Host{t: t, guest: native.NewGuest(policy, plugin), now: time.Now().UnixNano()}
	r := h.call(request{point: abi.Describe})
	d, err := abi.ParseDescription(r.payload)
	if err != nil {
		t.Fatalf("berthtest: %v", err)
	}
	h.description = d
	h.nodeMask, h.podMask = abi.SectionMasks(d.Reads)
	if d.Pure {
		h.now = 0
	}
	return h
}

// checkMethods finds methods that are named like a point's but have another
// type. The SDK can't: it would take them for methods of the author's own.
func checkMethods(plugin any) string {
	v := reflect.ValueOf(plugin)
	for _, i := range []reflect.Type{
		reflect.TypeFor[berth.ConfigPlugin](), reflect.TypeFor[berth.ConfiguredPlugin](),
		reflect.TypeFor[berth.PreFilterPlugin](), reflect.TypeFor[berth.PreFilterNodesPlugin](),
		reflect.TypeFor[berth.PreFilterExtensions](), reflect.TypeFor[berth.FilterPlugin](),
		reflect.TypeFor[berth.PreScorePlugin](), reflect.TypeFor[berth.PreScoreNodesPlugin](),
		reflect.TypeFor[berth.ScorePlugin](), reflect.TypeFor[berth.NormalizeScorePlugin](),
		reflect.TypeFor[berth.PreEnqueuePlugin](), reflect.TypeFor[berth.QueueingHintPlugin](),
		reflect.TypeFor[berth.QueueKeyPlugin](), reflect.TypeFor[berth.SignPlugin](),
		reflect.TypeFor[berth.PostFilterPlugin](), reflect.TypeFor[berth.PodGroupPostFilterPlugin](),
		reflect.TypeFor[berth.ReservePlugin](), reflect.TypeFor[berth.PermitPlugin](),
		reflect.TypeFor[berth.PreBindPreFlightPlugin](), reflect.TypeFor[berth.PreBindPlugin](),
		reflect.TypeFor[berth.BindPlugin](), reflect.TypeFor[berth.PostBindPlugin](),
		reflect.TypeFor[berth.PlacementGeneratePlugin](), reflect.TypeFor[berth.PlacementScorePlugin](),
		reflect.TypeFor[berth.NormalizePlacementScorePlugin](),
	} {
		var missing, found []string
		for n := range i.NumMethod() {
			want := i.Method(n)
			m := v.MethodByName(want.Name)
			switch {
			case !m.IsValid():
				missing = append(missing, want.Name)
			case m.Type() != want.Type:
				return "method " + want.Name + ": want " + want.Type.String() + ", got " + m.Type().String()
			default:
				found = append(found, want.Name)
			}
		}
		if len(found) > 0 && len(missing) > 0 {
			return i.Name() + ": want " + strings.Join(missing, ", ") + " beside " + strings.Join(found, ", ")
		}
	}
	return ""
}

// Configure gives the policy a config, as a change of its policy.yaml does. The
// error is the policy's.
func (h *Host) Configure(config map[string]any) error {
	h.t.Helper()
	rec, err := abi.EncodeValue(config)
	if err != nil {
		h.t.Fatalf("berthtest: %v", err)
	}
	at := native.Alloc(uint32(len(rec)))
	defer native.Free(at)
	copy(native.Bytes(at, uint32(len(rec))), rec)
	r := h.call(request{point: abi.Configure, arg: at, argLen: uint32(len(rec))})
	if v := r.verdict; v.Code != Success {
		return configureError(v.Reason)
	}
	return nil
}

type configureError string

func (e configureError) Error() string { return string(e) }

// Points are the wire names of the points that the policy implements.
func (h *Host) Points() []string { return slices.Clone(h.description.Points) }

// Schema is the JSON schema of the policy's config, nil if it takes none.
func (h *Host) Schema() any { return h.description.Schema }

// SetNow sets the clock that cycles begin with from now on. A pure policy sees
// none.
func (h *Host) SetNow(now time.Time) {
	if !h.description.Pure {
		h.now = now.UnixNano()
	}
}

// SetNodeCount sets what Cycle.Nodes says in cycles from now on. A pure policy
// sees none.
func (h *Host) SetNodeCount(n int) {
	if !h.description.Pure {
		h.nodes = uint32(n)
	}
}

// Logs are the lines that the policy logged: "info: message key=value".
func (h *Host) Logs() []string { return slices.Clone(h.logs) }

func (h *Host) implements(p abi.Point) bool {
	return slices.Contains(h.description.Points, p.String())
}

// Filter runs a cycle up to Filter: PreFilter, where the policy has it, then
// Filter for each node that PreFilter leaves. The verdicts are in the order of
// the nodes. A rejection by PreFilter is every node's; a node that it leaves out
// has a verdict that says so.
func (h *Host) Filter(pod *PodBuilder, nodes ...*NodeBuilder) []Verdict {
	h.t.Helper()
	c := h.Cycle(pod)
	defer c.End()
	return h.filter(c, nodes)
}

// LeftOut is the reason of a node that PreFilter's node set doesn't hold.
const LeftOut = "left out by PreFilter"

func (h *Host) filter(c *Cycle, nodes []*NodeBuilder) []Verdict {
	h.t.Helper()
	verdicts := make([]Verdict, len(nodes))
	skip := !h.implements(abi.Filter)
	asked, at := nodes, []int(nil)
	if h.implements(abi.PreFilter) {
		r := c.PreFilter(nodes...)
		skip = skip || r.Code == Skip
		if r.Code != Success && r.Code != Skip {
			for i := range verdicts {
				verdicts[i] = r.Verdict
			}
			return verdicts
		}
		asked = nil
		for i, n := range nodes {
			if r.All || slices.Contains(r.Nodes, n.name) {
				asked, at = append(asked, n), append(at, i)
			} else {
				verdicts[i] = Verdict{UnschedulableAndUnresolvable, LeftOut}
			}
		}
	}
	if skip {
		return verdicts
	}
	for i, v := range c.Filter(asked...) {
		if at != nil {
			i = at[i]
		}
		verdicts[i] = v
	}
	return verdicts
}

// Feasible are the names of the nodes that pass Filter.
func (h *Host) Feasible(pod *PodBuilder, nodes ...*NodeBuilder) []string {
	h.t.Helper()
	var names []string
	for i, v := range h.Filter(pod, nodes...) {
		if v.Code == Success {
			names = append(names, nodes[i].name)
		}
	}
	return names
}

// Score runs a cycle up to Score over nodes that are taken to be feasible, and
// returns the raw scores in the order of the nodes. The test fails if the policy
// answers anything but Success, or Skip in PreScore: then all scores are 0.
func (h *Host) Score(pod *PodBuilder, nodes ...*NodeBuilder) []int64 {
	h.t.Helper()
	c := h.Cycle(pod)
	defer c.End()
	return h.score(c, nodes)
}

func (h *Host) score(c *Cycle, nodes []*NodeBuilder) []int64 {
	h.t.Helper()
	if h.implements(abi.PreFilter) {
		if r := c.PreFilter(nodes...); r.Code != Success && r.Code != Skip {
			h.t.Fatalf("berthtest: pre_filter: %v", r.Verdict)
		}
	}
	if h.implements(abi.PreScore) {
		switch v := c.PreScore(nodes...); v.Code {
		case Success:
		case Skip:
			return make([]int64, len(nodes))
		default:
			h.t.Fatalf("berthtest: pre_score: %v", v)
		}
	}
	return c.Score(nodes...)
}

// NormalizeScore is Score followed by the policy's normalisation: the result is
// 0 to 100, else the test fails.
func (h *Host) NormalizeScore(pod *PodBuilder, nodes ...*NodeBuilder) []int64 {
	h.t.Helper()
	c := h.Cycle(pod)
	defer c.End()
	return c.NormalizeScore(h.score(c, nodes)...)
}

// Ranking are the names of the nodes from the highest normalised score to the
// lowest, equal ones in the order given.
func (h *Host) Ranking(pod *PodBuilder, nodes ...*NodeBuilder) []string {
	h.t.Helper()
	scores := h.NormalizeScore(pod, nodes...)
	order := make([]int, len(nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(scores[b] - scores[a]) })
	names := make([]string, len(nodes))
	for i, n := range order {
		names[i] = nodes[n].name
	}
	return names
}
