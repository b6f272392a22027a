// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
)

// LogError writes a line to the scheduler's log: a message and pairs of keys
// and values. The host adds the policy's name, and drops what is too much.
func LogError(message string, pairs ...string) { logLine(abi.LogError, message, pairs) }

// LogWarning is LogError for what somebody should look at some day.
func LogWarning(message string, pairs ...string) { logLine(abi.LogWarning, message, pairs) }

// LogInfo is LogError for what is worth knowing.
func LogInfo(message string, pairs ...string) { logLine(abi.LogInfo, message, pairs) }

// LogDebug is LogError for what helps to find a fault.
func LogDebug(message string, pairs ...string) { logLine(abi.LogDebug, message, pairs) }

func logLine(level uint32, message string, pairs []string) {
	b := append(current.line[:0], message...)
	for i, s := range pairs {
		if i%2 == 0 {
			b = append(append(b, ' '), s...)
			continue
		}
		b = append(b, '=')
		if plain(s) {
			b = append(b, s...)
		} else {
			b = quote(b, s)
		}
	}
	current.line = b
	hostLog(level, cut(unsafe.String(unsafe.SliceData(b), len(b)), abi.MaxLogBytes))
}

// plain says whether a value needs no quotes.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7f {
			return false
		}
	}
	return s != ""
}

func quote(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
