// SPDX-License-Identifier: Apache-2.0

// Package metrics is what Berth adds to the scheduler's /metrics. Labels are
// names of policies and points, words from fixed lists, and a bounded number of
// names of each policy's own, so the number of series is bounded by the number of
// policies.
package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

const subsystem = "berth"

func counter(name, help string, labels ...string) *metrics.CounterVec {
	return metrics.NewCounterVec(&metrics.CounterOpts{Subsystem: subsystem, Name: name, Help: help, StabilityLevel: metrics.ALPHA}, labels)
}

func gauge(name, help string, labels ...string) *metrics.GaugeVec {
	return metrics.NewGaugeVec(&metrics.GaugeOpts{Subsystem: subsystem, Name: name, Help: help, StabilityLevel: metrics.ALPHA}, labels)
}

// The metrics. All are of the process: two schedulers in one process share
// them.
var (
	Calls            = counter("calls_total", "Guest calls by policy and point.", "policy", "point")
	CallSeconds      = metrics.NewHistogramVec(&metrics.HistogramOpts{Subsystem: subsystem, Name: "call_duration_seconds", Help: "Time of a guest call, views and results included, by policy and point.", Buckets: metrics.ExponentialBuckets(0.00001, 4, 10), StabilityLevel: metrics.ALPHA}, []string{"policy", "point"})
	Fuel             = counter("fuel_total", "Fuel used by policy and point, about one WebAssembly instruction a unit.", "policy", "point")
	Verdicts         = counter("verdicts_total", "Nodes evaluated by policy, point and status code.", "policy", "point", "code")
	CacheHits        = counter("cache_hits_total", "Nodes answered from the cycle's cache by policy and point.", "policy", "point")
	Faults           = counter("faults_total", "Faults by policy, point and cause.", "policy", "point", "cause")
	Swaps            = counter("swaps_total", "New versions by policy and result (active, failed).", "policy", "result")
	Instances        = counter("instances_total", "Instances made by policy.", "policy")
	LiveInstances    = gauge("live_instances", "Versions that hold an instance, by policy.", "policy")
	GuestMemory      = gauge("guest_memory_bytes", "Linear memory of the policy's instance.", "policy")
	ViewsEncoded     = counter("views_encoded_total", "Node views whose bytes changed, by policy.", "policy")
	ViewBytes        = counter("view_bytes_total", "Bytes of node views copied into guests, by policy.", "policy")
	State            = gauge("policy_state", "1 for the state that the policy is in.", "policy", "state")
	Evictions        = counter("evictions_total", "Victims by policy and result (evicted, cancelled in memory, gone before, failed).", "policy", "result")
	BudgetViolations = counter("budget_violations_total", "Victims evicted in violation of a disruption budget, by policy.", "policy")
	DataSetAge       = gauge("data_set_age_seconds", "How old a data set's values were when they were last asked for, by policy and name.", "policy", "name")
	PolicyEvents     = counter("policy_events_total", "Events that the policy asked for, by policy and result (written, dropped).", "policy", "result")
	Count            = counter("policy_count_total", "What the policy counts itself, by policy and the policy's name for it.", "policy", "name")
	Gauge            = gauge("policy_metric", "What the policy measures itself, by policy and the policy's name for it.", "policy", "name")
	Waiting          = gauge("start_gate_pods", "Pods held until the first policies are active.")
)

// EvictionResults are the values of the label result of Evictions.
var EvictionResults = []string{"evicted", "cancelled", "gone", "failed"}

// vector is what counters, gauges and histograms have in common.
type vector interface {
	metrics.Registerable
	DeletePartialMatch(labels prometheus.Labels) int
}

// byPolicy are the metrics with a policy's name among their labels.
var byPolicy = []vector{Calls, CallSeconds, Fuel, Verdicts, CacheHits, Faults, Swaps, Instances, LiveInstances, GuestMemory, ViewsEncoded, ViewBytes, State, Evictions, BudgetViolations, DataSetAge, PolicyEvents, Count, Gauge}

var register sync.Once

// Register adds the metrics to the scheduler's registry, once a process.
func Register() {
	register.Do(func() {
		for _, v := range byPolicy {
			legacyregistry.MustRegister(v)
		}
		legacyregistry.MustRegister(Waiting)
	})
}

// Forget drops the series of a policy that is gone.
func Forget(policy string) {
	forgetOwn(policy)
	for _, v := range byPolicy {
		v.DeletePartialMatch(prometheus.Labels{"policy": policy})
	}
}
