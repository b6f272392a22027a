// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi"
)

// String is the record as text, one field a line: "name value", an interned
// string with its id behind it as #ID, entries of lists begun by "-".
func (r *Record) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s record, %d bytes\n", r.Kind, r.Size)
	for _, s := range r.Sections {
		if s.List {
			fmt.Fprintf(&b, "%s [%d]\n", s.Name, len(s.Entries))
		} else {
			b.WriteString(s.Name + "\n")
		}
		for _, e := range s.Entries {
			e.write(&b, "  ", s.List)
		}
	}
	return b.String()
}

func (e Entry) write(b *strings.Builder, indent string, item bool) {
	for i, f := range e {
		b.WriteString(indent)
		if item {
			b.WriteString([]string{"- ", "  "}[min(i, 1)])
		}
		b.WriteString(f.Name)
		switch v := f.Value.(type) {
		case ID:
			fmt.Fprintf(b, " %q #%d\n", v.Text, v.ID)
		case string:
			fmt.Fprintf(b, " %q\n", v)
		case []ID:
			fmt.Fprintf(b, " [%d]", len(v))
			for _, id := range v {
				fmt.Fprintf(b, " %q #%d", id.Text, id.ID)
			}
			b.WriteString("\n")
		case []Entry:
			fmt.Fprintf(b, " [%d]\n", len(v))
			for _, e := range v {
				e.write(b, indent+"    ", true)
			}
		default:
			fmt.Fprintf(b, " %d\n", v)
		}
	}
}

// Value is a value record as text: one value a line with its kind, those of
// lists begun by "-", those of maps by their key.
func Value(rec []byte) (string, error) {
	v, err := abi.OpenValue(rec)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "value record, %d bytes\n", len(rec))
	writeValue(&b, "", "", v)
	return b.String(), nil
}

func writeValue(b *strings.Builder, indent, label string, v abi.Value) {
	b.WriteString(indent + label + v.Kind().String())
	switch v.Kind() {
	case abi.Bool:
		fmt.Fprintf(b, " %t", v.Bool())
	case abi.Int:
		fmt.Fprintf(b, " %d", v.Int())
	case abi.Float:
		b.WriteString(" " + strconv.FormatFloat(v.Float(), 'g', -1, 64))
	case abi.String:
		fmt.Fprintf(b, " %q", v.Text())
	case abi.QuantityKind:
		q := v.Quantity()
		fmt.Fprintf(b, " %q value %d milli %d", q.Text, q.Value, q.Milli)
	case abi.List, abi.Map:
		fmt.Fprintf(b, " [%d]", v.Len())
	}
	b.WriteString("\n")
	for i := range v.Len() {
		label := "- "
		if v.Kind() == abi.Map {
			label = strconv.Quote(v.Key(i)) + ": "
		}
		writeValue(b, indent+"  ", label, v.At(i))
	}
}
