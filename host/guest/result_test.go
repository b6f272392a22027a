// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/berth-scheduler/berth/abi"
)

// refs makes n node references; the records behind them don't matter.
func refs(n int) []NodeRef { return make([]NodeRef, n) }

const (
	outside = 1 << 31
	item0   = abi.ResultSize
	item1   = abi.ResultSize + abi.VerdictSize
	score1  = abi.ResultSize + abi.ScoreSize
)

// success answers for two nodes at filter, bad changes the answer.
func success(bad ...uint32) func(*fakeGuest, []byte) {
	return func(g *fakeGuest, r []byte) {
		set(r, abi.ResultCode, 0)
		if len(r) > abi.ResultSize {
			set(r, abi.ResultItemsLen, 2, item0, 0, item1, 0)
		}
		set(r, bad...)
	}
}

// What the ABI doesn't allow is a fault that says what was wanted and what was
// found, in one line, and ends the instance.
func TestBadResults(t *testing.T) {
	filter := &Call{Point: abi.Filter, Nodes: refs(2)}
	score := &Call{Point: abi.Score, Nodes: refs(2)}
	preFilter := &Call{Point: abi.PreFilter}
	chunk := &Call{Point: abi.PreFilter, Phase: abi.Chunk, Nodes: refs(2)}
	begin := &Call{Point: abi.PreFilter, Phase: abi.Begin}
	list := func(fields ...uint32) func(*fakeGuest, []byte) {
		return func(g *fakeGuest, r []byte) {
			set(r, abi.ResultCode, 0, abi.ResultListSet, 1)
			set(r, fields...)
		}
	}
	for name, c := range map[string]struct {
		call   *Call
		answer func(g *fakeGuest, r []byte)
		want   string
	}{
		"nothing":                {filter, func(*fakeGuest, []byte) {}, "code: want one of"},
		"unknown code":           {filter, success(abi.ResultCode, 99), "code 99"},
		"code of another point":  {filter, success(abi.ResultCode, uint32(abi.Wait)), "wait"},
		"item left out":          {filter, success(item1, uint32(abi.Unset)), "item 1: code"},
		"item's code":            {filter, success(item0, uint32(abi.Skip)), "item 0: code"},
		"items short":            {filter, success(abi.ResultItemsLen, 1), "items_len: want 2, got 1"},
		"items many":             {filter, success(abi.ResultItemsLen, 1<<32-1), "items_len: want 2, got 4294967295"},
		"reasons outside":        {filter, success(item0, 2, item0+4, 1, item0+8, outside), "reasons: want 1 inside"},
		"reasons wrap":           {filter, success(item0, 2, item0+4, 8, item0+8, 1<<32-8), "reasons: want 8 inside"},
		"reasons many":           {filter, success(item0, 2, item0+4, 9, item0+8, 64), "reasons: want at most 8, got 9"},
		"reasons most":           {filter, success(item0, 2, item0+4, 1<<32-1, item0+8, 64), "got 4294967295"},
		"reason outside":         {filter, withText(64, outside, 4), "reason: want 4 bytes inside"},
		"reason long":            {filter, withText(64, 128, abi.MaxReasonBytes+1), "got 1025"},
		"payload":                {filter, success(abi.ResultPayloadLen, 1), "payload: value record: want 24 to"},
		"payload outside":        {filter, success(abi.ResultPayloadLen, 24, abi.ResultPayloadPtr, outside), "payload: want 24 bytes inside memory"},
		"payload long":           {filter, success(abi.ResultPayloadLen, abi.MaxPayloadBytes+1), "payload: want at most 262144 bytes"},
		"next":                   {filter, success(abi.ResultNext, 1), "next: want 0"},
		"list at another point":  {filter, success(abi.ResultListSet, 1), "list: want none at filter"},
		"list in a chunk":        {chunk, success(abi.ResultListSet, 1), "list: want none at pre_filter, phase chunk"},
		"list_set":               {preFilter, list(abi.ResultListSet, 2), "list_set: want 0 or 1, got 2"},
		"list long":              {preFilter, list(abi.ResultListLen, abi.MaxListLen+1), "got 100001"},
		"list outside":           {begin, list(abi.ResultListLen, 1, abi.ResultListPtr, outside), "want 1 names inside"},
		"name outside":           {preFilter, withName(outside, 3), "name 0: want 3 bytes inside"},
		"name empty":             {preFilter, withName(64, 0), "got 0"},
		"name long":              {preFilter, withName(64, abi.MaxNameBytes+1), "got 254"},
		"score's code left out":  {score, success(score1+abi.ScoreCode, uint32(abi.Unset), item0+abi.ScoreCode, 0), "item 1: code"},
		"score's code":           {score, success(item0+abi.ScoreCode, uint32(abi.Wait)), "item 0: code"},
		"whole with code":        {score, success(abi.ResultCode, uint32(abi.Unschedulable)), "code: want one of"},
		"own result overwritten": {filter, func(g *fakeGuest, _ []byte) { clear(g.memory[64:]); g.memory = g.memory[:4096] }, "outside memory"},
	} {
		t.Run(name, func(t *testing.T) {
			g := &fakeGuest{answer: func(g *fakeGuest, frame []byte) uint32 {
				c.answer(g, g.result(frame))
				return abi.Answered
			}}
			in := fake(t, g, Options{})
			var out Result
			err := in.Call(c.call, &out)
			f, ok := AsFault(err)
			if !ok || f.Cause != BadResult || f.Point != c.call.Point || !strings.Contains(f.Error(), c.want) {
				t.Fatalf("want a bad result with %q, got %v", c.want, err)
			}
			if strings.ContainsAny(f.Error(), "\n\x00") {
				t.Errorf("want one line, got %q", f.Error())
			}
			if !in.Dead() {
				t.Error("want the instance dead")
			}
		})
	}
}

// withText gives the first node a reason whose string_ref says this.
func withText(at, ptr, n uint32) func(*fakeGuest, []byte) {
	return func(g *fakeGuest, r []byte) {
		success(item0, uint32(abi.Unschedulable), item0+4, 1, item0+8, at)(g, r)
		set(g.memory, at, ptr, at+4, n)
	}
}

// withName gives pre_filter a list of one name whose string_ref says this.
func withName(ptr, n uint32) func(*fakeGuest, []byte) {
	return func(g *fakeGuest, r []byte) {
		set(r, abi.ResultCode, 0, abi.ResultListSet, 1, abi.ResultListLen, 1, abi.ResultListPtr, 64)
		set(g.memory, 64, ptr, 68, n)
	}
}

func TestReasonText(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want string // "" is a fault
	}{
		"plain":       {"too small", "p: too small"},
		"UTF-8":       {"zu groß – 過", "p: zu groß – 過"},
		"empty":       {"", "p: no reason given"},
		"longest":     {strings.Repeat("x", abi.MaxReasonBytes), "p: " + strings.Repeat("x", abi.MaxReasonBytes)},
		"two lines":   {"a\nb", ""},
		"zero":        {"a\x00b", ""},
		"direction":   {"a\u202eb", ""},
		"line":        {"a\u2028b", ""},
		"escape":      {"\x1b[31mred", ""},
		"C1":          {"a\u009b31m", ""},
		"broken":      {"a\xff", ""},
		"half a rune": {"a\xe2\x82", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := &fakeGuest{answer: func(g *fakeGuest, frame []byte) uint32 {
				success(item1, uint32(abi.Unschedulable), item1+4, 1, item1+8, 64)(g, g.result(frame))
				g.text(64, c.text)
				return abi.Answered
			}}
			var out Result
			err := fake(t, g, Options{ReasonPrefix: "p: "}).Call(&Call{Point: abi.Filter, Nodes: refs(2)}, &out)
			if (err == nil) != (c.want != "") {
				t.Fatalf("got error %v", err)
			}
			if err == nil && !cmp.Equal(out.Verdicts[1], Verdict{abi.Unschedulable, []string{c.want}}) {
				t.Errorf("want %q, got %+v", c.want, out.Verdicts[1])
			}
		})
	}
}

func TestResults(t *testing.T) {
	for name, c := range map[string]struct {
		call   *Call
		answer func(g *fakeGuest, r []byte)
		want   Result
	}{
		"filter": {&Call{Point: abi.Filter, Nodes: refs(2)}, func(g *fakeGuest, r []byte) {
			success(item0, 3, item0+4, 2, item0+8, 64)(g, r)
			set(g.memory, 64, 128, 68, 2, 72, 130, 76, 1)
			copy(g.memory[128:], "abc")
		}, Result{Verdicts: []Verdict{{abi.UnschedulableAndUnresolvable, []string{"p: ab", "p: c"}}, {}}}},
		"no reason": {&Call{Point: abi.Filter, Nodes: refs(2)}, success(item1, 2),
			Result{Verdicts: []Verdict{{}, {abi.Unschedulable, []string{"p: no reason given"}}}}},
		"no nodes":   {&Call{Point: abi.Filter}, success(abi.ResultItemsLen, 0), Result{}},
		"call ended": {&Call{Point: abi.Filter, Nodes: refs(2)}, success(abi.ResultCode, 1, item0, 77), Result{Verdict: Verdict{abi.Error, []string{"p: no reason given"}}}},
		"skip":       {&Call{Point: abi.PreFilter}, success(abi.ResultCode, 5), Result{Verdict: Verdict{Code: abi.Skip}}},
		"state":      {&Call{Point: abi.PreFilter}, success(abi.ResultState, 9), Result{State: 9}},
		"list": {&Call{Point: abi.PreFilter, Phase: abi.End}, func(g *fakeGuest, r []byte) {
			withName(128, 2)(g, r)
			copy(g.memory[128:], "n1")
		}, Result{ListSet: true, List: []string{"n1"}}},
		"empty list": {&Call{Point: abi.PreFilter}, success(abi.ResultListSet, 1), Result{ListSet: true}},
		"score": {&Call{Point: abi.Score, Nodes: refs(2)}, func(_ *fakeGuest, r []byte) {
			set(r, abi.ResultCode, 0, abi.ResultItemsLen, 2, item0+abi.ScoreCode, 0, score1+abi.ScoreCode, 1)
			binary.LittleEndian.PutUint64(r[item0:], 1<<63) // any number
		}, Result{Verdicts: []Verdict{{}, {abi.Error, []string{"p: no reason given"}}}, Scores: []int64{-1 << 63, 0}}},
		"chunk of raw scores": {&Call{Point: abi.NormalizeScore, Phase: abi.Chunk, Nodes: refs(2), Arg: make([]byte, 16)}, success(), Result{}},
	} {
		t.Run(name, func(t *testing.T) {
			g := &fakeGuest{answer: func(g *fakeGuest, frame []byte) uint32 {
				c.answer(g, g.result(frame))
				return abi.Answered
			}}
			in := fake(t, g, Options{ReasonPrefix: "p: "})
			out := Result{State: 7, ListSet: true, List: []string{"old"}, Verdicts: make([]Verdict, 3), Scores: []int64{1}}
			if err := in.Call(c.call, &out); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, out, cmpopts.IgnoreUnexported(Result{}), cmpopts.EquateEmpty(), cmp.Transformer("tree", abi.Value.Tree)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// Payloads that the tables allow, and what is said of those that they don't.
func TestPayloads(t *testing.T) {
	type m = map[string]any
	intent := func(kind string, keys m) m {
		keys["kind"] = kind
		return m{"intents": []any{keys}}
	}
	many := make([]any, abi.MaxIntents+1)
	for i := range many {
		many[i] = m{"kind": "allow", "pod": "u"}
	}
	question := []uint32{abi.ResultNext, 1}
	for name, c := range map[string]struct {
		point   abi.Point
		phase   abi.Phase
		payload any
		fields  []uint32 // of the result
		want    string   // "" is no fault
	}{
		"no payload":                {abi.PreEnqueue, abi.Whole, nil, nil, ""},
		"intent":                    {abi.PreEnqueue, abi.Whole, intent("activate", m{"pods": []string{"a/b"}}), nil, ""},
		"intent with an error":      {abi.PreEnqueue, abi.Whole, intent("activate", m{"pods": []string{"a/b"}}), []uint32{abi.ResultCode, uint32(abi.Error)}, ""},
		"intent at filter":          {abi.Filter, abi.Whole, intent("allow", m{"pod": "u"}), nil, `unknown key "intents"`},
		"intent at another point":   {abi.PreFilter, abi.Whole, intent("bind", m{}), nil, "bind: want it at another point, got it at pre_filter"},
		"intent at its point":       {abi.Bind, abi.Whole, intent("bind", m{"annotations": m{"a": "b"}}), nil, ""},
		"intent unknown":            {abi.Reserve, abi.Whole, intent("shout", m{}), nil, `kind: want one of the table, got "shout"`},
		"intent without kind":       {abi.Reserve, abi.Whole, m{"intents": []any{m{}}}, nil, `kind: want one of the table, got ""`},
		"intent's key missing":      {abi.Reserve, abi.Whole, intent("event", m{"type": "Normal"}), nil, `event: value record: key "reason" is missing`},
		"intent's key of a type":    {abi.Reserve, abi.Whole, intent("allow", m{"pod": 1}), nil, `key "pod": want string, got int`},
		"intent's key unknown":      {abi.Reserve, abi.Whole, intent("allow", m{"pod": "u", "colour": "red"}), nil, `unknown key "colour"`},
		"intents a map":             {abi.Reserve, abi.Whole, m{"intents": m{}}, nil, `key "intents": want list of maps, got map`},
		"too many intents":          {abi.Reserve, abi.Whole, m{"intents": many}, nil, "intents: want at most 256, got 257"},
		"a list":                    {abi.Reserve, abi.Whole, []any{}, nil, "want a map, got list"},
		"key":                       {abi.QueueKey, abi.Whole, m{"key": -5}, nil, ""},
		"key missing":               {abi.QueueKey, abi.Whole, nil, nil, `key "key" is missing`},
		"key missing in an error":   {abi.QueueKey, abi.Whole, nil, []uint32{abi.ResultCode, uint32(abi.Error)}, ""},
		"key a float":               {abi.QueueKey, abi.Whole, m{"key": 0.5}, nil, `key "key": want int, got float`},
		"timeout":                   {abi.Permit, abi.Whole, m{"timeout_ns": 5}, []uint32{abi.ResultCode, uint32(abi.Wait)}, ""},
		"question":                  {abi.PostFilter, abi.Begin, m{"candidates": 0}, question, ""},
		"question in a step":        {abi.PostFilter, abi.Step, m{"dry_run": []any{m{}}}, question, ""},
		"no question":               {abi.PostFilter, abi.Begin, nil, question, "want one question, got 0"},
		"two questions":             {abi.PostFilter, abi.Begin, m{"candidates": 0, "nodes": []string{}}, question, "want one question, got 2"},
		"question with intents":     {abi.PostFilter, abi.Begin, m{"intents": []any{}}, question, `unknown key "intents"`},
		"question that is none":     {abi.PostFilter, abi.Begin, m{"node": "n"}, question, `unknown key "node"`},
		"question with a code":      {abi.PostFilter, abi.Begin, m{"candidates": 0}, []uint32{abi.ResultNext, 1, abi.ResultCode, 2}, "next: want 0 at post_filter with unschedulable"},
		"answer that is a question": {abi.PostFilter, abi.Begin, m{"candidates": 0}, nil, `unknown key "candidates"`},
		"next 2":                    {abi.PostFilter, abi.Begin, m{"candidates": 0}, []uint32{abi.ResultNext, 2}, "next: want 0 at post_filter with success, got 2"},
		"nomination":                {abi.PostFilter, abi.Step, m{"node": "n", "intents": []any{m{"kind": "evict", "pods": []any{m{"node": "n", "uid": "u"}}}}}, nil, ""},
		"placements":                {abi.GeneratePlacements, abi.End, m{"placements": []any{m{"name": "a", "nodes": []string{"n"}}}}, nil, ""},
		"placements too early":      {abi.GeneratePlacements, abi.Begin, m{"placements": []any{}}, nil, `unknown key "placements"`},
		"scores":                    {abi.NormalizePlacementScore, abi.Whole, m{"scores": []any{1, 2}}, nil, ""},
		"scores of floats":          {abi.NormalizePlacementScore, abi.Whole, m{"scores": []any{0.5}}, nil, `key "scores": want list of ints, got list`},
	} {
		t.Run(name, func(t *testing.T) {
			var record []byte
			if c.payload != nil {
				var err error
				if record, err = abi.EncodeValue(c.payload); err != nil {
					t.Fatal(err)
				}
			}
			g := &fakeGuest{answer: func(g *fakeGuest, frame []byte) uint32 {
				r := g.result(frame)
				set(r, abi.ResultCode, 0)
				if len(record) > 0 {
					at := (uint32(len(g.memory)) + 7) &^ 7
					g.memory = append(g.memory, make([]byte, int(at)+len(record)-len(g.memory))...)
					copy(g.memory[at:], record)
					r = g.result(frame)
					set(r, abi.ResultPayloadPtr, at, abi.ResultPayloadLen, uint32(len(record)))
				}
				set(r, c.fields...)
				return abi.Answered
			}}
			var out Result
			err := fake(t, g, Options{}).Call(&Call{Point: c.point, Phase: c.phase}, &out)
			if c.want != "" {
				if f, ok := AsFault(err); !ok || f.Cause != BadResult || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("want a bad result with %q, got %v", c.want, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want, got := fmt.Sprint(c.payload), fmt.Sprint(out.Reply.Tree()); got != want {
				t.Errorf("reply: want %s, got %s", want, got)
			}
			if list, _ := out.Reply.Get("intents"); list.Len() != len(out.Intents) || out.Next != (len(c.fields) > 0 && c.fields[0] == abi.ResultNext) {
				t.Errorf("want %d intents and the question marked, got %v, next %t", list.Len(), out.Intents, out.Next)
			}
		})
	}
}

func TestNotAnswered(t *testing.T) {
	g := &fakeGuest{answer: func(*fakeGuest, []byte) uint32 { return abi.NotHandled }}
	var out Result
	err := fake(t, g, Options{}).Call(&Call{Point: abi.PreScore, Phase: abi.End}, &out)
	if f, ok := AsFault(err); !ok || f.Cause != BadResult || !strings.Contains(err.Error(), "phase end") {
		t.Errorf("want a bad result that names the phase, got %v", err)
	}
}

// Rejecting a chunk of nodes for a reason that was given before allocates
// nothing.
func TestCallAllocations(t *testing.T) {
	g := &fakeGuest{answer: func(g *fakeGuest, frame []byte) uint32 {
		r := g.result(frame)
		set(r, abi.ResultCode, 0, abi.ResultItemsLen, 64)
		for i := range uint32(64) {
			set(r, item0+i*abi.VerdictSize, uint32(abi.Unschedulable), item0+i*abi.VerdictSize+4, 1, item0+i*abi.VerdictSize+8, 64)
		}
		return abi.Answered
	}}
	in := fake(t, g, Options{ReasonPrefix: "p: "})
	g.text(64, "too small")
	call, out := &Call{Point: abi.Filter, Nodes: refs(64)}, &Result{}
	if n := testing.AllocsPerRun(100, func() {
		if err := in.Call(call, out); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("want no allocations, got %v", n)
	}
}

// A guest that makes its reasons up doesn't fill the host's memory.
func TestReasonCacheBounded(t *testing.T) {
	n := 0
	g := &fakeGuest{answer: func(g *fakeGuest, frame []byte) uint32 {
		n++
		withText(64, 72, 8)(g, g.result(frame))
		binary.BigEndian.PutUint64(g.memory[72:], uint64(n)+0x6161616161616161)
		for i := 72; i < 80; i++ {
			g.memory[i] = 'a' + g.memory[i]%26
		}
		return abi.Answered
	}}
	in := fake(t, g, Options{})
	var out Result
	for range 3 * maxCachedReasons {
		if err := in.Call(&Call{Point: abi.Filter, Nodes: refs(2)}, &out); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(in.reasons.sets); got > maxCachedReasons {
		t.Errorf("want at most %d reasons kept, got %d", maxCachedReasons, got)
	}
}
