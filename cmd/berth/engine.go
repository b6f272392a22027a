// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"

	"github.com/berth-scheduler/berth/host/engine"
)

// cacheVariable names a directory that keeps compiled modules between calls:
// compiling takes a second or two, reading them some 50 ms. It runs as native
// code, so it must be the user's alone; nothing in it is ever removed.
const cacheVariable = "BERTH_CACHE_DIR"

// newEngine returns the engine that the scheduler uses by default.
func newEngine(ctx context.Context) (engine.Engine, error) {
	return engine.NewWazero(ctx, engine.WazeroOptions{CacheDir: os.Getenv(cacheVariable)})
}
