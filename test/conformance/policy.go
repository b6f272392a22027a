// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"os"
	"path/filepath"
	"strings"
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

// Load writes a policy and waits until its new version decides. It returns the
// name by which the host knows it.
func (w *World) Load(p Policy) string {
	w.Helper()
	name := w.Named(p.Name)
	active, failed := swaps(w, name, "active"), swaps(w, name, "failed")
	w.write(p)
	w.Eventually("policy "+name+" decides", func() bool {
		if swaps(w, name, "failed") > failed {
			w.Fatalf("policy %s failed: %s", name, w.failure(p.Name))
		}
		return swaps(w, name, "active") > active
	})
	return name
}

// Refuse writes a policy that must not be taken, and returns why it wasn't.
func (w *World) Refuse(p Policy) string {
	w.Helper()
	name := w.Named(p.Name)
	active, failed := swaps(w, name, "active"), swaps(w, name, "failed")
	w.write(p)
	w.Eventually("policy "+name+" is refused", func() bool {
		if swaps(w, name, "active") > active {
			w.Fatalf("policy %s became active, want it refused", name)
		}
		return swaps(w, name, "failed") > failed
	})
	return w.failure(p.Name)
}

// failure waits for the status document to say why a policy failed.
func (w *World) failure(name string) string {
	w.Helper()
	status := ""
	w.Eventually("status of "+name, func() bool {
		status = w.Status(w.Named(name))
		return strings.Contains(status, `"state":"Failed"`) || strings.Contains(status, `"reason":"RolledBack"`)
	})
	return status
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
