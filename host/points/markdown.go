// SPDX-License-Identifier: Apache-2.0

package points

import (
	"fmt"
	"strings"

	"github.com/berth-scheduler/berth/abi"
)

// Markdown is the table as docs/points.md holds it: a section a point.
func Markdown() string {
	var b strings.Builder
	for _, i := range Table() {
		fmt.Fprintf(&b, "### %s\n\n", i.Point)
		b.WriteString("| | |\n|---|---|\n")
		for _, f := range i.Fields() {
			fmt.Fprintf(&b, "| %s | %s |\n", f.Name, f.Text)
		}
		b.WriteByte('\n')
	}
	b.WriteString("### Out of reach\n\n| | |\n|---|---|\n")
	for _, o := range OutOfReach {
		fmt.Fprintf(&b, "| `%s` | %s |\n", o.Method, o.Why)
	}
	return b.String()
}

// Field is a line about a point.
type Field struct{ Name, Text string }

// Fields are what the table says about a point, line by line.
func (i *Info) Fields() []Field {
	fields := []Field{
		{"method", i.Plugin + "." + i.Method},
		{"called by", i.Caller},
		{"goroutine", i.Goroutine},
		{"instance", i.Instance},
	}
	for _, c := range i.Codes {
		fields = append(fields, Field{c.Code.String(), c.Means})
	}
	return append(fields,
		Field{"idle", i.Idle.String()},
		Field{"Fail", i.Fail},
		Field{"Ignore", i.Ignore},
		Field{"intents", listed(i.Intents())},
		Field{"reads", listed(i.Reads())},
	)
}

func (i Idle) String() string {
	if i.Code == abi.Unset {
		return i.Text
	}
	return strings.Join([]string{i.Code.String(), i.Text}, ": ")
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
