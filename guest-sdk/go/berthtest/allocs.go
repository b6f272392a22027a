// SPDX-License-Identifier: Apache-2.0

package berthtest

import (
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/guest-sdk/go/internal/native"
)

// FilterAllocs is how many allocations one call of Filter over the nodes makes,
// once it has run. It should be 0: in a module nothing collects garbage during a
// cycle, and what piles up is paid for between cycles.
func (c *Cycle) FilterAllocs(nodes ...*NodeBuilder) float64 {
	c.h.t.Helper()
	return c.allocs(abi.Filter, nodes)
}

// ScoreAllocs is FilterAllocs for Score.
func (c *Cycle) ScoreAllocs(nodes ...*NodeBuilder) float64 {
	c.h.t.Helper()
	return c.allocs(abi.Score, nodes)
}

func (c *Cycle) allocs(point abi.Point, nodes []*NodeBuilder) float64 {
	c.h.t.Helper()
	c.call(point, abi.Whole, nodes, nil)
	q, free := c.request(point, abi.Whole, nodes, nil)
	defer free()
	p := prepare(q)
	defer p.free()
	native.Mu.Lock()
	defer native.Mu.Unlock()
	return testing.AllocsPerRun(10, func() {
		p.clear(abi.Points[point].Item)
		c.h.guest.Call(point, p.frame)
	})
}
