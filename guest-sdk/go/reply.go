// SPDX-License-Identifier: Apache-2.0

package berth

import "github.com/berth-scheduler/berth/abi"

// reply is what a call answers beside a status: the map that is its payload.
type reply struct {
	keys    []replyKey
	intents []intent
	record  []byte // kept for the host, which reads it after the call
}

// replyKey writes the value of a key into a cell.
type replyKey struct {
	key   string
	write func(w *abi.ValueWriter, cell int)
}

// answer adds a key to the payload.
//
//go:noinline
func (c *Cycle) answer(key string, write func(w *abi.ValueWriter, cell int)) {
	at := 0
	for at < len(c.reply.keys) && c.reply.keys[at].key < key {
		at++
	}
	keys := append(c.reply.keys, replyKey{})
	copy(keys[at+1:], keys[at:])
	keys[at] = replyKey{key, write}
	c.reply.keys, c.finish = keys, writeReply
}

// writeReply writes the payload. What needs none doesn't link it.
func writeReply(c *Cycle, f frame) {
	if intents := c.reply.intents; len(intents) > 0 {
		c.reply.intents = nil
		c.answer("intents", func(w *abi.ValueWriter, cell int) {
			first := w.List(cell, len(intents))
			for i := range intents {
				intents[i].write(newObject(w, first+i*abi.CellSize, intents[i].keys))
			}
		})
	}
	w := abi.NewValueWriter()
	o := newObject(w, abi.ValueRoot, len(c.reply.keys))
	for _, k := range c.reply.keys {
		k.write(w, o.cell(k.key))
	}
	c.reply = reply{record: w.Bytes()}
	f.payload(c.reply.record)
}
