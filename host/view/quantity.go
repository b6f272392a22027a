// SPDX-License-Identifier: Apache-2.0

package view

import (
	"math"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// unit is a quantity in the unit of its resource: cpu in thousandths, rounded
// up, clamped to the range of int64.
func unit(name v1.ResourceName, q *resource.Quantity) int64 {
	if name == v1.ResourceCPU {
		return milli(q)
	}
	return whole(q)
}

// whole is q rounded up to a whole number and clamped; Quantity.Value gives 0
// or the low bits where q is out of range. It may change q's inner form.
func whole(q *resource.Quantity) int64 {
	if v, ok := q.AsInt64(); ok {
		return v
	}
	if v, out := beyond(q, q.AsApproximateFloat64(), &wholeRange); out {
		return v
	}
	return q.Value()
}

// milli is whole of q in thousandths.
func milli(q *resource.Quantity) int64 {
	if v, out := beyond(q, q.AsApproximateFloat64()*1000, &milliRange); out {
		return v
	}
	return q.MilliValue()
}

// The ends of the range of int64, and those in thousandths.
var (
	wholeRange = [2]resource.Quantity{*resource.NewQuantity(math.MinInt64, resource.DecimalSI), *resource.NewQuantity(math.MaxInt64, resource.DecimalSI)}
	milliRange = [2]resource.Quantity{*resource.NewMilliQuantity(math.MinInt64, resource.DecimalSI), *resource.NewMilliQuantity(math.MaxInt64, resource.DecimalSI)}
)

// beyond is the end of a range that q, near to some float, lies at or past.
func beyond(q *resource.Quantity, near float64, ends *[2]resource.Quantity) (int64, bool) {
	if math.Abs(near) > math.MaxInt64/2 { // nearer than that a float can't tell
		switch {
		case q.Cmp(ends[0]) <= 0:
			return math.MinInt64, true
		case q.Cmp(ends[1]) >= 0:
			return math.MaxInt64, true
		}
	}
	return 0, false
}

// exact is unit of q if it is that number without rounding and small enough to
// be added up.
func exact(name v1.ResourceName, q *resource.Quantity) (int64, bool) {
	v, ok := q.AsInt64()
	switch {
	case name != v1.ResourceCPU:
	case ok && v < math.MaxInt64/1000:
		v *= 1000
	default:
		v = q.MilliValue()
		ok = q.Cmp(*resource.NewMilliQuantity(v, resource.DecimalSI)) == 0
	}
	return v, ok && v >= 0 && v < math.MaxInt64/1024
}
