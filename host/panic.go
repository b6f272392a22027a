// SPDX-License-Identifier: Apache-2.0

package host

import "strings"

// panicLine finds the line in which a Go guest says why it ended.
func panicLine(output string) string {
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return line
		}
	}
	return ""
}
