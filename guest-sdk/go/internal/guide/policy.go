// SPDX-License-Identifier: Apache-2.0

// Package guide is the code in the author's guide, ../../README.md: a policy
// that has every point of a single pod's way.
package guide

import berth "github.com/berth-scheduler/berth/guest-sdk/go"

var policy = berth.Policy{
	Name: "guide", Version: "1",
	Reads:      []berth.Section{berth.NodeResources, berth.NodePods, berth.PodResources},
	Events:     []string{"resource"},
	Resources:  []berth.Resource{{Name: "example.com/v1/quotas", Fields: []string{"spec"}}},
	Aggregates: []string{"namespace"},
	Intents: []berth.Intent{
		berth.IntentEvict, berth.IntentState, berth.IntentAllow, berth.IntentPatch, berth.IntentBind, berth.IntentEvent, berth.IntentMetric,
	},
}
