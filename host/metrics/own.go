// SPDX-License-Identifier: Apache-2.0

package metrics

import "sync"

// own are the names of the metrics of each policy's own.
var own = struct {
	mu    sync.Mutex
	names map[string]map[string]struct{}
}{names: map[string]map[string]struct{}{}}

// MayOwn says whether a policy may have a metric of this name, being one of at
// most so many, and notes it.
func MayOwn(policy, name string, most int) bool {
	own.mu.Lock()
	defer own.mu.Unlock()
	names := own.names[policy]
	if _, ok := names[name]; ok {
		return true
	}
	if len(names) >= most {
		return false
	}
	if names == nil {
		names = map[string]struct{}{}
		own.names[policy] = names
	}
	names[name] = struct{}{}
	return true
}

// AddOwn counts a metric of a policy's own up.
func AddOwn(policy, name string, delta float64) { Count.WithLabelValues(policy, name).Add(delta) }

// SetOwn sets a metric of a policy's own.
func SetOwn(policy, name string, value float64) { Gauge.WithLabelValues(policy, name).Set(value) }

func forgetOwn(policy string) {
	own.mu.Lock()
	defer own.mu.Unlock()
	delete(own.names, policy)
}
