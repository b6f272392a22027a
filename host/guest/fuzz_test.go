// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/berth-scheduler/berth/abi"
)

// FuzzResult lets a guest answer with any bytes, in its result area and in the
// memory that the answer may point to. Whatever it is: no panic, and what the
// host takes from it is within the ABI.
func FuzzResult(f *testing.F) {
	good := make([]byte, abi.ResultSize+2*abi.VerdictSize)
	set(good, abi.ResultItemsLen, 2, item1, 2, item1+4, 1, item1+8, 64)
	f.Add(uint8(abi.Filter), uint8(abi.Whole), good, []byte("\x50\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00text"))
	names := make([]byte, abi.ResultSize)
	set(names, abi.ResultListSet, 1, abi.ResultListLen, 1, abi.ResultListPtr, 64)
	f.Add(uint8(abi.PreFilter), uint8(abi.Whole), names, []byte("\x48\x00\x00\x00\x02\x00\x00\x00n1"))
	f.Add(uint8(abi.Score), uint8(abi.Whole), make([]byte, abi.ResultSize+2*abi.ScoreSize), []byte{})
	f.Add(uint8(abi.Describe), uint8(abi.Whole), names, []byte{})
	calls := []*Call{
		{Point: abi.Describe, NoPod: true},
		{Point: abi.Configure, NoPod: true, Arg: []byte{1, 2, 3}},
		{Point: abi.PreFilter}, {Point: abi.PreFilter, Phase: abi.Chunk, Nodes: refs(2)}, {Point: abi.PreFilter, Phase: abi.End},
		{Point: abi.Filter, Nodes: refs(2)}, {Point: abi.Filter},
		{Point: abi.PreScore, Phase: abi.Chunk, Nodes: refs(2)},
		{Point: abi.Score, Nodes: refs(2)},
		{Point: abi.NormalizeScore, Phase: abi.Apply, Nodes: refs(2), Arg: make([]byte, 16)},
		{Point: abi.QueueKey}, {Point: abi.Reserve, Nodes: refs(1)}, {Point: abi.Permit, Nodes: refs(1)}, {Point: abi.Bind},
		{Point: abi.PostFilter, Phase: abi.Begin}, {Point: abi.PostFilter, Phase: abi.Step, Nodes: refs(2)},
		{Point: abi.PodGroupPostFilter, Phase: abi.Step}, {Point: abi.GeneratePlacements, Phase: abi.End}, {Point: abi.NormalizePlacementScore},
	}
	payload := func(point abi.Point, phase abi.Phase, next uint32, tree any) {
		record, err := abi.EncodeValue(tree)
		if err != nil {
			f.Fatal(err)
		}
		r := make([]byte, abi.ResultSize)
		set(r, abi.ResultPayloadPtr, 64, abi.ResultPayloadLen, uint32(len(record)), abi.ResultNext, next)
		f.Add(uint8(point), uint8(phase), r, record)
	}
	payload(abi.QueueKey, abi.Whole, 0, map[string]any{"key": 1})
	payload(abi.PostFilter, abi.Begin, 1, map[string]any{"dry_run": []any{map[string]any{"node": "n"}}})
	payload(abi.Bind, abi.Whole, 0, map[string]any{"intents": []any{map[string]any{"kind": "bind"}, map[string]any{"kind": "metric", "name": "a", "add": 1.5}}})
	payload(abi.NormalizePlacementScore, abi.Whole, 0, map[string]any{"scores": []any{1, 2}})
	f.Fuzz(func(t *testing.T, point, phase uint8, result, memory []byte) {
		call := calls[int(point)%len(calls)]
		for _, c := range calls {
			if c.Point == abi.Point(point) && c.Phase == abi.Phase(phase) {
				call = c
			}
		}
		g := &fakeGuest{answer: func(g *fakeGuest, frame []byte) uint32 {
			copy(g.memory[64:4096], memory)
			copy(g.result(frame), result)
			return abi.Answered
		}}
		in := fake(t, g, Options{ReasonPrefix: "p: "})
		var out Result
		err := in.Call(call, &out)
		if err != nil {
			fault, ok := AsFault(err)
			if !ok || fault.Cause != BadResult || !in.Dead() || strings.Contains(err.Error(), "\n") {
				t.Fatalf("want a bad result on one line that ends the instance, got %v", err)
			}
			return
		}
		info := &abi.Points[call.Point]
		for _, v := range append(out.Verdicts, out.Verdict) {
			checkVerdict(t, info, v)
		}
		if items := len(out.Verdicts); items != 0 && (items != len(call.Nodes) || out.Code != abi.Success) {
			t.Errorf("want %d items, got %d", len(call.Nodes), items)
		}
		if len(out.Scores) != 0 && len(out.Scores) != len(out.Verdicts) {
			t.Errorf("want as many scores as verdicts, got %d and %d", len(out.Scores), len(out.Verdicts))
		}
		if out.ListSet && (call.Point != abi.PreFilter || call.Phase == abi.Chunk) || len(out.List) > abi.MaxListLen {
			t.Errorf("want no list of %d names here", len(out.List))
		}
		if call.Point != abi.Describe && call.Point != abi.Configure {
			checkPayload(t, call, &out)
		}
	})
}

func checkVerdict(t *testing.T, info *abi.PointInfo, v Verdict) {
	t.Helper()
	if !slices.Contains(info.Codes, v.Code) {
		t.Errorf("want a code of %s, got %s", info.Name, v.Code)
	}
	if named := v.Code == abi.Success || v.Code == abi.Skip; named != (len(v.Reasons) == 0) || len(v.Reasons) > abi.MaxReasons {
		t.Errorf("%s: got %d reasons", v.Code, len(v.Reasons))
	}
	for _, r := range v.Reasons {
		if !strings.HasPrefix(r, "p: ") || !utf8.ValidString(r) || len(r) > len("p: ")+abi.MaxReasonBytes || strings.ContainsAny(r, "\n\r\x1b\x00") {
			t.Errorf("want one line of text, got %q", r)
		}
	}
}

// checkPayload wants of a reply what host code trusts: a map, of a question one
// key, of intents their kinds and required keys.
func checkPayload(t *testing.T, call *Call, out *Result) {
	t.Helper()
	if k := out.Reply.Kind(); k != abi.Map && k != abi.Null {
		t.Errorf("reply: want a map, got %s", k)
	}
	if out.Next && (out.Reply.Len() != 1 || len(out.Intents) > 0 || out.Code != abi.Success) {
		t.Errorf("question: want one key, got %v with %s", out.Reply.Tree(), out.Code)
	}
	if key, ok := out.Reply.Get("key"); call.Point == abi.QueueKey && out.Code == abi.Success && (!ok || key.Kind() != abi.Int) {
		t.Errorf("queue_key: want a key, got %v", out.Reply.Tree())
	}
	for _, in := range out.Intents {
		for _, info := range abi.Intents() {
			if info.Kind != in.Kind {
				continue
			}
			if info.Points != nil && !slices.Contains(info.Points, call.Point) {
				t.Errorf("%s: want it at %v, got it at %s", in.Kind, info.Points, call.Point)
			}
			for _, k := range info.Keys {
				if _, ok := in.Value.Get(k.Key); k.Required && !ok {
					t.Errorf("%s: want the key %s, got %v", in.Kind, k.Key, in.Value.Tree())
				}
			}
		}
	}
}
