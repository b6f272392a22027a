// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"math"
	"testing"
)

func TestParseAmount(t *testing.T) {
	const most = math.MaxInt64
	for _, tc := range []struct {
		text         string
		value, milli int64
	}{
		{"0", 0, 0}, {"2", 2, 2000}, {"1.5", 2, 1500}, {".5", 1, 500}, {"3.", 3, 3000},
		{"500m", 1, 500}, {"1500m", 2, 1500}, {"1u", 1, 1}, {"1n", 1, 1}, {"0.0001", 1, 1},
		{"1k", 1000, 1_000_000}, {"2M", 2_000_000, 2_000_000_000}, {"1.5k", 1500, 1_500_000},
		{"1Ki", 1024, 1_024_000}, {"1.5Gi", 3 << 29, 3 << 29 * 1000}, {"8Ei", most, most}, {"9E", 9e18, most},
		{"1e3", 1000, 1_000_000}, {"1E-3", 1, 1}, {"12e+2", 1200, 1_200_000}, {"0e99", 0, 0}, {"1e99", most, most},
		{"999999999999999999", 999999999999999999, most}, {"999999999999999999E", most, most}, {".000000000000000001", 1, 1},
	} {
		value, milli, ok := ParseAmount(tc.text)
		if value != tc.value || milli != tc.milli || !ok {
			t.Errorf("%q: want %d, %d, got %d, %d, %t", tc.text, tc.value, tc.milli, value, milli, ok)
		}
	}
	for _, text := range []string{"", ".", "m", "-1", "+1", "1x", "1Kii", "1ki", "1 Gi", "1e", "1e+", "1e1x", "1e100", "1.2.3", "1000000000000000000", "Ki"} {
		if _, _, ok := ParseAmount(text); ok {
			t.Errorf("%q: want it refused", text)
		}
	}
}
