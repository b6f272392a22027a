// SPDX-License-Identifier: Apache-2.0

package host

import (
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
)

func TestUnsignable(t *testing.T) {
	for name, c := range map[string]struct {
		points, chunked []abi.Point
		change          func(*version)
		why             string
	}{
		"pure":                 {points: []abi.Point{abi.Filter, abi.Score}},
		"the pod in advance":   {points: []abi.Point{abi.PreFilter, abi.Filter, abi.PreScore, abi.Score}},
		"all nodes in advance": {points: []abi.Point{abi.PreFilter}, chunked: []abi.Point{abi.PreFilter}, why: "pre_filter"},
		"nodes to score":       {points: []abi.Point{abi.PreScore}, chunked: []abi.Point{abi.PreScore}, why: "pre_score"},
		"other pods":           {points: []abi.Point{abi.PreFilter, abi.AddPod}, why: "add_pod"},
		"not pure":             {change: func(v *version) { v.desc.Pure = false }, why: "pure"},
		"name and UID":         {change: func(v *version) { v.reads = map[string]bool{"pod.identity": true} }, why: "equal pods apart"},
		"objects":              {change: func(v *version) { v.desc.Resources = []abi.Resource{{Name: "v1/namespaces"}} }, why: "changes"},
	} {
		v := testVersion(t, "p", "")
		v.desc.Pure = true
		for _, p := range c.points {
			v.points[p] = true
		}
		for _, p := range c.chunked {
			v.chunked[p] = true
		}
		if c.change != nil {
			c.change(v)
		}
		if why := v.unsignable(); (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: want a reason with %q, got %q", name, c.why, why)
		}
	}
}
