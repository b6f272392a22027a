// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"strings"
)

// startTime is when berth-scheduler's process started, as its own metrics say.
func (d *demo) startTime(ctx context.Context) (string, error) {
	metrics, err := d.berth.Get(ctx, "/metrics")
	return metric(string(metrics), "process_start_time_seconds"), err
}

// metric is the value of a metric without labels, empty if there is none: the
// start time is exported on Linux only.
func metric(metrics, name string) string {
	for line := range strings.Lines(metrics) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// countRestarts compares what answers now with what was started. The demo
// starts the process once, so that there is nothing to count but whether it is
// still the same.
func (d *demo) countRestarts(ctx context.Context) error {
	now, err := d.startTime(ctx)
	if err != nil {
		return err
	}
	if now != d.started {
		d.result.SchedulerRestarts = 1
	}
	return nil
}
