// SPDX-License-Identifier: Apache-2.0

package berthtest

import (
	"slices"
	"strings"
)

// selects says whether a label selector in its text form selects labels: "a=b",
// "a!=b", "a in (b,c)", "a notin (b,c)", "a", "!a", all of them where commas join
// several.
func selects(selector string, labels map[string]any) bool {
	for _, term := range terms(selector) {
		if !selectsTerm(term, labels) {
			return false
		}
	}
	return true
}

// terms splits at commas outside parentheses.
func terms(selector string) (list []string) {
	depth, from := 0, 0
	for i, c := range selector + "," {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			if term := strings.TrimSpace(selector[from:i]); term != "" {
				list = append(list, term)
			}
			from = i + 1
		}
	}
	return list
}

func selectsTerm(term string, labels map[string]any) bool {
	value := func(key string) (string, bool) {
		v, ok := labels[strings.TrimSpace(key)].(string)
		return v, ok
	}
	if key, want, ok := strings.Cut(term, "!="); ok {
		v, has := value(key)
		return !has || v != strings.TrimSpace(want)
	}
	if key, want, ok := strings.Cut(term, "="); ok {
		v, has := value(key)
		return has && v == strings.TrimSpace(strings.TrimPrefix(want, "="))
	}
	if key, ok := strings.CutPrefix(term, "!"); ok {
		_, has := value(key)
		return !has
	}
	key, set, ok := strings.Cut(term, "(")
	if !ok {
		_, has := value(key)
		return has
	}
	words := strings.Fields(key)
	if len(words) != 2 || words[1] != "in" && words[1] != "notin" {
		panic("berthtest: label selector: want KEY in (...) or KEY notin (...), got " + term)
	}
	var values []string
	for v := range strings.SplitSeq(strings.TrimSuffix(set, ")"), ",") {
		values = append(values, strings.TrimSpace(v))
	}
	v, has := value(words[0])
	in := has && slices.Contains(values, v)
	return in == (words[1] == "in")
}
