// SPDX-License-Identifier: Apache-2.0

//go:build !wasip1

package berth

import "sync"

// Tests may make symbols and statuses in parallel.
var mu sync.Mutex

func lock()   { mu.Lock() }
func unlock() { mu.Unlock() }
