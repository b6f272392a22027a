// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestParsePrice(t *testing.T) {
	tests := []struct {
		text  string
		price int64
		ok    bool
	}{
		{"0", 0, true},
		{"1", 1_000_000, true},
		{"0.25", 250_000, true},
		{".5", 500_000, true},
		{"2.", 2_000_000, true},
		{"007.50", 7_500_000, true},
		{"0.0000019", 1, true},
		{"0.12345678901234567890", 123_456, true},
		{"100000000", 1e14, true},
		{"100000001", 0, false},
		{"99999999999999999999999999", 0, false},
		{"", 0, false},
		{".", 0, false},
		{"1.2.3", 0, false},
		{"-1", 0, false},
		{"+1", 0, false},
		{"1e3", 0, false},
		{"0,25", 0, false},
		{" 1", 0, false},
		{"1 EUR", 0, false},
		{"٣", 0, false},
	}
	for _, tt := range tests {
		if price, ok := parsePrice(tt.text); price != tt.price || ok != tt.ok {
			t.Errorf("parsePrice(%q): want %d, %t, got %d, %t", tt.text, tt.price, tt.ok, price, ok)
		}
	}
}

func FuzzParsePrice(f *testing.F) {
	f.Add("0.25")
	f.Add("99999999999999999999.9999999")
	f.Fuzz(func(t *testing.T, text string) {
		if price, ok := parsePrice(text); ok && (price < 0 || price > maxPrice) || !ok && price != 0 {
			t.Errorf("parsePrice(%q): got %d, %t", text, price, ok)
		}
	})
}
