// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	schedutil "k8s.io/kubernetes/pkg/scheduler/util"

	"github.com/berth-scheduler/berth/abi"
)

// amount is what one source says of a resource: column is where its row takes
// it.
type amount struct {
	name   string
	column int
	value  int64
	keep   bool // the row stays even if all its columns are 0
}

// row is a resource with its columns.
type row struct {
	name   string
	id     uint32
	values [4]int64
}

func (e *Encoder) add(column int, name v1.ResourceName, value int64, keep bool) {
	e.amounts = append(e.amounts, amount{string(name), column, value, keep})
}

// addCounted adds what the scheduler counts, all but the number of pods. With
// keep, cpu, memory and ephemeral-storage get a row in any case.
func (e *Encoder) addCounted(column int, r fwk.Resource, keep bool) {
	e.add(column, v1.ResourceCPU, r.GetMilliCPU(), keep)
	e.add(column, v1.ResourceMemory, r.GetMemory(), keep)
	e.add(column, v1.ResourceEphemeralStorage, r.GetEphemeralStorage(), keep)
	for name, v := range r.GetScalarResources() {
		e.add(column, name, v, false)
	}
}

// addList adds a list of quantities, of the resources that the scheduler counts
// or, with all, of every one.
func (e *Encoder) addList(column int, list v1.ResourceList, counted fwk.Resource, all bool) {
	for name, q := range list {
		if all || countable(name, counted) {
			e.add(column, name, unit(name, &q), all)
		}
	}
}

// countable says whether the scheduler counts a resource. The names that
// counted holds are known to be; for others it takes a slow check of the name.
func countable(name v1.ResourceName, counted fwk.Resource) bool {
	switch name {
	case v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, v1.ResourcePods:
		return true
	}
	if _, ok := counted.GetScalarResources()[name]; ok {
		return true
	}
	return schedutil.IsScalarResourceName(name)
}

// merge makes rows of the amounts, sorted by name id, and forgets the amounts.
// Rows of zeros are left out, for the scheduler keeps some from pods that are
// gone. The rows are in scratch memory, good until the next call.
func (e *Encoder) merge() []row {
	slices.SortFunc(e.amounts, func(a, b amount) int { return cmp.Compare(a.name, b.name) })
	rows := e.rows[:0]
	for i := 0; i < len(e.amounts); {
		r, keep := row{name: e.amounts[i].name}, false
		for ; i < len(e.amounts) && e.amounts[i].name == r.name; i++ {
			r.values[e.amounts[i].column] = e.amounts[i].value
			keep = keep || e.amounts[i].keep
		}
		if keep || r.values != [4]int64{} {
			r.id = e.id(r.name)
			rows = append(rows, r)
		}
	}
	e.amounts, e.rows = e.amounts[:0], rows
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.id, b.id) })
	return rows
}

// quantityList writes the amounts' first column as a list of quantities at.
func (e *Encoder) quantityList(at uint32) {
	rows := e.merge()
	off := e.w.list(at, len(rows), abi.QuantitySize)
	for i := range rows {
		e.w.u32(off+abi.QuantityName, rows[i].id)
		e.w.i64(off+abi.QuantityValue, rows[i].values[0])
		off += abi.QuantitySize
	}
}

func (e *Encoder) nodeResources(ni fwk.NodeInfo) {
	const allocatable, capacity, requested, nonZero = 0, 1, 2, 3
	have, used, least := ni.GetAllocatable(), ni.GetRequested(), ni.GetNonZeroRequested()
	e.addCounted(allocatable, have, true)
	e.add(allocatable, v1.ResourcePods, int64(have.GetAllowedPodNumber()), true)
	e.addCounted(requested, used, false)
	e.add(requested, v1.ResourcePods, int64(len(ni.GetPods())), true)
	e.addList(capacity, ni.Node().Status.Capacity, have, false)
	rows := e.merge()
	off := e.listSection(abi.NodeResources, len(rows), abi.NodeResourceSize)
	for i := range rows {
		v := &rows[i].values
		v[nonZero] = v[requested]
		switch v1.ResourceName(rows[i].name) {
		case v1.ResourceCPU:
			v[nonZero] = least.GetMilliCPU()
		case v1.ResourceMemory:
			v[nonZero] = least.GetMemory()
		}
		e.w.u32(off+abi.NodeResourceName, rows[i].id)
		e.w.i64(off+abi.NodeResourceAllocatable, v[allocatable])
		e.w.i64(off+abi.NodeResourceCapacity, v[capacity])
		e.w.i64(off+abi.NodeResourceRequested, v[requested])
		e.w.i64(off+abi.NodeResourceNonZeroRequested, v[nonZero])
		off += abi.NodeResourceSize
	}
}

func (e *Encoder) podResources(pod *v1.Pod) {
	const request, nonZero, limit, overhead = 0, 1, 2, 3
	total := (&framework.PodInfo{Pod: pod}).CalculateResource()
	e.addCounted(request, total.Resource, false)
	e.add(nonZero, v1.ResourceCPU, total.Non0CPU, true)
	e.add(nonZero, v1.ResourceMemory, total.Non0Mem, true)
	e.addLimits(limit, pod, total.Resource)
	e.addList(overhead, pod.Spec.Overhead, total.Resource, false)
	rows := e.merge()
	off := e.listSection(abi.PodResources, len(rows), abi.PodResourceSize)
	for i := range rows {
		v := &rows[i].values
		if n := v1.ResourceName(rows[i].name); n != v1.ResourceCPU && n != v1.ResourceMemory {
			v[nonZero] = v[request]
		}
		e.w.u32(off+abi.PodResourceName, rows[i].id)
		e.w.i64(off+abi.PodResourceRequest, v[request])
		e.w.i64(off+abi.PodResourceNonZeroRequest, v[nonZero])
		e.w.i64(off+abi.PodResourceLimit, v[limit])
		e.w.i64(off+abi.PodResourceOverhead, v[overhead])
		off += abi.PodResourceSize
	}
}
