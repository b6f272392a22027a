// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/berth-scheduler/berth/host/data"
	"github.com/berth-scheduler/berth/host/metrics"
	"github.com/berth-scheduler/berth/host/policy"
)

// firstValues is how long a new version waits for its data sets. It can do
// without: reads say not ready then.
const firstValues = 2 * time.Second

// holdDataSets starts what fetches a version's data sets.
func (m *manager) holdDataSets(ctx context.Context, v *version) error {
	queries := make([]data.Query, 0, len(v.policy.DataSets))
	for _, d := range v.policy.DataSets {
		q, err := m.query(d)
		if err != nil {
			return fmt.Errorf("policy.yaml: dataSets: %s: %w", d.Name, err)
		}
		queries = append(queries, q)
	}
	v.dataSets = make(map[string]*data.Feed, len(queries))
	for i, q := range queries {
		name := v.policy.DataSets[i].Name
		v.dataSets[name] = m.dataSets.Acquire(q, func(age time.Duration, changed bool) {
			if age >= 0 && m.host.decides(v) {
				metrics.DataSetAge.WithLabelValues(v.name, name).Set(age.Seconds())
			}
			if changed {
				v.dataEpoch.Add(1)
				if m.host.decides(v) {
					m.host.resourceChanged(v.name, nil, nil)
				}
			}
		})
	}
	ctx, cancel := context.WithTimeout(ctx, firstValues)
	defer cancel()
	for _, d := range v.dataSets {
		d.Tried(ctx)
		if err := d.Unready(); err != nil {
			return err
		}
	}
	return nil
}

// query is how a data set is fetched.
func (m *manager) query(d policy.DataSet) (data.Query, error) {
	interval := time.Duration(d.IntervalSeconds) * time.Second
	q := data.Query{Interval: interval, Timeout: min(interval, 10*time.Second)}
	if d.NodeMetrics != nil {
		if m.dynamic == nil {
			return q, fmt.Errorf("nodeMetrics: want a connection to the API server, got none")
		}
		q.Source, q.Fetch = "nodeMetrics", data.NodeMetrics(m.dynamic)
		return q, nil
	}
	p := data.Prometheus{URL: d.Prometheus.URL, Query: d.Prometheus.Query, Label: d.Prometheus.Label}
	for _, f := range []struct {
		field, name string
		path        *string
	}{{"bearerToken", d.Prometheus.BearerToken, &p.TokenFile}, {"ca", d.Prometheus.CA, &p.CAFile}} {
		switch dir := m.host.args.CredentialsDir; {
		case f.name == "":
		case dir == "":
			return q, fmt.Errorf("prometheus.%s: want credentialsDir in the plugin's arguments, got none", f.field)
		default:
			*f.path = filepath.Join(dir, f.name)
		}
	}
	text, err := json.Marshal(d.Prometheus)
	if err != nil {
		return q, err
	}
	q.Source, q.Fetch = "prometheus "+string(text), p.Fetch()
	return q, nil
}

// readDataSet is a value of a data set and its age, or all of them.
func readDataSet(r *reading) readAnswer {
	d := r.version.dataSets[r.part(0)]
	if d == nil {
		return refused
	}
	last := d.Last()
	if last == nil {
		return notReady
	}
	age := max(r.now()-last.At.UnixNano(), 0)
	if r.part(1) == "" {
		values := make(map[string]any, len(last.Values))
		for _, k := range slices.Sorted(maps.Keys(last.Values)) {
			values[k] = last.Values[k]
		}
		r.work += int64(len(values)) * fuelLooked
		return readAnswer{tree: map[string]any{"values": values, "age_ns": age}}
	}
	v, ok := last.Values[r.part(1)]
	if !ok {
		return absent
	}
	return readAnswer{tree: map[string]any{"value": v, "age_ns": age}}
}
