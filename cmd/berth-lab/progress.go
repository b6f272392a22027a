// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// newProgress returns a function that writes one line with the time since now.
// It may be called concurrently.
func newProgress(w io.Writer) func(format string, args ...any) {
	var mu sync.Mutex
	start := time.Now()
	return func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(w, "%6.1fs  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	}
}
