// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"fmt"

	"github.com/berth-scheduler/berth/abi"
)

// Intent is something that a guest asks the host to do, checked against the
// table: its kind is one that the point may ask for, its keys are of their
// types.
type Intent struct {
	Kind  string
	Value abi.Value
}

var replies = abi.NewReplies()

// reply checks a payload: a map with the keys of its point and phase, intents
// apart.
func (out *Result) reply(c *Call) error {
	var root abi.Value
	if len(out.Payload) > 0 {
		var err error
		if root, err = abi.OpenValue(out.Payload); err != nil {
			return err
		}
		if root.Kind() != abi.Map {
			return fmt.Errorf("want a map, got %s", root.Kind())
		}
	} else if !replies.Speaks(c.Point) {
		return nil
	}
	if err := replies.Check(c.Point, c.Phase, out.Code, out.Next, root); err != nil {
		return err
	}
	out.Reply = root
	list, _ := root.Get(abi.IntentsKey)
	for i := range list.Len() {
		v := list.At(i)
		kind, _ := v.Get("kind")
		out.Intents = append(out.Intents, Intent{kind.Text(), v})
	}
	return nil
}
