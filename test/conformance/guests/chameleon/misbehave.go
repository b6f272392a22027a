// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"time"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
)

// misbehave does what no policy should. "accept" and "" do nothing.
func (c *chameleon) misbehave(how string) *berth.Status {
	switch how {
	case "", "accept":
	case "panic":
		panic("told to panic")
	case "nil":
		var nobody *chameleon
		nobody.turns++
	case "loop":
		for {
			c.turns++
		}
	case "tree":
		c.turns += tree(40)
	case "recurse":
		c.turns += recurse(c.turns + 1)
	case "sleep":
		time.Sleep(time.Hour)
	case "wait":
		select {}
	case "leak":
		c.hoard = append(c.hoard, make([]byte, 1<<20))
	case "huge reason":
		return berth.Unschedulable(strings.Repeat("too much ", 1000))
	case "bad text":
		return berth.Unschedulable("\xff\xfe is no text")
	case "control":
		return berth.Unschedulable("\x1b[31mred\x1b[0m")
	default:
		panic("chameleon: there is no behaviour " + how)
	}
	return nil
}

// tree has no loop, and 2^depth calls.
//
//go:noinline
func tree(depth int) int {
	if depth == 0 {
		return 1
	}
	return tree(depth-1) + tree(depth-1)
}

//go:noinline
func recurse(n int) int {
	return recurse(n+1) + n
}
