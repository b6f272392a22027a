// SPDX-License-Identifier: Apache-2.0

//go:build !berth_without_queue

package berth

import "github.com/berth-scheduler/berth/abi"

// queuePlugin is what a plugin implements of the points around the queue.
type queuePlugin struct {
	_ [0]func() // not compared: saves code

	preEnqueue PreEnqueuePlugin
	hint       QueueingHintPlugin
	key        QueueKeyPlugin
	sign       SignPlugin
}

var queuePoints = []servedPoint{
	{abi.PreEnqueue, "pre_enqueue"}, {abi.QueueingHint, "queueing_hint"}, {abi.QueueKey, "queue_key"}, {abi.SignPod, "sign_pod"},
}

func (p *queuePlugin) find(impl any) {
	p.preEnqueue, _ = impl.(PreEnqueuePlugin)
	p.hint, _ = impl.(QueueingHintPlugin)
	p.key, _ = impl.(QueueKeyPlugin)
	p.sign, _ = impl.(SignPlugin)
}

func (p *queuePlugin) implements(point abi.Point) bool {
	switch point {
	case abi.PreEnqueue:
		return p.preEnqueue != nil
	case abi.QueueingHint:
		return p.hint != nil
	case abi.QueueKey:
		return p.key != nil
	case abi.SignPod:
		return p.sign != nil
	}
	return false
}

func (g *guest) answerQueue(f frame) bool {
	p, c := &g.plugin.queue, &g.cycle
	if f.phase() != abi.Whole || !p.implements(f.point()) {
		return false
	}
	switch f.point() {
	case abi.PreEnqueue:
		f.done(p.preEnqueue.PreEnqueue(c, f.pod()))
	case abi.QueueingHint:
		if p.hint.QueueingHint(c, f.pod(), Event{f.argument()}) {
			f.done(nil)
		} else {
			f.done(skip)
		}
	case abi.QueueKey:
		key := p.key.QueueKey(c, f.pod())
		c.answer("key", func(w *abi.ValueWriter, cell int) { w.Int(cell, key) })
		f.done(nil)
	case abi.SignPod:
		key, s := p.sign.SignPod(c, f.pod())
		if s.IsSuccess() {
			c.answer("key", func(w *abi.ValueWriter, cell int) { w.String(cell, key) })
		}
		f.done(s)
	}
	return true
}
