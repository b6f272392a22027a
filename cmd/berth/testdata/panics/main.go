// SPDX-License-Identifier: Apache-2.0

// Command panics is a module that can't start.
package main

import _ "github.com/berth-scheduler/berth/guest-sdk/go" // the exports

func init() { panic("the moon is in the wrong place") }

func main() {}
