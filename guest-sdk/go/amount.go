// SPDX-License-Identifier: Apache-2.0

package berth

import "math/bits"

// ParseAmount reads a resource quantity that is a text, as those of custom
// resources are ("500m", "2", "1.5Gi", "1e3"): its value, and its value in
// thousandths. Both are rounded up, and no more than fits. ok is false for other
// texts, negative amounts, and numbers of more than 18 digits.
func ParseAmount(text string) (value, milli int64, ok bool) {
	mantissa, scale, rest, ok := decimal(text)
	if !ok {
		return 0, 0, false
	}
	factor, digits, ok := suffix(rest)
	if !ok {
		return 0, 0, false
	}
	scale += digits
	for ; scale > 18; scale-- {
		mantissa = mantissa/10 + min(mantissa%10, 1)
	}
	for ; scale < 0 && factor < 1<<62; scale++ {
		hi, lo := bits.Mul64(factor, 10)
		if hi != 0 {
			break
		}
		factor = lo
	}
	if scale < 0 {
		if mantissa == 0 {
			return 0, 0, true
		}
		return most, most, true
	}
	return scaled(mantissa, factor, 1, scale), scaled(mantissa, factor, 1000, scale), true
}

const most = 1<<63 - 1

// decimal reads digits with a point: the number is mantissa / 10^scale.
func decimal(text string) (mantissa uint64, scale int, rest string, ok bool) {
	digits, point, i := 0, -1, 0
	for ; i < len(text); i++ {
		c := text[i]
		if c == '.' && point < 0 {
			point = digits
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		mantissa = mantissa*10 + uint64(c-'0')
		digits++
	}
	if point >= 0 {
		scale = digits - point
	}
	return mantissa, scale, text[i:], digits > 0 && digits <= 18
}

// suffix is what a quantity's suffix multiplies by: factor / 10^digits.
func suffix(s string) (factor uint64, digits int, ok bool) {
	const binary, small = "KMGTPE", "mun"
	switch {
	case s == "":
		return 1, 0, true
	case len(s) == 2 && s[1] == 'i':
		for i := range len(binary) {
			if s[0] == binary[i] {
				return 1 << (10 * (i + 1)), 0, true
			}
		}
	case len(s) == 1:
		for i := range len(small) {
			if s[0] == small[i] {
				return 1, 3 * (i + 1), true
			}
		}
		for i, c := range "kMGTPE" {
			if rune(s[0]) == c {
				return 1, -3 * (i + 1), true
			}
		}
	case s[0] == 'e' || s[0] == 'E':
		return exponent(s[1:])
	}
	return 0, 0, false
}

// exponent reads that of a number like 1e3.
func exponent(s string) (factor uint64, digits int, ok bool) {
	sign := -1
	if s != "" && (s[0] == '-' || s[0] == '+') {
		if s[0] == '-' {
			sign = 1
		}
		s = s[1:]
	}
	if s == "" || len(s) > 2 {
		return 0, 0, false
	}
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return 1, sign * n, true
}

// scaled is mantissa * factor * by / 10^scale, rounded up.
func scaled(mantissa, factor, by uint64, scale int) int64 {
	hi, lo := bits.Mul64(mantissa, factor)
	top, low := bits.Mul64(lo, by)
	over, mid := bits.Mul64(hi, by)
	sum, carry := bits.Add64(top, mid, 0)
	div := uint64(1)
	for range scale {
		div *= 10
	}
	if over != 0 || carry != 0 || sum >= div {
		return most
	}
	q, r := bits.Div64(sum, low, div)
	if r > 0 {
		q++
	}
	return int64(min(q, most))
}
