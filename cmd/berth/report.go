// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/module"
	"github.com/berth-scheduler/berth/host/source"
	"github.com/berth-scheduler/berth/host/weave"
)

// report is what berth inspect prints as JSON and YAML. Fields are only added.
type report struct {
	Name       string           `json:"name,omitempty"`
	Version    string           `json:"version,omitempty"`
	ABI        string           `json:"abi,omitempty"`
	Digest     string           `json:"digest"`
	Size       int              `json:"size"`     // bytes
	GzipSize   int              `json:"gzipSize"` // bytes, as berth pack compresses
	Section    bool             `json:"describeSection"`
	Points     []string         `json:"points"`
	Chunked    []string         `json:"chunked,omitempty"`
	Reads      []string         `json:"reads,omitempty"`
	Normalize  string           `json:"normalize,omitempty"`
	Pure       bool             `json:"pure"`
	Intents    []string         `json:"intents,omitempty"`
	Events     []string         `json:"events,omitempty"`
	Resources  []resourceReport `json:"resources,omitempty"`
	DataSets   []string         `json:"dataSets,omitempty"`
	Aggregates []string         `json:"aggregates,omitempty"`
	Schema     any              `json:"schema,omitempty"`

	Imports []functionReport `json:"imports"`
	Exports []functionReport `json:"exports"`
	Memory  *memoryReport    `json:"memory,omitempty"`
	Shape   shapeReport      `json:"shape"`

	Warnings []string `json:"warnings,omitempty"`
	Problems []string `json:"problems,omitempty"`
}

type functionReport struct {
	Module    string `json:"module,omitempty"`
	Name      string `json:"name"`
	Kind      string `json:"kind,omitempty"` // of an export that isn't a function
	Signature string `json:"signature,omitempty"`
}

type memoryReport struct {
	MinBytes int64 `json:"minBytes"`
	MaxBytes int64 `json:"maxBytes,omitempty"`
}

// shapeReport is what the limits against compile bombs look at; of functions it
// holds the largest value of all.
type shapeReport struct {
	Functions     int `json:"functions"`
	DataSegments  int `json:"dataSegments"`
	BodyBytes     int `json:"bodyBytes"`
	Locals        int `json:"locals"`
	Blocks        int `json:"blocks"`
	Nesting       int `json:"nesting"`
	BranchTargets int `json:"branchTargets"`
}

func newShapeReport(s weave.Shape) shapeReport {
	return shapeReport{s.Functions, s.DataSegments, s.BodyBytes, s.Locals, s.Blocks, s.Nesting, s.BranchTargets}
}

// resourceReport is a resource that a policy wants to read.
type resourceReport struct {
	Resource string   `json:"resource"`
	Selector string   `json:"selector,omitempty"`
	Fields   []string `json:"fields,omitempty"`
}

func (r resourceReport) String() string {
	s := r.Resource
	if r.Selector != "" {
		s += " (" + r.Selector + ")"
	}
	if len(r.Fields) > 0 {
		s += " [" + strings.Join(r.Fields, ", ") + "]"
	}
	return s
}

func newReport(wasm []byte, info *module.Info) report {
	r := report{
		Digest: info.Digest, Size: info.Size, GzipSize: len(source.Gzip(wasm)),
		Section: info.Section != nil, Shape: newShapeReport(info.Shape),
		Warnings: info.Warnings, Problems: info.Problems,
		Points: []string{},
	}
	if d := info.Description; d != nil {
		r.Name, r.Version, r.ABI = d.Name, d.Version, fmt.Sprintf("%d.%d", abi.Major, d.Minor)
		r.Points, r.Chunked, r.Reads = d.Points, d.Chunked, d.Reads
		r.Normalize, r.Pure, r.Schema = d.Normalize, d.Pure, d.Schema
		r.Intents, r.Events, r.DataSets, r.Aggregates = d.Intents, d.Events, d.DataSets, d.Aggregates
		for _, x := range d.Resources {
			r.Resources = append(r.Resources, resourceReport{x.Name, x.Selector, x.Fields})
		}
	} else {
		for _, p := range info.Points {
			if p != abi.Describe && p != abi.Configure {
				r.Points = append(r.Points, p.String())
			}
		}
	}
	for _, im := range info.Interface.Imports {
		r.Imports = append(r.Imports, functionReport{Module: im.Module, Name: im.Name, Signature: weave.Signature(im.Params, im.Results)})
	}
	for _, e := range info.Interface.Exports {
		f := functionReport{Name: e.Name}
		if e.Kind == weave.KindFunction {
			f.Signature = weave.Signature(e.Params, e.Results)
		} else {
			f.Kind = e.Kind.String()
		}
		r.Exports = append(r.Exports, f)
	}
	if m := info.Interface.Memory; m != nil {
		r.Memory = &memoryReport{MinBytes: int64(m.Min) << 16}
		if m.Bounded {
			r.Memory.MaxBytes = int64(m.Max) << 16
		}
	}
	return r
}

// writeText prints the report for people; wide adds what only those want who
// look for a reason.
func (r report) writeText(out io.Writer, wide bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(key, value string) { fmt.Fprintf(w, "%s:\t%s\n", key, value) }
	list := func(key string, values []string) {
		if len(values) == 0 {
			values = []string{"none"}
		}
		line(key, strings.Join(values, ", "))
	}
	if r.Name != "" {
		line("name", printable(r.Name))
		line("version", printable(r.Version))
	} else {
		line("name", "unknown before it runs")
	}
	list("points", r.Points)
	if r.Name != "" {
		list("reads", r.Reads)
		resources := make([]string, len(r.Resources))
		for i, x := range r.Resources {
			resources[i] = printable(x.String())
		}
		list("resources", resources)
		list("intents", r.Intents)
		for _, more := range []struct {
			key  string
			list []string
		}{{"events", r.Events}, {"data sets", r.DataSets}, {"aggregates", r.Aggregates}} {
			if len(more.list) > 0 {
				list(more.key, more.list)
			}
		}
		list("config", configKeys(r.Schema))
		if slices.Contains(r.Points, abi.Score.String()) {
			line("normalize", cmp.Or(r.Normalize, abi.NormalizeNone))
		}
		line("pure", yesNo(r.Pure))
		line("abi", r.ABI)
	}
	line("size", fmt.Sprintf("%s, %s gzipped", kilobytes(r.Size), kilobytes(r.GzipSize)))
	line("digest", r.Digest)
	if wide {
		for _, f := range r.Imports {
			line("import", printable(f.Module+"."+f.Name)+" "+f.Signature)
		}
		for _, f := range r.Exports {
			line("export", printable(f.Name)+" "+f.Kind+f.Signature)
		}
		if r.Memory != nil {
			most := "no limit of its own"
			if r.Memory.MaxBytes > 0 {
				most = fmt.Sprintf("at most %d KiB", r.Memory.MaxBytes>>10)
			}
			line("memory", fmt.Sprintf("%d KiB at start, %s", r.Memory.MinBytes>>10, most))
		}
		s := r.Shape
		line("shape", fmt.Sprintf("%d functions; at most %d bytes, %d locals, %d blocks nested %d deep, %d branch targets in one",
			s.Functions, s.BodyBytes, s.Locals, s.Blocks, s.Nesting, s.BranchTargets))
	}
	for _, s := range r.Warnings {
		line("warning", s)
	}
	for _, s := range r.Problems {
		line("problem", s)
	}
	return w.Flush()
}

// configKeys lists the properties of a schema with their types.
func configKeys(schema any) []string {
	root, _ := schema.(map[string]any)
	properties, _ := root["properties"].(map[string]any)
	var keys []string
	for _, name := range sortedKeys(properties) {
		property, _ := properties[name].(map[string]any)
		if t, ok := property["type"].(string); ok {
			name += " (" + t + ")"
		}
		keys = append(keys, printable(name))
	}
	if schema != nil && keys == nil {
		return []string{"an object"}
	}
	return keys
}

// kilobytes prints a size as people compare it with limits: "1893 kB".
func kilobytes(n int) string { return fmt.Sprintf("%d kB", (n+999)/1000) }

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// printable is a module's text without what could move a terminal's cursor.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}
