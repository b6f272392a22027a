// SPDX-License-Identifier: Apache-2.0

//go:build !berth_without_binding

package berth

import "github.com/berth-scheduler/berth/abi"

// bindingPlugin is what a plugin implements of the points from Reserve on.
type bindingPlugin struct {
	_ [0]func() // not compared: saves code

	reserve   ReservePlugin
	permit    PermitPlugin
	preFlight PreBindPreFlightPlugin
	preBind   PreBindPlugin
	bind      BindPlugin
	postBind  PostBindPlugin
}

var bindingPoints = []servedPoint{
	{abi.Reserve, "reserve"}, {abi.Unreserve, "unreserve"}, {abi.Permit, "permit"},
	{abi.PreBindPreFlight, "pre_bind_pre_flight"}, {abi.PreBind, "pre_bind"}, {abi.Bind, "bind"}, {abi.PostBind, "post_bind"},
}

func (p *bindingPlugin) find(impl any) {
	p.reserve, _ = impl.(ReservePlugin)
	p.permit, _ = impl.(PermitPlugin)
	p.preFlight, _ = impl.(PreBindPreFlightPlugin)
	p.preBind, _ = impl.(PreBindPlugin)
	p.bind, _ = impl.(BindPlugin)
	p.postBind, _ = impl.(PostBindPlugin)
}

func (p *bindingPlugin) implements(point abi.Point) bool {
	switch point {
	case abi.Reserve, abi.Unreserve:
		return p.reserve != nil
	case abi.Permit:
		return p.permit != nil
	case abi.PreBindPreFlight:
		return p.preFlight != nil
	case abi.PreBind:
		return p.preBind != nil
	case abi.Bind:
		return p.bind != nil
	case abi.PostBind:
		return p.postBind != nil
	}
	return false
}

func (g *guest) answerBinding(f frame) bool {
	p, c := &g.plugin.binding, &g.cycle
	if f.phase() != abi.Whole || !p.implements(f.point()) {
		return false
	}
	var s *Status
	pod, node := f.pod(), f.argument().Get("node").Text()
	switch f.point() {
	case abi.Reserve:
		s = p.reserve.Reserve(c, pod, f.node(0))
	case abi.Unreserve:
		p.reserve.Unreserve(c, pod, node)
	case abi.Permit:
		var timeout int64
		s, timeout = p.permit.Permit(c, pod, f.node(0))
		if s.Code() == abi.Wait && timeout != 0 {
			c.answer("timeout_ns", func(w *abi.ValueWriter, cell int) { w.Int(cell, timeout) })
		}
	case abi.PreBindPreFlight:
		s = p.preFlight.PreBindPreFlight(c, pod, node)
	case abi.PreBind:
		s = p.preBind.PreBind(c, pod, node)
	case abi.Bind:
		s = p.bind.Bind(c, pod, node)
	case abi.PostBind:
		p.postBind.PostBind(c, pod, node)
	}
	f.done(s)
	return true
}
