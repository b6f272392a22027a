// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"math"
	"regexp"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/metrics"
)

var metricName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

func init() {
	checkers[abi.IntentMetric] = checkMetric
	carriers[abi.IntentMetric] = func(a *asking, v abi.Value) {
		name, _ := v.Get("name")
		if add, ok := v.Get("add"); ok {
			metrics.AddOwn(a.version.name, name.Text(), number(add))
			return
		}
		set, _ := v.Get("set")
		metrics.SetOwn(a.version.name, name.Text(), number(set))
	}
}

// number is a float, or an int in a float's place.
func number(v abi.Value) float64 {
	if v.Kind() == abi.Int {
		return float64(v.Int())
	}
	return v.Float()
}

func checkMetric(a *asking, v abi.Value) error {
	n, _ := v.Get("name")
	name := n.Text()
	if !metricName.MatchString(name) {
		return fmt.Errorf("name: want snake_case of at most 63 bytes, got %.63q", name)
	}
	add, counts := v.Get("add")
	set, sets := v.Get("set")
	if counts == sets {
		return fmt.Errorf("%s: want either add or set", name)
	}
	x := number(add)
	if sets {
		x = number(set)
	}
	if math.IsNaN(x) || math.IsInf(x, 0) || counts && x < 0 {
		return fmt.Errorf("%s: want a finite number, and none below 0 to add, got %g", name, x)
	}
	if !metrics.MayOwn(a.version.name, name, abi.MaxMetrics) {
		return fmt.Errorf("name: want at most %d of a policy's own, got %q on top", abi.MaxMetrics, name)
	}
	return nil
}
