// SPDX-License-Identifier: Apache-2.0

package abi

import (
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the generated blocks of SPEC.md instead of comparing them")

const specFile = "SPEC.md"

// block is a generated part of SPEC.md, between its marker and the next END.
var block = regexp.MustCompile(`(?s)<!-- BEGIN ([^>]+) -->\n(.*?)<!-- END -->`)

// TestSpec compares every signature, field, section, code, point, phase and
// limit in SPEC.md with the tables, and finds those that are in one only.
func TestSpec(t *testing.T) {
	data, err := os.ReadFile(specFile)
	if err != nil {
		t.Fatal(err)
	}
	want, spec := specBlocks(t), string(data)
	seen := map[string]bool{}
	got := block.ReplaceAllStringFunc(spec, func(s string) string {
		m := block.FindStringSubmatch(s)
		name := m[1]
		if seen[name] {
			t.Errorf("block %q: want it once", name)
		}
		seen[name] = true
		text, ok := want[name]
		if !ok {
			t.Errorf("block %q: want it in the tables", name)
			return s
		}
		if !*rewrite && m[2] != text {
			t.Errorf("block %q: want (go test ./abi -run TestSpec -rewrite)\n%s\ngot\n%s", name, text, m[2])
		}
		return "<!-- BEGIN " + name + " -->\n" + text + "<!-- END -->"
	})
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !seen[name] {
			t.Errorf("block %q: want it in %s", name, specFile)
		}
	}
	if strings.Count(spec, "<!-- BEGIN ") != len(seen) {
		t.Errorf("want an END for each BEGIN, %d, got %d blocks", strings.Count(spec, "<!-- BEGIN "), len(seen))
	}
	if *rewrite && !t.Failed() {
		if err := os.WriteFile(specFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Each function and structure stands under a heading of its name.
func TestSpecHeadings(t *testing.T) {
	data, err := os.ReadFile(specFile)
	if err != nil {
		t.Fatal(err)
	}
	before := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if m := regexp.MustCompile(`^<!-- BEGIN (import|export|struct) (\S+) -->$`).FindStringSubmatch(line); m != nil {
			if want := "`" + m[2] + "`"; !strings.HasPrefix(before, "#") || !strings.HasSuffix(before, " "+want) {
				t.Errorf("block %s %s: want a heading that ends in %s before it, got %q", m[1], m[2], want, before)
			}
		}
		if line != "" {
			before = line
		}
	}
}

// specBlocks are the generated blocks by name.
func specBlocks(t *testing.T) map[string]string {
	b := map[string]string{
		"sections node": sectionTable(NodeSections),
		"sections pod":  sectionTable(PodSections),
		"points":        pointTable(),
		"limits":        constTable(t, "limit", "Max", "Min"),
		"levels":        constTable(t, "level", "Log"),
		"answers":       constTable(t, "answer", "Answered", "NotHandled"),
		"no record":     constTable(t, "answer", "ReadAbsent", "ReadNotReady", "ReadRefused", "ReadTooLarge"),
		"codes":         nameTable("code", CodeNames) + fmt.Sprintf("| %s | %#x |\n", Unset, uint32(Unset)),
		"phases":        nameTable("phase", PhaseNames),
		"kinds":         nameTable("kind", ValueKindNames),
		"describe":      describeTable(),
		"intents":       intentTable(),
		"takes intents": pointList(TakesIntents()) + "\n",
		"reads":         readTable(),
		"events":        eventTable(),
		"records":       recordTable(),
		"version":       fmt.Sprintf("This is version %d.%d.\n", Major, Minor),
	}
	for _, f := range Imports {
		b["import "+f.Name] = fmt.Sprintf("Import from `%s`, `%s`: %s.\n", Module, f.Signature(), f.Doc)
	}
	for _, f := range Exports() {
		need := "optional"
		if f.Required {
			need = "required"
		}
		b["export "+f.Name] = fmt.Sprintf("Export, %s, `%s`: %s.\n", need, f.Signature(), f.Doc) + pointFacts(f)
	}
	for _, s := range allStructs() {
		b["struct "+s.Name] = structTable(s)
	}
	return b
}

func pointFacts(f Function) string {
	if !f.Frame {
		return ""
	}
	p := &Points[f.Point]
	return fmt.Sprintf("Point %d; phases: %s; items: %s; codes: %s.\n", p.Point, words(p.Phases), itemName(p.Item), words(p.Codes))
}

func words[T fmt.Stringer](list []T) string {
	var names []string
	for _, v := range list {
		names = append(names, v.String())
	}
	return strings.Join(names, ", ")
}

func itemName(i Item) string {
	return [...]string{NoItem: "none", VerdictItem: "verdict", ScoreItem: "score_item"}[i]
}

func pointTable() string {
	var b strings.Builder
	b.WriteString("| point | name | phases | items | what it is for |\n|---|---|---|---|---|\n")
	for i := range Points {
		p := &Points[i]
		fmt.Fprintf(&b, "| %d | `%s` | %s | %s | %s |\n", p.Point, p.Name, words(p.Phases), itemName(p.Item), p.Doc)
	}
	return b.String()
}

func structTable(s *Struct) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d bytes.\n\n| offset | field | type | holds |\n|---|---|---|---|\n", s.Size)
	for _, f := range s.Fields {
		fmt.Fprintf(&b, "| %d | `%s` | %s | %s |\n", f.Offset, f.Name, strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(string(f.Type)), f.Doc)
	}
	return b.String()
}

func sectionTable(list []Section) string {
	var b strings.Builder
	b.WriteString("| index | section | since | entries | holds |\n|---|---|---|---|---|\n")
	for _, s := range list {
		kind := "one `" + s.Entry.Name + "`"
		if s.List {
			kind = "list of `" + s.Entry.Name + "`"
		}
		fmt.Fprintf(&b, "| %d | `%s` | %d.%d | %s | %s |\n", s.Index, s.Name, Major, s.Since, kind, s.Doc)
	}
	return b.String()
}

func nameTable(head string, names []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | number |\n|---|---|\n", head)
	for i, name := range names {
		fmt.Fprintf(&b, "| %s | %d |\n", name, i)
	}
	return b.String()
}

func describeTable() string {
	var b strings.Builder
	b.WriteString("| key | type | required | holds |\n|---|---|---|---|\n")
	for _, k := range DescriptionKeys {
		need := "no"
		if k.Required {
			need = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Key, k.Type, need, k.Doc)
	}
	return b.String()
}

func pointList(list []Point) string {
	var names []string
	for _, p := range list {
		names = append(names, "`"+p.String()+"`")
	}
	return strings.Join(names, ", ")
}

func intentTable() string {
	var b strings.Builder
	b.WriteString("| kind | grant | at | key | type | required | holds |\n|---|---|---|---|---|---|---|\n")
	for _, i := range Intents() {
		grant, at := "no", "all that take intents"
		if i.Grant {
			grant = "yes"
		}
		if i.Points != nil {
			at = pointList(i.Points)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | | | | %s |\n", i.Kind, grant, at, i.Doc)
		for _, k := range i.Keys {
			fmt.Fprintf(&b, "| | | | %s |\n", keyCells(k))
		}
	}
	return b.String()
}

func keyCells(k KeyInfo) string {
	need := "no"
	if k.Required {
		need = "yes"
	}
	return fmt.Sprintf("`%s` | %s | %s | %s", k.Key, k.Type, need, k.Doc)
}

func readTable() string {
	var b strings.Builder
	b.WriteString("| read | name | key | in cycles only | gives |\n|---|---|---|---|---|\n")
	for _, r := range ReadTable() {
		only := "no"
		if r.Cycle {
			only = "yes"
		}
		fmt.Fprintf(&b, "| %d | `%s` | %s | %s | %s |\n", r.Read, r.Name, r.Key, only, r.Doc)
	}
	return b.String()
}

func eventTable() string {
	var b strings.Builder
	b.WriteString("| event | meaning |\n|---|---|\n")
	for _, e := range Events() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", e.Name, e.Doc)
	}
	return b.String()
}

func recordTable() string {
	var b strings.Builder
	b.WriteString("| point | phase | in | key | type | required | holds |\n|---|---|---|---|---|---|---|\n")
	for _, r := range Records() {
		for _, part := range []struct {
			in   string
			keys []KeyInfo
		}{{"argument", r.Arg}, {"question", r.Ask}, {"answer", r.Reply}} {
			for _, k := range part.keys {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Point, r.Phase, part.in, keyCells(k))
			}
		}
	}
	return b.String()
}

// constTable has the constants with a comment of their own whose names begin
// with one of the prefixes, in the order of the source.
func constTable(t *testing.T, head string, prefixes ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | value | meaning |\n|---|---|---|\n", head)
	for _, f := range source(t) {
		for _, d := range f.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.CONST {
				continue
			}
			for _, s := range decl.Specs {
				spec := s.(*ast.ValueSpec)
				name := spec.Names[0].Name
				if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) || len(spec.Values) != 1 || spec.Type != nil {
					continue
				}
				v, err := types.Eval(token.NewFileSet(), nil, token.NoPos, types.ExprString(spec.Values[0]))
				if err != nil || name == "Minor" {
					continue
				}
				meaning := strings.TrimSpace(spec.Comment.Text())
				if meaning == "" {
					t.Errorf("constant %s: want a comment, for %s", name, specFile)
				}
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", snake(name), v.Value, meaning)
			}
		}
	}
	return b.String()
}
