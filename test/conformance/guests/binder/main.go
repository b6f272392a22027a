// SPDX-License-Identifier: Apache-2.0

// Command binder is a guest for tests: it does what its config says, good or
// bad, at the points from Reserve to PostBind, and tells of each in an Event.
package main

import (
	"strings"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
)

func main() {}

func init() {
	berth.Register(&berth.Policy{
		Name:    "binder",
		Version: "1",
		Reads:   []berth.Section{berth.PodIdentity, berth.PodLabels, berth.NodePods},
		Intents: []berth.Intent{
			berth.IntentAllow, berth.IntentReject, berth.IntentEvent, berth.IntentMetric, berth.IntentPatch, berth.IntentBind,
		},
	}, &binder{})
}

type binder struct {
	tag     string
	reserve string
	permit  string
	timeout int64
	size    int64
	flight  string
	preBind string
	bind    string
	at, how string
	keeps   bool
	counts  bool
}

// Config implements berth.ConfigPlugin.
func (b *binder) Config() []berth.Property {
	return []berth.Property{
		berth.Bind("tag", &b.tag, berth.String()).Default("1").Doc("what the version calls itself"),
		berth.Bind("reserve", &b.reserve, berth.String()).Doc("what Reserve answers"),
		berth.Bind("permit", &b.permit, berth.String()).Doc("what Permit answers"),
		berth.Bind("timeout", &b.timeout, berth.Int()).Doc("for how many nanoseconds it waits"),
		berth.Bind("size", &b.size, berth.Int()).Doc("pods of a gang"),
		berth.Bind("flight", &b.flight, berth.String()).Doc("what PreBindPreFlight answers"),
		berth.Bind("preBind", &b.preBind, berth.String()).Doc("what PreBind does"),
		berth.Bind("bind", &b.bind, berth.String()).Default("skip").Doc("what Bind does"),
		berth.Bind("at", &b.at, berth.String()).Doc("the point where something goes wrong for pods with the label bad"),
		berth.Bind("how", &b.how, berth.String()).Default("panic").Doc("how: panic, loop or error"),
		berth.Bind("keeps", &b.keeps, berth.Bool()).Doc("PreFilter keeps a state, which the points from Reserve on need"),
		berth.Bind("counts", &b.counts, berth.Bool()).Doc("counts Reserve and Unreserve by pod"),
	}
}

var (
	bad    = berth.NewSymbol("bad")
	gang   = berth.NewSymbol("gang")
	opens  = berth.NewSymbol("opens")
	closes = berth.NewSymbol("closes")
)

var failed = berth.Error("told to fail")

// told tells of a call, which goes wrong if that is wanted.
func (b *binder) told(c *berth.Cycle, point string, pod berth.Pod) *berth.Status {
	c.Event(berth.EventNormal, point, b.tag)
	c.Count("calls", 1)
	if b.counts && (point == "Reserve" || point == "Unreserve") {
		c.Count(strings.ReplaceAll(strings.ToLower(point+"_"+pod.Name()), "-", "_"), 1)
	}
	return b.trouble(point, pod)
}

var sink int

func (b *binder) trouble(point string, pod berth.Pod) *berth.Status {
	if b.at != point || !pod.HasLabel(bad) {
		return nil
	}
	switch b.how {
	case "panic":
		panic("told to panic")
	case "loop":
		for {
			sink++
		}
	}
	return failed
}

type kept struct{ name string }

// Clone implements berth.State.
func (k *kept) Clone() berth.State { return k }

// PreFilter implements berth.PreFilterPlugin.
func (b *binder) PreFilter(c *berth.Cycle, pod berth.Pod) (*berth.NodeSet, *berth.Status) {
	if b.keeps {
		c.SetState(&kept{string([]byte(pod.Name()))})
	}
	return nil, nil
}

var _ berth.PreFilterPlugin = &binder{}

// state says whether the cycle's state is this pod's.
func (b *binder) state(c *berth.Cycle, pod berth.Pod) *berth.Status {
	if !b.keeps {
		return nil
	}
	k, s := berth.StateOf[*kept](c)
	if s == nil && k.name != pod.Name() {
		return berth.Error("another pod's state")
	}
	return s
}

// answer is a status by its name.
func answer(what string) *berth.Status {
	switch what {
	case "reject":
		return berth.Unschedulable("told to reject")
	case "unresolvable":
		return berth.UnschedulableAndUnresolvable("told to reject for good")
	case "pending":
		return berth.Pending("told to be pending")
	case "error":
		return failed
	case "skip":
		return berth.Skip()
	}
	return nil
}

// Reserve implements berth.ReservePlugin.
func (b *binder) Reserve(c *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	if s := b.told(c, "Reserve", pod); s != nil {
		return s
	}
	if s := b.state(c, pod); s != nil {
		return s
	}
	if node.Name() == "" {
		return berth.Error("no node")
	}
	return answer(b.reserve)
}

// Unreserve implements berth.ReservePlugin. One pod of a gang takes the others
// with it.
func (b *binder) Unreserve(c *berth.Cycle, pod berth.Pod, _ string) {
	b.told(c, "Unreserve", pod)
	if id, ok := pod.LabelID(gang); ok {
		for _, uid := range held(c, id.String()) {
			c.Reject(uid, "another pod of the gang failed")
		}
	}
}

// held are the pods that wait for this policy, those of a gang or all.
func held(c *berth.Cycle, ofGang string) (uids []string) {
	list, s := c.Waiting()
	if s != nil {
		panic(s.Reason())
	}
	for p := range list.All() {
		if p.Get("held").Bool() && (ofGang == "" || p.Get("labels", "gang").Text() == ofGang) {
			uids = append(uids, p.Get("uid").Text())
		}
	}
	return uids
}

// Permit implements berth.PermitPlugin.
func (b *binder) Permit(c *berth.Cycle, pod berth.Pod, _ berth.Node) (*berth.Status, int64) {
	if s := b.told(c, "Permit", pod); s != nil {
		return s, 0
	}
	if s := b.state(c, pod); s != nil {
		return s, 0
	}
	switch {
	case pod.HasLabel(opens):
		for _, uid := range held(c, "") {
			c.Allow(uid)
		}
		return nil, 0
	case pod.HasLabel(closes):
		for _, uid := range held(c, "") {
			c.Reject(uid, "told to reject "+b.tag)
		}
		return nil, 0
	}
	switch b.permit {
	case "wait":
		return berth.Wait("told to wait"), b.timeout
	case "both":
		c.Allow(pod.UID())
		return berth.Wait("told to wait"), b.timeout
	case "gang":
		id, _ := pod.LabelID(gang)
		others := held(c, id.String())
		if int64(len(others)+1) < b.size {
			return berth.Wait("the gang is not complete"), b.timeout
		}
		for _, uid := range others {
			c.Allow(uid)
		}
		return nil, 0
	}
	return answer(b.permit), 0
}

// PreBindPreFlight implements berth.PreBindPreFlightPlugin.
func (b *binder) PreBindPreFlight(c *berth.Cycle, pod berth.Pod, _ string) *berth.Status {
	if s := b.trouble("PreBindPreFlight", pod); s != nil {
		return s
	}
	if s := b.state(c, pod); s != nil {
		return s
	}
	return answer(b.flight)
}

// PreBind implements berth.PreBindPlugin.
func (b *binder) PreBind(c *berth.Cycle, pod berth.Pod, node string) *berth.Status {
	if b.preBind == "patch" {
		c.PatchLabels("pre-bind", b.tag)
		c.PatchAnnotations("node", node)
		c.RemoveLabels("remove")
	}
	if s := b.told(c, "PreBind", pod); s != nil {
		return s
	}
	if s := b.state(c, pod); s != nil {
		return s
	}
	return answer(b.preBind)
}

// Bind implements berth.BindPlugin.
func (b *binder) Bind(c *berth.Cycle, pod berth.Pod, _ string) *berth.Status {
	switch b.bind {
	case "bind":
		c.BindPod("bound-by", b.tag)
	case "twice":
		c.BindPod()
		c.BindPod()
	case "both":
		c.BindPod()
		return berth.Skip()
	}
	if s := b.told(c, "Bind", pod); s != nil {
		return s
	}
	if s := b.state(c, pod); s != nil {
		return s
	}
	return answer(b.bind)
}

// PostBind implements berth.PostBindPlugin.
func (b *binder) PostBind(c *berth.Cycle, pod berth.Pod, _ string) {
	b.told(c, "PostBind", pod)
}
