// SPDX-License-Identifier: Apache-2.0

package abi

// Replies checks the payloads of results against the tables of records and of
// intents. It may be used by several goroutines.
type Replies struct {
	records map[Point]map[Phase]*PointKeys
	takes   []Point
	intents map[string]*IntentInfo
}

// IntentsKey is the key of a payload's list of intents.
const IntentsKey = "intents"

// NewReplies returns a checker.
func NewReplies() *Replies {
	r := &Replies{map[Point]map[Phase]*PointKeys{}, TakesIntents(), map[string]*IntentInfo{}}
	records, intents := Records(), Intents()
	for i := range records {
		k := &records[i]
		if r.records[k.Point] == nil {
			r.records[k.Point] = map[Phase]*PointKeys{}
		}
		r.records[k.Point][k.Phase] = k
	}
	for i := range intents {
		r.intents[intents[i].Kind] = &intents[i]
	}
	return r
}

// Speaks says whether results of a point have payloads at all.
func (r *Replies) Speaks(p Point) bool { return r.records[p] != nil || hasPoint(r.takes, p) }

// Check says what is wrong with a payload, whose root is a map, or null where
// there is none: its keys are those of the point and phase, and each intent is
// one that may be asked for at the point. A result with next asks one question
// and has no intents. What an answer must hold, one of another code than Success
// needn't.
func (r *Replies) Check(p Point, phase Phase, code Code, next bool, root Value) error {
	if k := root.Kind(); k != Map && k != Null {
		return ValueError("want a map, got " + k.String())
	}
	var keys []KeyInfo
	if k := r.records[p][phase]; k != nil {
		if keys = k.Reply; next {
			keys = k.Ask
		}
	}
	if next && root.Len() != 1 {
		return ValueError("want one question, got " + itoa(uint64(root.Len())))
	}
	takes := !next && hasPoint(r.takes, p)
	if takes {
		keys = append(keys[:len(keys):len(keys)], KeyInfo{Key: IntentsKey, Type: "list of maps"})
	}
	if code != Success {
		keys = append([]KeyInfo(nil), keys...)
		for i := range keys {
			keys[i].Required = false
		}
	}
	if err := CheckKeys(root, keys); err != nil {
		return err
	}
	if !takes {
		return nil
	}
	list, _ := root.Get(IntentsKey)
	if list.Len() > MaxIntents {
		return ValueError("intents: want at most " + itoa(MaxIntents) + ", got " + itoa(uint64(list.Len())))
	}
	for i := range list.Len() {
		if err := r.intent(p, list.At(i)); err != nil {
			return ValueError("intent " + itoa(uint64(i)) + ": " + err.Error())
		}
	}
	return nil
}

func (r *Replies) intent(p Point, v Value) error {
	k, _ := v.Get("kind")
	info := r.intents[k.Text()]
	if info == nil {
		return ValueError("kind: want one of the table, got \"" + k.Text() + "\"")
	}
	if info.Points != nil && !hasPoint(info.Points, p) {
		return ValueError(info.Kind + ": want it at another point, got it at " + p.String())
	}
	if err := CheckKeys(v, append([]KeyInfo{{Key: "kind", Type: "string"}}, info.Keys...)); err != nil {
		return ValueError(info.Kind + ": " + err.Error())
	}
	return nil
}

func hasPoint(list []Point, p Point) bool {
	for _, x := range list {
		if x == p {
			return true
		}
	}
	return false
}
