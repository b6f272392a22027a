// SPDX-License-Identifier: Apache-2.0

package host

import (
	"slices"
	"testing"

	"github.com/berth-scheduler/berth/host/points"
)

// The table of points says of each which instance it runs in and whether it may
// read the snapshot.
func TestPoints(t *testing.T) {
	for _, i := range points.Table() {
		beside := slices.Contains(asidePoints, i.Point)
		if want := map[bool]string{true: points.Beside, false: points.Cycle}[beside]; i.Instance != want {
			t.Errorf("%s: want the instance %s, the table says %s", i.Point, want, i.Instance)
		}
		r := &reading{point: i.Point}
		if !beside {
			r.cycle = &cycle{}
		}
		if i.Snapshot() != r.inCycle() {
			t.Errorf("%s: want the snapshot %t, the table says %t", i.Point, r.inCycle(), i.Snapshot())
		}
	}
}
