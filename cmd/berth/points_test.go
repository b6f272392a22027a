// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/abi"
)

const queueKeyText = `queue_key
  method        BerthQueueSort.PreEnqueue
  called by     the queue, as at pre_enqueue; for the first policy in order that has the point
  goroutine     whichever changes the queue, under the queue's lock: one at a time
  success       the key counts until the pod is queued anew: pods with a lower one come first, then
                priority and age decide
  error         a fault: the failure policy decides
  idle          success: the neutral key 0, which leaves PrioritySort's order
  Fail          the pod is gated, and asked about again with back-off, from 1 s to 1 min
  Ignore        the neutral key 0

`

func TestPoints(t *testing.T) {
	berth(t, "", "points", "queue_key").want(t, exitOK).wantOut(t, queueKeyText)

	all := berth(t, "", "points").want(t, exitOK).out
	for _, p := range abi.Points {
		if named := strings.Contains("\n"+all, "\n"+p.Name+"\n"); named == (p.Point == abi.Describe || p.Point == abi.Configure) {
			t.Errorf("%s: want the points and not the two calls of a policy's life, got it named %t", p.Name, named)
		}
	}
	if !strings.Contains(all, "\nout of reach\n  PlacementFeasible\n") {
		t.Errorf("want what is out of reach, got %s", all)
	}
	for line := range strings.Lines(all) {
		if len(line) > textWidth+1 {
			t.Errorf("want at most %d columns, got %q", textWidth, line)
		}
	}
	if wide := berth(t, "", "points", "-o", "wide", "permit").want(t, exitOK).out; !strings.Contains(wide, "  intents       activate, allow, reject, event, metric, state\n") {
		t.Errorf("wide: want the intents, got %s", wide)
	}
}

func TestPointsStructured(t *testing.T) {
	var fromJSON, fromYAML pointsReport
	if err := json.Unmarshal([]byte(berth(t, "", "points", "-o", "json").want(t, exitOK).out), &fromJSON); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(berth(t, "", "points", "-o", "yaml").want(t, exitOK).out), &fromYAML); err != nil {
		t.Fatal(err)
	}
	for _, r := range []pointsReport{fromJSON, fromYAML} {
		if len(r.Points) != len(abi.Points)-2 || len(r.OutOfReach) == 0 {
			t.Fatalf("want all points and what is out of reach, got %d and %d", len(r.Points), len(r.OutOfReach))
		}
		for _, p := range r.Points {
			if p.Point == "bind" && (p.Idle.Code != "skip" || p.Failure.Fail == "" || len(p.Codes) != 3 || p.Intents[len(p.Intents)-1] != "bind") {
				t.Errorf("bind: got %+v", p)
			}
		}
	}
}

func TestPointsUsage(t *testing.T) {
	berth(t, "", "points", "describe").want(t, exitUsage).wantErr(t, `berth points: want names of points, got "describe"`)
	berth(t, "", "points", "-o", "csv").want(t, exitUsage).wantErr(t, `--output: want text, wide, json or yaml, got "csv"`)
}
