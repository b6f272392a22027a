// SPDX-License-Identifier: Apache-2.0

// Cost-aware prefers cheap nodes, and spot capacity as far as a pod wants it.
package main

import (
	"errors"
	"math"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
)

var policy = berth.Policy{
	Name:    "cost-aware",
	Version: "1.0.0",
	Reads:   []berth.Section{berth.PodLabels, berth.NodeLabels},
	Pure:    true,
}

func init() { berth.Register(&policy, &costAware{}) }

// costAware is the plugin; its fields are its config.
type costAware struct {
	priceLabel    berth.Symbol
	capacityLabel berth.Symbol
	spotValue     berth.Symbol
	spotLabel     berth.Symbol
	preference    string
	bonus         int64
	penalty       int64
	defaultPrice  string

	unpriced int64 // what a node without a price costs
}

var (
	_ berth.ScorePlugin          = &costAware{}
	_ berth.NormalizeScorePlugin = &costAware{}
)

// How a pod stands to spot capacity: values of its label, and of the config.
var (
	prefer = berth.NewSymbol("prefer")
	avoid  = berth.NewSymbol("avoid")
)

// unknown is the raw score of a node whose price isn't known.
const unknown = -1

// Config is the policy's config.
func (p *costAware) Config() []berth.Property {
	return []berth.Property{
		berth.Bind("priceLabel", &p.priceLabel, berth.Name()).Default(berth.NewSymbol("berth.dev/price-per-hour")).
			Doc("node label with the price of the node, a decimal number in any currency"),
		berth.Bind("defaultPrice", &p.defaultPrice, berth.String()).
			Doc("price of nodes without that label; empty: they score 0"),
		berth.Bind("capacityLabel", &p.capacityLabel, berth.Name()).Default(berth.NewSymbol("berth.dev/capacity")).
			Doc("node label that tells spot capacity"),
		berth.Bind("spotValue", &p.spotValue, berth.Name()).Default(berth.NewSymbol("spot")).
			Doc("value of that label on spot nodes"),
		berth.Bind("spotLabel", &p.spotLabel, berth.Name()).Default(berth.NewSymbol("berth.dev/spot")).
			Doc("pod label: prefer or avoid spot nodes"),
		berth.Bind("spotDefault", &p.preference, berth.Enum("neutral", "prefer", "avoid")).Default("neutral").
			Doc("for pods without that label, or with another value"),
		berth.Bind("spotBonus", &p.bonus, berth.IntBetween(0, 100)).Default(50).
			Doc("percent by which spot nodes count as cheaper for pods that prefer them"),
		berth.Bind("spotPenalty", &p.penalty, berth.IntBetween(0, 10_000)).Default(400).
			Doc("percent by which spot nodes count as dearer for pods that avoid them"),
	}
}

// Configured reads the default price.
func (p *costAware) Configured() error {
	p.unpriced = unknown
	if p.defaultPrice != "" {
		price, ok := parsePrice(p.defaultPrice)
		if !ok {
			return errors.New("config.defaultPrice: want a decimal number as \"0.42\", got \"" + p.defaultPrice + "\"")
		}
		p.unpriced = price
	}
	return nil
}

// Score is what the node costs the pod, in millionths, or unknown.
func (p *costAware) Score(_ *berth.Cycle, pod berth.Pod, node berth.Node) (int64, *berth.Status) {
	price := p.unpriced
	if text, ok := node.Label(p.priceLabel); ok {
		if parsed, ok := parsePrice(text); ok {
			price = parsed
		}
	}
	if price == unknown || !node.LabelIs(p.capacityLabel, p.spotValue) {
		return price, nil
	}
	switch {
	case p.wants(pod, prefer):
		price -= price * p.bonus / 100
	case p.wants(pod, avoid):
		price += price * p.penalty / 100
	}
	return price, nil
}

// wants says whether the pod's label, or else the config, is a preference.
func (p *costAware) wants(pod berth.Pod, preference berth.Symbol) bool {
	value, _ := pod.LabelID(p.spotLabel)
	if value == prefer.ID() || value == avoid.ID() {
		return value == preference.ID()
	}
	return p.preference == preference.String()
}

// NormalizeScore gives the cheapest node 100, one that costs twice as much 50,
// and one whose price isn't known 0. Differences of a few percent so stay
// small, which scaling from the cheapest to the dearest would blow up.
func (p *costAware) NormalizeScore(_ *berth.Cycle, _ berth.Pod, scores []int64) *berth.Status {
	cheapest := int64(math.MaxInt64)
	for i, price := range scores {
		if price == unknown {
			continue
		}
		scores[i] = max(price, 1) // free nodes would divide by zero
		cheapest = min(cheapest, scores[i])
	}
	for i, price := range scores {
		if price == unknown {
			scores[i] = 0
			continue
		}
		scores[i] = cheapest * 100 / price
	}
	return nil
}

func main() {}
