// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/dump"
	"github.com/berth-scheduler/berth/host/intern"
)

// The oracle says what a record must hold, from the object alone and by the
// tables' words: a map of sections to lists of entries, which are maps of field
// names to int64, string, []string (ids) or lists of entries.
type (
	fields  = map[string]any
	entries = []fields
	record  = map[string]entries
)

// plain is a record in the oracle's form.
func plain(r *dump.Record) record {
	out := record{}
	for _, s := range r.Sections {
		out[s.Name] = plainEntries(s.Entries)
	}
	return out
}

func plainEntries(list []dump.Entry) entries {
	out := entries{}
	for _, e := range list {
		m := fields{}
		for _, f := range e {
			switch v := f.Value.(type) {
			case uint64:
				m[f.Name] = int64(v)
			case dump.ID:
				m[f.Name] = v.Text
			case []dump.ID:
				ids := []string{}
				for _, id := range v {
					ids = append(ids, id.Text)
				}
				m[f.Name] = ids
			case []dump.Entry:
				m[f.Name] = plainEntries(v)
			default:
				m[f.Name] = v
			}
		}
		out = append(out, m)
	}
	return out
}

// oracle knows the ids, which sorted lists are sorted by.
type oracle struct{ table *intern.Table }

func (o oracle) sort(list entries, keys ...string) entries {
	slices.SortFunc(list, func(a, b fields) int {
		for _, k := range keys {
			c := 0
			if n, ok := a[k].(int64); ok {
				c = cmp.Compare(n, b[k].(int64))
			} else {
				x, _ := o.table.ID(a[k].(string))
				y, _ := o.table.ID(b[k].(string))
				c = cmp.Compare(x, y)
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
	return list
}

func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func cleaned(list []string) []string {
	out := []string{}
	for _, s := range list {
		out = append(out, clean(s))
	}
	return out
}

func (o oracle) pairs(m map[string]string) entries {
	out := entries{}
	for k, v := range m {
		out = append(out, fields{"key": clean(k), "value": clean(v)})
	}
	return o.sort(out, "key")
}

func flag01(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func unix(t *metav1.Time) int64 {
	if t == nil || t.IsZero() {
		return 0
	}
	return t.Unix()
}

// units is a quantity in its resource's unit, by big numbers.
func units(name v1.ResourceName, q resource.Quantity) int64 {
	r, _ := new(big.Rat).SetString(q.AsDec().String())
	if name == v1.ResourceCPU {
		r.Mul(r, big.NewRat(1000, 1))
	}
	n, m := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	if m.Sign() != 0 {
		n.Add(n, big.NewInt(1))
	}
	switch {
	case n.IsInt64():
		return n.Int64()
	case n.Sign() > 0:
		return math.MaxInt64
	}
	return math.MinInt64
}

func (o oracle) quantities(list v1.ResourceList) entries {
	out := entries{}
	for name, q := range list {
		out = append(out, fields{"name": string(name), "value": units(name, q)})
	}
	return o.sort(out, "name")
}

// counted is a resource of the scheduler as a map.
func counted(r *framework.Resource) map[string]int64 {
	m := map[string]int64{"cpu": r.MilliCPU, "memory": r.Memory, "ephemeral-storage": r.EphemeralStorage}
	for name, v := range r.ScalarResources {
		m[string(name)] = v
	}
	return m
}

// listed is a list of quantities as a map of those that the scheduler counts.
func listed(list v1.ResourceList) map[string]int64 {
	m := map[string]int64{}
	for name, q := range list {
		if c := framework.NewResource(v1.ResourceList{name: q}); name != v1.ResourcePods && len(c.ScalarResources) == 0 &&
			name != v1.ResourceCPU && name != v1.ResourceMemory && name != v1.ResourceEphemeralStorage {
			continue
		}
		m[string(name)] = units(name, q)
	}
	return m
}

// table makes rows of columns, leaving out rows of zeros but those in always.
func (o oracle) rows(always []string, columns map[string]map[string]int64) entries {
	names := map[string]bool{}
	for _, name := range always {
		names[name] = true
	}
	for _, c := range columns {
		for name, v := range c {
			names[name] = names[name] || v != 0
		}
	}
	out := entries{}
	for name, in := range names {
		if !in {
			continue
		}
		row := fields{"name": name}
		for column, c := range columns {
			row[column] = c[name]
		}
		out = append(out, row)
	}
	return o.sort(out, "name")
}

var effects = map[v1.TaintEffect]int64{
	v1.TaintEffectNoSchedule: abi.EffectNoSchedule, v1.TaintEffectPreferNoSchedule: abi.EffectPreferNoSchedule, v1.TaintEffectNoExecute: abi.EffectNoExecute,
}

func (o oracle) node(ni *framework.NodeInfo) record {
	n := ni.Node()
	r := record{"node.meta": {{
		"name": clean(n.Name), "uid": clean(string(n.UID)), "created": unix(&n.CreationTimestamp), "unschedulable": flag01(n.Spec.Unschedulable),
	}}}
	r["node.labels"] = o.pairs(n.Labels)
	r["node.annotations"] = o.pairs(n.Annotations)
	for _, key := range []string{"node.taints", "node.conditions", "node.ports", "node.images", "node.pods", "node.pvcs", "node.features", "node.pod_affinity"} {
		r[key] = entries{}
	}
	put := func(key string, f fields) { r[key] = append(r[key], f) }
	for _, t := range n.Spec.Taints {
		put("node.taints", fields{"key": clean(t.Key), "value": clean(t.Value), "effect": effects[t.Effect], "added": unix(t.TimeAdded)})
	}
	for _, c := range n.Status.Conditions {
		status := map[v1.ConditionStatus]int64{v1.ConditionTrue: abi.ConditionTrue, v1.ConditionFalse: abi.ConditionFalse}[c.Status]
		put("node.conditions", fields{"type": clean(string(c.Type)), "status": status, "reason": clean(c.Reason), "transition": unix(&c.LastTransitionTime)})
	}
	for ip, list := range ni.UsedPorts {
		for p := range list {
			put("node.ports", fields{"ip": clean(ip), "protocol": clean(p.Protocol), "host_port": int64(p.Port), "container_port": int64(0)})
		}
	}
	o.sort(r["node.ports"], "host_port", "protocol", "ip")
	for name, s := range ni.ImageStates {
		put("node.images", fields{"name": clean(name), "nodes": int64(s.NumNodes), "bytes": s.Size})
	}
	o.sort(r["node.images"], "name")
	for _, name := range slices.Sorted(keys(ni.PVCRefCounts)) {
		put("node.pvcs", fields{"name": clean(name), "count": int64(ni.PVCRefCounts[name])})
	}
	declared := slices.Clone(n.Status.DeclaredFeatures)
	slices.Sort(declared)
	for _, f := range slices.Compact(declared) {
		put("node.features", fields{"name": clean(f)})
	}
	o.sort(r["node.features"], "name")

	allocatable, requested, nonZero := counted(ni.Allocatable), counted(ni.Requested), counted(ni.Requested)
	allocatable["pods"], requested["pods"], nonZero["pods"] = int64(ni.Allocatable.AllowedPodNumber), int64(len(ni.Pods)), int64(len(ni.Pods))
	nonZero["cpu"], nonZero["memory"] = ni.NonZeroRequested.MilliCPU, ni.NonZeroRequested.Memory
	r["node.resources"] = o.rows([]string{"cpu", "memory", "ephemeral-storage", "pods"}, map[string]map[string]int64{
		"allocatable": allocatable, "capacity": listed(n.Status.Capacity), "requested": requested, "non_zero_requested": nonZero,
	})

	for i, pi := range ni.Pods {
		for _, term := range o.pod(pi.GetPod())["pod.pod_affinity"] {
			term["pod"] = int64(i)
			put("node.pod_affinity", term)
		}
		p := pi.GetPod()
		f := fields{
			"namespace": clean(p.Namespace), "flags": int64(0), "name": clean(p.Name), "uid": clean(string(p.UID)), "priority": int64(0),
			"owner_kind": "", "owner_name": "", "owner_uid": "", "started": unix(p.Status.StartTime), "deletion": unix(p.DeletionTimestamp),
			"labels":   o.pairs(p.Labels),
			"requests": o.rows(nil, map[string]map[string]int64{"value": counted(pi.CalculateResource().Resource.(*framework.Resource))}),
			"limits":   o.rows(nil, map[string]map[string]int64{"value": listed(limitsOf(p))}),
		}
		if p.Spec.Priority != nil {
			f["priority"] = int64(*p.Spec.Priority)
		}
		if p.DeletionTimestamp != nil {
			f["flags"] = int64(abi.NodePodTerminating)
		}
		if c := metav1.GetControllerOf(p); c != nil {
			f["owner_kind"], f["owner_name"], f["owner_uid"] = clean(c.Kind), clean(c.Name), clean(string(c.UID))
		}
		put("node.pods", f)
	}
	return r
}

func keys(m map[string]int) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
