// SPDX-License-Identifier: Apache-2.0

// Gang places groups of pods as a whole or not at all.
package main

import (
	"strconv"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
)

var policy = berth.Policy{
	Name:    "gang",
	Version: "1.0.0",
	Reads: []berth.Section{
		berth.PodLabels, berth.PodIdentity, berth.PodResources, berth.PodGroup, berth.PodNodeSelector, berth.PodNodeAffinity,
		berth.PodTolerations, berth.NodeLabels, berth.NodeTaints, berth.NodePods, berth.NodeResources,
	},
	Intents: []berth.Intent{berth.IntentAllow, berth.IntentReject, berth.IntentState, berth.IntentEvict},
}

func init() { berth.Register(&policy, &gang{}) }

// gang is the plugin; its fields are its config.
type gang struct {
	nameLabel berth.Symbol
	sizeLabel berth.Symbol
	timeout   int64
	pause     int64
}

var (
	_ berth.PreEnqueuePlugin     = &gang{}
	_ berth.QueueKeyPlugin       = &gang{}
	_ berth.PreFilterNodesPlugin = &gang{}
	_ berth.PostFilterPlugin     = &gang{}
	_ berth.ReservePlugin        = &gang{}
	_ berth.PermitPlugin         = &gang{}
)

// Reasons.
var (
	badSize  = berth.UnschedulableAndUnresolvable("the gang's size is not a number above 0")
	notYet   = berth.Unschedulable("another gang is being placed")
	pausing  = berth.Unschedulable("the gang could not be placed as a whole a moment ago")
	noRoom   = berth.Unschedulable("there is no room for the whole gang")
	neverFit = berth.UnschedulableAndUnresolvable("there is no room for the whole gang, even without pods of lower priority")
	waiting  = berth.Wait("waits for the rest of its gang")
	noHelp   = berth.Unschedulable("no pods of lower priority make room for the gang")
)

const apart = "the gang can't be placed as a whole"

// Config is the policy's config.
func (p *gang) Config() []berth.Property {
	return []berth.Property{
		berth.Bind("nameLabel", &p.nameLabel, berth.Name()).Default(berth.NewSymbol("berth.dev/gang")).
			Doc("pod label with the name of the pod's gang in its namespace"),
		berth.Bind("sizeLabel", &p.sizeLabel, berth.Name()).Default(berth.NewSymbol("berth.dev/gang-size")).
			Doc("pod label with the number of pods that must have a node before any of them starts"),
		berth.Bind("timeoutSeconds", &p.timeout, berth.IntBetween(1, 900)).Default(60).
			Doc("how long placed pods hold their nodes for the rest of the gang"),
		berth.Bind("pauseSeconds", &p.pause, berth.IntBetween(1, 900)).Default(5).
			Doc("how long a gang that could not be placed lets others go first"),
	}
}

// Keys of what is kept in the host.
const (
	placing = "placing" // the gang that holds nodes; one at a time, so that two can't block each other
	paused  = "paused/" // and the gang: it lets others go first
	since   = "since/"  // and the gang: when its first pod came
)

// identity names a pod's gang: namespace and name; empty where it is in none.
func (p *gang) identity(pod berth.Pod) string {
	name, ok := pod.Label(p.nameLabel)
	if !ok {
		name = pod.Group()
	}
	if name == "" {
		return ""
	}
	return pod.Namespace().String() + "/" + name
}

// size is how many pods of the gang must be placed together; 0 if that can't be
// read.
func (p *gang) size(c *berth.Cycle, pod berth.Pod) int64 {
	if text, ok := pod.Label(p.sizeLabel); ok {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 1 {
			return 0
		}
		return n
	}
	if name := pod.Group(); name != "" {
		if group, s := c.Group(pod.Namespace().String(), name); s == nil {
			return group.Get("spec", "schedulingPolicy", "gang", "minCount").Int()
		}
	}
	return 0
}

// PreEnqueue notes when a gang's first pod came.
func (p *gang) PreEnqueue(c *berth.Cycle, pod berth.Pod) *berth.Status {
	name := p.identity(pod)
	if name == "" {
		return nil
	}
	if first, s := c.Kept(since + name); s == nil && !first.Exists() {
		c.Keep(since+name, pod.Created(), day)
	}
	return nil
}

const day = 24 * 3600 * berth.Second

// QueueKey puts pods of higher priority first, then those whose gang came first,
// so that the pods of a gang come one after another.
func (p *gang) QueueKey(c *berth.Cycle, pod berth.Pod) int64 {
	came := pod.Created()
	if name := p.identity(pod); name != "" {
		if first, s := c.Kept(since + name); s == nil && first.Exists() {
			came = first.Int()
		}
	}
	return (1<<31-1-int64(pod.Priority()))<<31 | came&(1<<31-1)
}

// attempt is what one attempt to place a pod knows of its gang.
type attempt struct {
	name   string
	size   int64
	placed int64 // pods of the gang on nodes, assumed ones included
	room   int64 // how many pods like this one fit at most
	most   int64 // the same without pods of lower priority
	jobs   []member
}

// member is a pod of lower priority that belongs to a gang.
type member struct {
	gang   string
	victim berth.Victim
}

// Clone copies what AddPod and RemovePod could change, were there any.
func (a *attempt) Clone() berth.State { copied := *a; return &copied }

// PreFilterBegin turns the pod away while it isn't its gang's turn.
func (p *gang) PreFilterBegin(c *berth.Cycle, pod berth.Pod) *berth.Status {
	name := p.identity(pod)
	if name == "" {
		return berth.Skip()
	}
	a := &attempt{name: name, size: p.size(c, pod)}
	if a.size == 0 {
		return badSize
	}
	if other, s := c.Kept(placing); s != nil {
		return s
	} else if other.Exists() && other.Text() != name {
		return notYet
	}
	if pause, s := c.Kept(paused + name); s != nil {
		return s
	} else if pause.Exists() {
		return pausing
	}
	c.SetState(a)
	return nil
}

// PreFilterNode counts the gang's pods on a node, and how many more fit.
func (p *gang) PreFilterNode(c *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	a, s := berth.StateOf[*attempt](c)
	if s != nil {
		return s
	}
	for other := range node.Pods().All() {
		name := p.gangOf(other)
		if name == a.name {
			a.placed++
		} else if name != "" && other.Priority() < pod.Priority() {
			a.jobs = append(a.jobs, member{name, berth.Victim{Node: clone(node.Name()), UID: clone(other.UID()), Priority: other.Priority(), Started: other.Started()}})
		}
	}
	if _, tainted := pod.UntoleratedTaint(node); tainted || !pod.Selects(node) {
		return nil
	}
	a.room += fits(pod, node, everyPod)
	a.most += fits(pod, node, pod.Priority())
	return nil
}

// clone keeps a text over the call.
func clone(s string) string { return string([]byte(s)) }

// gangOf is the gang of a pod on a node.
func (p *gang) gangOf(pod berth.NodePod) string {
	name, ok := pod.Labels().Value(p.nameLabel)
	if !ok || name == "" {
		return ""
	}
	return pod.Namespace().String() + "/" + name
}

// everyPod is a priority above that of any pod.
const everyPod = 1<<31 - 1

// fits is how many pods that ask for what the pod asks for a node has room for.
// With a priority, the room of its pods of lower priority counts as free.
func fits(pod berth.Pod, node berth.Node, lower int32) int64 {
	slots := node.Resource(berth.PodCount).Free()
	if lower != everyPod {
		for other := range node.Pods().All() {
			if other.Priority() < lower {
				slots++
			}
		}
	}
	for r := range pod.Resources().All() {
		if r.Request() > 0 {
			slots = min(slots, max(free(node, r.Name(), lower), 0)/r.Request())
		}
	}
	return max(slots, 0)
}

// free is what a node has free of a resource.
func free(node berth.Node, name berth.ID, lower int32) (amount int64) {
	for r := range node.Resources().All() {
		if r.Name() == name {
			amount = r.Free()
		}
	}
	if lower == everyPod {
		return amount
	}
	for other := range node.Pods().All() {
		if other.Priority() >= lower {
			continue
		}
		for q := range other.Requests().All() {
			if q.Name() == name {
				amount += q.Value()
			}
		}
	}
	return amount
}

// PreFilterEnd turns the pod away if its gang can't be placed as a whole. It is an
// upper bound: not all that keeps a pod off a node is known yet.
func (p *gang) PreFilterEnd(c *berth.Cycle, _ berth.Pod) *berth.Status {
	a, s := berth.StateOf[*attempt](c)
	switch {
	case s != nil:
		return s
	case a.placed+a.most < a.size:
		return neverFit
	case a.placed+a.room < a.size:
		return noRoom
	}
	return nil
}

// PostFilter evicts pods of lower priority, of gangs all pods or none. Without
// any the pods of this gang that have a node give it back.
func (p *gang) PostFilter(c *berth.PostFilterCycle, pod berth.Pod) (*berth.Nomination, *berth.Status) {
	a, s := berth.StateOf[*attempt](c.Cycle)
	if s != nil {
		return nil, noHelp // the pod isn't in a gang, or it isn't its turn
	}
	if s := c.MayPreempt(); s != nil {
		return nil, s
	}
	var nodes []string
	var choices [][]berth.Victim
	for node := range c.Candidates() {
		name := clone(node.Name())
		if victims, s := c.SelectVictims(node, nil); s == nil {
			nodes, choices = append(nodes, name), append(choices, a.whole(victims))
		}
	}
	if best := berth.PickNode(choices); best >= 0 {
		return &berth.Nomination{Node: nodes[best], Victims: choices[best]}, nil
	}
	p.disband(c.Cycle, a.name, false)
	return nil, noHelp
}

// whole adds the rest of the gangs of victims.
func (a *attempt) whole(victims []berth.Victim) []berth.Victim {
	gangs, taken := map[string]bool{}, map[string]bool{}
	for _, v := range victims {
		taken[v.UID] = true
	}
	for _, m := range a.jobs {
		if taken[m.victim.UID] {
			gangs[m.gang] = true
		}
	}
	for _, m := range a.jobs {
		if gangs[m.gang] && !taken[m.victim.UID] {
			victims = append(victims, m.victim)
		}
	}
	return victims
}

// Reserve has nothing to note: the scheduler counts the pod as placed.
func (p *gang) Reserve(*berth.Cycle, berth.Pod, berth.Node) *berth.Status { return nil }

// Unreserve follows when a pod of the gang could not keep its node: its time was
// over, or it was rejected. Then none keeps one.
func (p *gang) Unreserve(c *berth.Cycle, pod berth.Pod, _ string) {
	if name := p.identity(pod); name != "" {
		p.disband(c, name, true)
	}
}

// disband gives back the nodes that the gang's waiting pods hold, and, if it held
// any, lets other gangs go first for a while.
func (p *gang) disband(c *berth.Cycle, name string, held bool) {
	p.eachWaiting(c, name, func(uid string) {
		c.Reject(uid, apart)
		held = true
	})
	if !held {
		return
	}
	c.Keep(paused+name, true, p.pause*berth.Second)
	if holder, s := c.Kept(placing); s == nil && holder.Text() == name {
		c.Forget(placing)
	}
}

// Permit holds the pod until enough of its gang have a node.
func (p *gang) Permit(c *berth.Cycle, pod berth.Pod, _ berth.Node) (*berth.Status, int64) {
	name := p.identity(pod)
	if name == "" {
		return nil, 0
	}
	a, s := berth.StateOf[*attempt](c)
	if s != nil {
		return s, 0
	}
	if a.placed+1 < a.size {
		timeout := p.timeout * berth.Second
		c.Keep(placing, name, timeout)
		return waiting, timeout
	}
	p.eachWaiting(c, name, c.Allow)
	c.Forget(placing)
	return nil, 0
}

// eachWaiting calls f with the UID of each pod of a gang that this policy holds.
func (p *gang) eachWaiting(c *berth.Cycle, name string, f func(uid string)) {
	list, s := c.Waiting()
	if s != nil {
		return
	}
	for w := range list.All() {
		member := w.Get("labels", p.nameLabel.String()).Text()
		if w.Get("held").Bool() && w.Get("namespace").Text()+"/"+member == name {
			f(w.Get("uid").Text())
		}
	}
}

func main() {}
