// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	bm "github.com/berth-scheduler/berth/host/metrics"
)

// Policy is a policy in a World's directory.
type Policy struct {
	// Name is what the test calls it; the World adds a suffix.
	Name string
	// Module are the bytes of policy.wasm; nil writes none.
	Module []byte
	// Config is the config in YAML's flow style: "{filter: reject}".
	Config string
	// Fields are more lines of policy.yaml.
	Fields string
}

// Named is the name by which the host knows a policy.
func (w *World) Named(name string) string { return name + w.suffix }

// write makes the policy's directory say what it should, at once.
func (w *World) write(p Policy) {
	w.Helper()
	name := w.Named(p.Name)
	w.loaded[name] = true
	text := "apiVersion: berth.dev/v1alpha1\nkind: Policy\n" + p.Fields + "\n"
	if p.Config != "" {
		text += "config: " + p.Config + "\n"
	}
	fresh := filepath.Join(w.dir, "."+name)
	steps := func() error {
		if err := os.Mkdir(fresh, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(fresh, "policy.yaml"), []byte(text), 0o644); err != nil {
			return err
		}
		if p.Module != nil {
			if err := os.WriteFile(filepath.Join(fresh, "policy.wasm"), p.Module, 0o644); err != nil {
				return err
			}
		}
		return replace(filepath.Join(w.dir, name), fresh)
	}
	if err := steps(); err != nil {
		w.Fatal(err)
	}
}

// replace puts a directory in another's place.
func replace(to, from string) error {
	old := from + ".old"
	if err := os.Rename(to, old); err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return os.RemoveAll(old)
}

// Load writes policies and waits until their new versions decide. It returns the
// name by which the host knows the first.
func (w *World) Load(policies ...Policy) string {
	w.Helper()
	before := map[string]float64{}
	for _, p := range policies {
		name := w.Named(p.Name)
		before[name] = swaps(w, name, "active")
		before["failed "+name] = swaps(w, name, "failed")
		w.write(p)
	}
	for _, p := range policies {
		name := w.Named(p.Name)
		w.Eventually("policy "+name+" decides", func() bool {
			if swaps(w, name, "failed") > before["failed "+name] {
				w.Fatalf("policy %s failed: %s", name, w.failure(p.Name))
			}
			return swaps(w, name, "active") > before[name]
		})
	}
	return w.Named(policies[0].Name)
}

// Refuse writes policies that must not be taken, and waits until they aren't.
// Why is in their status: see failure.
func (w *World) Refuse(policies ...Policy) {
	w.Helper()
	before := map[string]float64{}
	for _, p := range policies {
		name := w.Named(p.Name)
		before[name] = swaps(w, name, "active")
		before["failed "+name] = swaps(w, name, "failed")
		w.write(p)
	}
	for _, p := range policies {
		name := w.Named(p.Name)
		w.Eventually("policy "+name+" is refused", func() bool {
			if swaps(w, name, "active") > before[name] {
				w.Fatalf("policy %s became active, want it refused", name)
			}
			return swaps(w, name, "failed") > before["failed "+name]
		})
	}
}

// failure waits for the status document to say that a policy failed, with these
// words.
func (w *World) failure(name string, parts ...string) string {
	w.Helper()
	defer func() {
		if w.Failed() {
			w.Logf("status of %s, want it with %q: %s", name, parts, w.Status(w.Named(name)))
		}
	}()
	var entry struct{ State, Reason, Message string }
	w.Eventually("status of "+name, func() bool {
		if err := json.Unmarshal([]byte(w.Status(w.Named(name))), &entry); err != nil {
			return false
		}
		return (entry.State == "Failed" || entry.Reason == "RolledBack") && holds(entry.Message, parts...) == nil
	})
	return entry.State + ": " + entry.Message
}

// Remove deletes a policy and waits until the host has dropped it.
func (w *World) Remove(name string) {
	w.Helper()
	full := w.Named(name)
	if err := os.RemoveAll(filepath.Join(w.dir, full)); err != nil {
		w.Fatal(err)
	}
	w.Eventually("policy "+full+" is gone", func() bool {
		return swaps(w, full, "active")+swaps(w, full, "failed") == 0
	})
}

func swaps(t testing.TB, policy, result string) float64 {
	return counter(t, bm.Swaps.WithLabelValues(policy, result))
}

func counter(t testing.TB, m metrics.CounterMetric) float64 {
	t.Helper()
	v, err := testutil.GetCounterMetricValue(m)
	if err != nil {
		return 0 // not registered yet
	}
	return v
}

func gauge(t testing.TB, m metrics.GaugeMetric) float64 {
	t.Helper()
	v, err := testutil.GetGaugeMetricValue(m)
	if err != nil {
		return 0
	}
	return v
}

// state says whether a policy is in a state, by the metric.
func (w *World) state(policy, state string) bool {
	return gauge(w, bm.State.WithLabelValues(policy, state)) == 1
}

// faults is the number of a policy's faults at a point.
func (w *World) faults(policy, point, cause string) float64 {
	return counter(w, bm.Faults.WithLabelValues(policy, point, cause))
}
