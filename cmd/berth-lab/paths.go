// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// beside returns the path of a name in the executable's own directory, where
// make puts everything.
func beside(name string) string {
	self, err := os.Executable()
	if err != nil {
		return name
	}
	return filepath.Join(filepath.Dir(self), name)
}

// mustExist says what to do about a path that isn't there.
func mustExist(path, flag, target string) error {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("%w: run \"make %s\", or give --%s", err, target, flag)
	}
	return nil
}
