// SPDX-License-Identifier: Apache-2.0

// Talker asks the host a few questions in PostFilter, and says in the log what
// it was answered.
package main

import (
	"strings"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
)

var policy = berth.Policy{
	Name: "talker", Version: "1", Reads: []berth.Section{berth.PodIdentity},
	Intents: []berth.Intent{berth.IntentEvict, berth.IntentState},
}

func init() { berth.Register(&policy, talker{}) }

type talker struct{}

// PostFilter implements berth.PostFilterPlugin.
func (talker) PostFilter(c *berth.PostFilterCycle, pod berth.Pod) (*berth.Nomination, *berth.Status) {
	defer berth.LogInfo("left")
	kept, s := c.Kept("greeting")
	if s != nil {
		return nil, s
	}
	var names []string
	for node := range c.Candidates() {
		names = append(names, strings.Clone(node.Name()))
	}
	berth.LogInfo("saw", "nodes", strings.Join(names, " "))
	answers := c.DryRun([]berth.Trial{{Node: names[0]}, {Node: names[1], Victims: []berth.Victim{{Node: names[1], UID: "u"}}}})
	berth.LogInfo("heard", "first", answers[0].Reason(), "second", answers[1].Reason())
	// What was there before the questions is still there.
	berth.LogInfo("kept", "pod", pod.Name(), "greeting", kept.Get("text").Text())
	c.Keep("greeting", map[string]any{"text": "bye"}, 0)
	return &berth.Nomination{Node: names[1], Victims: []berth.Victim{{Node: names[1], UID: "u"}}}, nil
}

// Filter implements berth.FilterPlugin: it fills memory, as any other call may
// that comes between a question and its answer.
func (talker) Filter(c *berth.Cycle, _ berth.Pod, _ berth.Node) *berth.Status {
	for range 100 {
		if _, s := c.Kept("greeting"); s != nil {
			return s
		}
	}
	return nil
}

func main() {}
