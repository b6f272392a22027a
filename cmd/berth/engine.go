// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/berth-scheduler/berth/host/engine"
)

// newEngine returns the engine that the scheduler uses by default. Compiled code
// stays in memory: a module is compiled once in a command.
func newEngine(ctx context.Context) (engine.Engine, error) {
	return engine.NewWazero(ctx, engine.WazeroOptions{})
}
