// SPDX-License-Identifier: Apache-2.0

package main

// maxPrice bounds prices, in millionths, so that no percentage of one overflows.
const maxPrice = 1e14

// parsePrice reads a decimal number as millionths: "0.25" is 250,000. Further
// digits are cut off. It takes no sign, no exponent and no blanks, and allocates
// nothing, as strconv.ParseFloat may; ok is false for anything else.
func parsePrice(text string) (price int64, ok bool) {
	decimals := -1 // how many digits stood behind the point
	digits := 0
	for i := range len(text) {
		c := text[i]
		switch {
		case c == '.' && decimals < 0:
			decimals = 0
			continue
		case c < '0' || c > '9':
			return 0, false
		}
		digits++
		if decimals >= 6 {
			continue
		}
		if decimals >= 0 {
			decimals++
		}
		price = price*10 + int64(c-'0')
		if price > maxPrice {
			return 0, false
		}
	}
	if digits == 0 {
		return 0, false
	}
	for range 6 - max(decimals, 0) {
		price *= 10
		if price > maxPrice {
			return 0, false
		}
	}
	return price, true
}
