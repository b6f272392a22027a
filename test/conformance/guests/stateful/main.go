// SPDX-License-Identifier: Apache-2.0

// Command stateful is a guest for tests: it counts the pods of a group by zone
// before filtering, keeps the counts right under AddPod and RemovePod, and lets
// at most so many of a group into a zone.
package main

import berth "github.com/berth-scheduler/berth/guest-sdk/go"

func main() {}

func init() {
	berth.Register(&berth.Policy{
		Name:    "stateful",
		Version: "1",
		Reads:   []berth.Section{berth.NodeLabels, berth.NodePods, berth.PodLabels},
	}, &stateful{})
}

type stateful struct {
	most    int64
	answer  string
	at      string
	stray   bool
	leaveIn berth.Symbol
	raw     bool
	panicAt string
}

// Config implements berth.ConfigPlugin.
func (p *stateful) Config() []berth.Property {
	return []berth.Property{
		berth.Bind("most", &p.most, berth.Int()).Default(1).Doc("pods of a group in a zone"),
		berth.Bind("answer", &p.answer, berth.String()).Doc("what PreFilter or PreScore answers"),
		berth.Bind("at", &p.at, berth.Enum("begin", "end", "score")).Default("begin").Doc("where it answers that"),
		berth.Bind("stray", &p.stray, berth.Bool()).Doc("set no state"),
		berth.Bind("leaveIn", &p.leaveIn, berth.Name()).Doc("the only zone to consider"),
		berth.Bind("panicAt", &p.panicAt, berth.String()).Doc("where it panics for pods with the label bad"),
		berth.Bind("raw", &p.raw, berth.Bool()).Doc("NormalizeScore changes nothing"),
	}
}

var (
	group = berth.NewSymbol("group")
	bad   = berth.NewSymbol("bad")
)

// check panics where it is told to.
func (p *stateful) check(at string, pod berth.Pod) {
	if p.panicAt == at && pod.HasLabel(bad) {
		panic("told to panic")
	}
}

// counts are the pods of the group by zone.
type counts struct {
	fatal bool // to clone
	group berth.ID
	zones []zoneCount
}

type zoneCount struct {
	zone berth.ID
	pods int64
}

// Clone implements berth.State.
func (c *counts) Clone() berth.State {
	if c.fatal {
		panic("told to panic")
	}
	return &counts{c.fatal, c.group, append([]zoneCount(nil), c.zones...)}
}

// pods is the number of pods in a zone.
func (c *counts) pods(zone berth.ID) int64 {
	for _, z := range c.zones {
		if z.zone == zone {
			return z.pods
		}
	}
	return 0
}

func (c *counts) add(zone berth.ID, n int64) {
	for i := range c.zones {
		if c.zones[i].zone == zone {
			c.zones[i].pods += n
			return
		}
	}
	c.zones = append(c.zones, zoneCount{zone, n})
}

var (
	full     = berth.Unschedulable("the zone has enough pods of the group")
	told     = berth.Unschedulable("told to reject")
	forGood  = berth.UnschedulableAndUnresolvable("told to reject for good")
	mistaken = berth.Error("told to fail")
)

func (p *stateful) reply(at string) *berth.Status {
	if at != p.at {
		return nil
	}
	switch p.answer {
	case "skip":
		return berth.Skip()
	case "unschedulable":
		return told
	case "unresolvable":
		return forGood
	case "error":
		return mistaken
	}
	return nil
}

// PreFilterBegin implements berth.PreFilterNodesPlugin.
func (p *stateful) PreFilterBegin(c *berth.Cycle, pod berth.Pod) *berth.Status {
	p.check("begin", pod)
	if s := p.reply("begin"); s != nil {
		return s
	}
	if !p.stray {
		id, _ := pod.LabelID(group)
		c.SetState(&counts{fatal: p.panicAt == "clone" && pod.HasLabel(bad), group: id})
	}
	return nil
}

// PreFilterNode implements berth.PreFilterNodesPlugin.
func (p *stateful) PreFilterNode(c *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	p.check("node", pod)
	zone, _ := node.LabelID(berth.Zone)
	if p.leaveIn != (berth.Symbol{}) && zone != p.leaveIn.ID() {
		return berth.Skip()
	}
	if p.stray {
		return nil
	}
	st, s := berth.StateOf[*counts](c)
	if s != nil {
		return s
	}
	for other := range node.Pods().All() {
		if id, ok := other.Labels().ID(group); ok && id == st.group {
			st.add(zone, 1)
		}
	}
	return nil
}

// PreFilterEnd implements berth.PreFilterNodesPlugin.
func (p *stateful) PreFilterEnd(_ *berth.Cycle, pod berth.Pod) *berth.Status {
	p.check("end", pod)
	return p.reply("end")
}

// AddPod implements berth.PreFilterExtensions.
func (p *stateful) AddPod(c *berth.Cycle, pod, other berth.Pod, node berth.Node) *berth.Status {
	p.check("add", pod)
	return change(c, other, node, 1)
}

// RemovePod implements berth.PreFilterExtensions.
func (p *stateful) RemovePod(c *berth.Cycle, pod, other berth.Pod, node berth.Node) *berth.Status {
	p.check("remove", pod)
	return change(c, other, node, -1)
}

func change(c *berth.Cycle, other berth.Pod, node berth.Node, by int64) *berth.Status {
	st, s := berth.StateOf[*counts](c)
	if s != nil {
		return s
	}
	if id, ok := other.LabelID(group); ok && id == st.group {
		zone, _ := node.LabelID(berth.Zone)
		st.add(zone, by)
	}
	return nil
}

// Filter implements berth.FilterPlugin.
func (p *stateful) Filter(c *berth.Cycle, pod berth.Pod, node berth.Node) *berth.Status {
	p.check("filter", pod)
	st, s := berth.StateOf[*counts](c)
	if s != nil {
		return s
	}
	zone, _ := node.LabelID(berth.Zone)
	if st.group != 0 && st.pods(zone) >= p.most {
		return full
	}
	return nil
}

// PreScore implements berth.PreScorePlugin.
func (p *stateful) PreScore(_ *berth.Cycle, pod berth.Pod) *berth.Status {
	p.check("prescore", pod)
	return p.reply("score")
}

// Score implements berth.ScorePlugin: the more of the group, the higher.
func (p *stateful) Score(c *berth.Cycle, pod berth.Pod, node berth.Node) (int64, *berth.Status) {
	p.check("score", pod)
	st, s := berth.StateOf[*counts](c)
	if s != nil {
		return 0, s
	}
	zone, _ := node.LabelID(berth.Zone)
	return st.pods(zone) * 1000, nil
}

// NormalizeScore implements berth.NormalizeScorePlugin: the fewest of the group
// get 100, the most 0.
func (p *stateful) NormalizeScore(_ *berth.Cycle, pod berth.Pod, scores []int64) *berth.Status {
	p.check("normalize", pod)
	if p.raw || len(scores) == 0 {
		return nil
	}
	lo, hi := scores[0], scores[0]
	for _, s := range scores {
		lo, hi = min(lo, s), max(hi, s)
	}
	for i := range scores {
		if hi == lo {
			scores[i] = 100
			continue
		}
		scores[i] = 100 - 100*(scores[i]-lo)/(hi-lo)
	}
	return nil
}
