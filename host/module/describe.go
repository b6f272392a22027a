// SPDX-License-Identifier: Apache-2.0

package module

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/policy"
	"github.com/berth-scheduler/berth/host/weave"
)

// CheckDescription compares what a running guest says of itself with the
// module's section, which was read before the guest ran and rules what it is
// granted. The error names what differs.
func CheckDescription(section, live []byte) error {
	if bytes.Equal(section, live) {
		return nil
	}
	want, err := abi.OpenValue(section)
	if err != nil {
		return fmt.Errorf("section %s: %w", abi.DescribeSection, err)
	}
	got, err := abi.OpenValue(live)
	if err != nil {
		return fmt.Errorf("describe: %w", err)
	}
	for _, k := range abi.DescriptionKeys {
		w, _ := want.Get(k.Key)
		g, _ := got.Get(k.Key)
		if a, b := fmt.Sprint(w.Tree()), fmt.Sprint(g.Tree()); a != b {
			return fmt.Errorf("describe: %s: want %s as in section %s, got %s", k.Key, clip(a), abi.DescribeSection, clip(b))
		}
	}
	return fmt.Errorf("describe: want the %d bytes of section %s, got %d other bytes", len(section), abi.DescribeSection, len(live))
}

// checkDescription compares a description with what the module exports and
// what this
// version of the host serves.
func checkDescription(d *abi.Description, i *weave.Interface) Problems {
	var ps Problems
	exported := pointsOf(i)
	for _, name := range d.Points {
		switch p, _ := abi.PointByName(name); {
		case !slices.Contains(exported, p):
			ps.add("describe: point %s: want an export %q, got none", name, name)
		}
	}
	if d.Pure && slices.ContainsFunc(i.Imports, func(im weave.Import) bool { return im.Module == abi.Module && im.Name == "read" }) {
		ps.add("describe: pure: want no import read in a pure policy, got one")
	}
	if err := policy.CheckSchema(d.Schema); err != nil {
		ps.add("describe: %v", err)
	}
	return ps
}
