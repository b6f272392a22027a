// SPDX-License-Identifier: Apache-2.0

package source

import "context"

// firstList is closed when a source has told everything that was there when it
// began.
type firstList chan struct{}

// Synced implements Source.
func (l firstList) Synced() bool {
	select {
	case <-l:
		return true
	default:
		return false
	}
}

// wait waits for Synced or returns ctx's error.
func (l firstList) wait(ctx context.Context) error {
	select {
	case <-l:
		return nil
	case <-ctx.Done():
		if l.Synced() {
			return nil
		}
		return ctx.Err()
	}
}
