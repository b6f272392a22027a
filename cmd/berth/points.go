// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/points"
)

func newPoints(io streams) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "points [POINT...]",
		Short: "Explain the extension points: who calls them, what statuses mean, what failures bring",
		Long: `Explain the extension points that a policy may have: which method of the
scheduling framework each is, who calls it and in which goroutine, what every
status means there, what Berth answers when no policy has anything to say (idle),
and what a pod gets when the policy fails there, by its failurePolicy (Fail,
Ignore). What no policy can have is named at the end, with the reason.

POINT is a name as berth inspect prints it; without one, all are explained.
-o wide adds the instance of the module that a point runs in, and the intents and
reads that it may use. docs/points.md holds the same table.`,
		Example: `  berth points
  berth points permit reserve unreserve
  berth points -o json | jq -r '.points[] | [.point, .idle.text] | @tsv'`,
		Args: func(_ *cobra.Command, args []string) error {
			for _, name := range args {
				if p, ok := abi.PointByName(name); !ok || p == abi.Describe || p == abi.Configure {
					return usageError{fmt.Errorf("want names of points, got %q", name)}
				}
			}
			return nil
		},
		ValidArgs: pointNames(),
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains([]string{"text", "wide", "json", "yaml"}, output) {
				return usageError{fmt.Errorf("--output: want text, wide, json or yaml, got %q", output)}
			}
			return newPointsReport(args).write(io.out, output)
		},
	}
	outputFlag(cmd, &output, "text", "wide", "json", "yaml")
	return cmd
}

func pointNames() (names []string) {
	for _, i := range points.Table() {
		names = append(names, i.Point.String())
	}
	return names
}

// pointsReport is what berth points prints. Its JSON form is meant to be relied
// on: fields are added, not changed.
type pointsReport struct {
	Points     []pointReport `json:"points"`
	OutOfReach []unreachable `json:"outOfReach,omitempty"`
}

type pointReport struct {
	Point     string         `json:"point"`
	Plugin    string         `json:"plugin"`
	Method    string         `json:"method"`
	Caller    string         `json:"caller"`
	Goroutine string         `json:"goroutine"`
	Instance  string         `json:"instance"`
	Codes     []codeReport   `json:"codes"`
	Idle      idleReport     `json:"idle"`
	Failure   failureReports `json:"failurePolicy"`
	Intents   []string       `json:"intents"`
	Reads     []string       `json:"reads"`

	info points.Info
}

type codeReport struct {
	Code  string `json:"code"`
	Means string `json:"means"`
}

type idleReport struct {
	Code string `json:"code,omitempty"`
	Text string `json:"text"`
}

type failureReports struct {
	Fail   string `json:"Fail"`
	Ignore string `json:"Ignore"`
}

type unreachable struct {
	Method string `json:"method"`
	Why    string `json:"why"`
}

// newPointsReport is the report of the points of these names, of all without
// any.
func newPointsReport(names []string) pointsReport {
	var r pointsReport
	for _, i := range points.Table() {
		if len(names) > 0 && !slices.Contains(names, i.Point.String()) {
			continue
		}
		p := pointReport{
			Point: i.Point.String(), Plugin: i.Plugin, Method: i.Method, Caller: i.Caller, Goroutine: i.Goroutine,
			Instance: i.Instance, Idle: idleReport{Text: i.Idle.Text}, Failure: failureReports{i.Fail, i.Ignore},
			Intents: append([]string{}, i.Intents()...), Reads: append([]string{}, i.Reads()...), info: i,
		}
		if i.Idle.Code != abi.Unset {
			p.Idle.Code = i.Idle.Code.String()
		}
		for _, c := range i.Codes {
			p.Codes = append(p.Codes, codeReport{c.Code.String(), c.Means})
		}
		r.Points = append(r.Points, p)
	}
	if len(names) == 0 {
		for _, o := range points.OutOfReach {
			r.OutOfReach = append(r.OutOfReach, unreachable(o))
		}
	}
	return r
}

func (r pointsReport) write(out io.Writer, format string) error {
	switch format {
	case "json":
		return writeJSON(out, r)
	case "yaml":
		text, err := yaml.Marshal(r)
		if err == nil {
			_, err = out.Write(text)
		}
		return err
	}
	_, err := io.WriteString(out, r.text(format == "wide"))
	return err
}

// wideFields are those that only -o wide prints.
var wideFields = []string{"instance", "intents", "reads"}

// text is a paragraph a point, and one of what is out of reach.
func (r pointsReport) text(wide bool) string {
	var b strings.Builder
	for _, p := range r.Points {
		fmt.Fprintln(&b, p.Point)
		for _, f := range p.info.Fields() {
			if wide || !slices.Contains(wideFields, f.Name) {
				writeField(&b, f.Name, f.Text)
			}
		}
		fmt.Fprintln(&b)
	}
	if len(r.OutOfReach) > 0 {
		fmt.Fprintln(&b, "out of reach")
		for _, o := range r.OutOfReach {
			writeField(&b, o.Method, o.Why)
		}
	}
	return b.String()
}

// Columns of the text.
const (
	fieldColumn = 16 // fits all names but two, which have a line of their own
	textWidth   = 100
)

// writeField writes a name and a text, broken into lines.
func writeField(b *strings.Builder, name, text string) {
	line := "  " + name
	if len(line) >= fieldColumn {
		fmt.Fprintln(b, line)
		line = ""
	}
	line = fmt.Sprintf("%-*s", fieldColumn, line)
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && len(line)+1+len(word) > textWidth {
			fmt.Fprintln(b, line)
			line, empty = strings.Repeat(" ", fieldColumn), true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	fmt.Fprintln(b, line)
}
