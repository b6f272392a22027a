// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a policy.yaml.
type Problem struct {
	Line    int    // from 1; 0 if it isn't known
	Field   string // path, like "match.namespaces[0]"; may be empty
	Message string
}

func (p Problem) String() string {
	var b strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", p.Line)
	}
	if p.Field != "" {
		b.WriteString(p.Field)
		b.WriteString(": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// maxPrinted is how many problems fit the one line of an error.
const maxPrinted = 5

// Problems are all that is wrong with a policy.yaml, in order of lines. Parse's
// errors can be unwrapped to it with errors.As.
type Problems []Problem

// Error joins the first problems to one line.
func (ps Problems) Error() string {
	printed := make([]string, 0, maxPrinted+1)
	for i, p := range ps {
		if i == maxPrinted {
			printed = append(printed, fmt.Sprintf("and %d more", len(ps)-maxPrinted))
			break
		}
		printed = append(printed, p.String())
	}
	return strings.Join(printed, "; ")
}

func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int { return a.Line - b.Line })
	return ps
}

// maxQuoted bounds how much of the operator's text a message repeats.
const maxQuoted = 64

// quoted is s in quotes, cut to a readable length.
func quoted(s string) string {
	if len(s) > maxQuoted {
		return fmt.Sprintf("%q...", strings.ToValidUTF8(s[:maxQuoted], ""))
	}
	return fmt.Sprintf("%q", s)
}
