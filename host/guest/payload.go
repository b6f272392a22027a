// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"fmt"
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// Intent is something that a guest asks the host to do, checked against the
// table: its kind is one that the point may ask for, its keys are of their
// types.
type Intent struct {
	Kind  string
	Value abi.Value
}

// records is abi.Records by point and phase, intents abi.Intents by kind.
var (
	records = func() map[[2]int]*abi.PointKeys {
		m := map[[2]int]*abi.PointKeys{}
		list := abi.Records()
		for i := range list {
			m[[2]int{int(list[i].Point), int(list[i].Phase)}] = &list[i]
		}
		return m
	}()
	intents = func() map[string]*abi.IntentInfo {
		m := map[string]*abi.IntentInfo{}
		list := abi.Intents()
		for i := range list {
			m[list[i].Kind] = &list[i]
		}
		return m
	}()
	takesIntents = abi.TakesIntents()
)

const intentsKey = "intents"

// reply checks a payload: a map with the keys of its point and phase, intents
// apart.
func (out *Result) reply(c *Call) error {
	if len(out.Payload) == 0 {
		return out.checkReply(c, abi.Value{})
	}
	root, err := abi.OpenValue(out.Payload)
	if err != nil {
		return err
	}
	if root.Kind() != abi.Map {
		return fmt.Errorf("want a map, got %s", root.Kind())
	}
	return out.checkReply(c, root)
}

func (out *Result) checkReply(c *Call, root abi.Value) error {
	var keys []abi.KeyInfo
	if r := records[[2]int{int(c.Point), int(c.Phase)}]; r != nil {
		keys = r.Reply
		if out.Next {
			keys = r.Ask
			if root.Len() != 1 {
				return fmt.Errorf("want one question, got %d", root.Len())
			}
		}
	}
	if !out.Next && slices.Contains(takesIntents, c.Point) {
		keys = append(keys[:len(keys):len(keys)], abi.KeyInfo{Key: intentsKey, Type: "list of maps"})
	}
	if out.Code != abi.Success { // what an answer must hold, a refusal needn't
		keys = slices.Clone(keys)
		for i := range keys {
			keys[i].Required = false
		}
	}
	if err := abi.CheckKeys(root, keys); err != nil {
		return err
	}
	out.Reply = root
	list, _ := root.Get(intentsKey)
	if list.Len() > abi.MaxIntents {
		return fmt.Errorf("intents: want at most %d, got %d", abi.MaxIntents, list.Len())
	}
	for i := range list.Len() {
		in, err := intent(c.Point, list.At(i))
		if err != nil {
			return fmt.Errorf("intent %d: %w", i, err)
		}
		out.Intents = append(out.Intents, in)
	}
	return nil
}

func intent(p abi.Point, v abi.Value) (Intent, error) {
	k, _ := v.Get("kind")
	kind := k.Text()
	info := intents[kind]
	if info == nil {
		return Intent{}, fmt.Errorf("kind: want one of the table, got %q", kind)
	}
	if info.Points != nil && !slices.Contains(info.Points, p) {
		return Intent{}, fmt.Errorf("%s: want it at %v, got it at %s", kind, info.Points, p)
	}
	keys := append([]abi.KeyInfo{{Key: "kind", Type: "string"}}, info.Keys...)
	if err := abi.CheckKeys(v, keys); err != nil {
		return Intent{}, fmt.Errorf("%s: %w", kind, err)
	}
	return Intent{kind, v}, nil
}
