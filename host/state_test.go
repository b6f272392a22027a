// SPDX-License-Identifier: Apache-2.0

package host

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
)

func TestState(t *testing.T) {
	start := time.Unix(1000, 0)
	var s policyState
	put := func(key, text string, ttl, after time.Duration) bool {
		t.Helper()
		var record []byte
		if text != "" {
			record = []byte(text)
		}
		changed, err := s.put("p", key, record, ttl, start.Add(after))
		if err != nil {
			t.Fatal(err)
		}
		return changed
	}
	get := func(key string, after time.Duration) string { return string(s.get("p", key, start.Add(after))) }

	if put("a", "", 0, 0) || s.version("p") != 0 {
		t.Error("forgetting what isn't kept: want nothing changed")
	}
	if !put("a", "1", 0, 0) || put("a", "1", 0, 0) || !put("a", "2", 0, 0) {
		t.Error("want a change told, and only a change")
	}
	if !put("b", "x", time.Hour, 0) || get("b", time.Hour-1) != "x" || get("b", time.Hour) != "" {
		t.Error("want b kept for an hour")
	}
	if get("a", 1000*time.Hour) != "2" || get("none", 0) != "" || s.get("other", "a", start) != nil {
		t.Error("want a kept for ever, and policies apart")
	}
	before := s.version("p")
	if !put("a", "", 0, 2*time.Hour) || get("a", 0) != "" {
		t.Error("want a forgotten")
	}
	if k := s.by["p"]; len(k.keys) != 0 || k.bytes != 0 || s.version("p") != before+2 {
		t.Errorf("want nothing left and two changes more, got %+v", k)
	}
	s.drop("p")
	s.drop("p")
	if len(s.by) != 0 {
		t.Error("want the policy forgotten")
	}
}

// A policy's state is bounded; what doesn't fit is refused, which the log says
// once, and what was there stays.
func TestStateFull(t *testing.T) {
	var s policyState
	now := time.Unix(1000, 0)
	half := []byte(strings.Repeat("x", abi.MaxStateBytes/2-1))
	for _, key := range []string{"a", "b"} {
		if _, err := s.put("p", key, half, 0, now); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.put("p", "c", []byte("x"), 0, now); err == nil || !strings.Contains(err.Error(), "want at most 1048576 bytes in all, got 1048578") {
		t.Errorf("want the limit and what was wanted, got %v", err)
	}
	if changed, err := s.put("p", "c", []byte("x"), 0, now); changed || err != nil {
		t.Errorf("again: want it refused in silence, got %t, %v", changed, err)
	}
	if _, err := s.put("p", "a", half, 0, now); err != nil {
		t.Errorf("in another's place: want it kept, got %v", err)
	}
	if _, err := s.put("p", "c", []byte("x"), 0, now); err == nil {
		t.Error("after a value was taken: want it said again")
	}
	if s.get("p", "c", now) != nil || len(s.get("p", "b", now)) != len(half) {
		t.Error("want what was kept, and nothing else")
	}
}

// Values that expire by themselves are told, each once; the timer follows what is
// put later and what goes earlier.
func TestStateExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var told []time.Duration
		s := policyState{expired: func(string) { told = append(told, time.Since(start)) }}
		put := func(key string, ttl time.Duration) {
			if _, err := s.put("p", key, []byte(key), ttl, time.Now()); err != nil {
				t.Error(err)
			}
		}
		put("long", 10*time.Second)
		put("short", time.Second)
		put("again", 2*time.Second)
		put("never", 0)
		time.Sleep(1500 * time.Millisecond)
		put("again", 4*time.Second)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		want := []time.Duration{time.Second, 5500 * time.Millisecond, 10 * time.Second}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		put("dropped", time.Second)
		s.drop("p")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(told) != len(want) {
			t.Error("want nothing told of a policy that is gone")
		}
	})
}

func TestCarryState(t *testing.T) {
	v := testVersion(t, "p", "")
	var said []string
	v.log = func(_ uint32, line string) { said = append(said, line) }
	h, _, _ := testHost(entryOf(v))
	a := &asking{host: h, version: v, point: abi.PreFilter}
	carry := func(tree map[string]any) {
		t.Helper()
		record, err := abi.EncodeValue(tree)
		if err != nil {
			t.Fatal(err)
		}
		value, err := abi.OpenValue(record)
		if err != nil {
			t.Fatal(err)
		}
		carriers[abi.IntentState](a, value)
	}
	read := func() any {
		t.Helper()
		tree, _ := (&reading{host: h, version: v}).treeOf(t, abi.ReadState, "k")
		return tree
	}
	kept := map[string]any{"n": int64(1), "list": []any{"a", 1.5}}
	carry(map[string]any{"key": "k", "value": kept, "ttl_ns": int64(0)})
	if diff := cmp.Diff(any(kept), read()); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	// Another version of the policy has it, and its epoch counted it.
	next := testVersion(t, "p", "")
	if tree, _ := (&reading{host: h, version: next}).treeOf(t, abi.ReadState, "k"); tree == nil {
		t.Error("want the state to survive a swap")
	}
	epoch := next.readEpoch(h)
	carry(map[string]any{"key": "k", "value": nil})
	if read() != nil || next.readEpoch(h) == epoch {
		t.Error("want null to forget, and the epoch to move")
	}
	for _, key := range []string{"", strings.Repeat("k", abi.MaxStateKeyBytes+1)} {
		said = nil
		carry(map[string]any{"key": key, "value": int64(1)})
		if len(said) != 1 || !strings.Contains(said[0], "want 1 to 253 bytes") {
			t.Errorf("key of %d bytes: want it refused, got %q", len(key), said)
		}
	}
	h.active.Store(newActiveSet(2, nil))
	carry(map[string]any{"key": "k", "value": int64(1)})
	if read() != nil {
		t.Error("want nothing kept for a policy that is gone")
	}
}
