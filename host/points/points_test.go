// SPDX-License-Identifier: Apache-2.0

package points

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
)

var update = flag.Bool("update", false, "rewrite the table in docs/points.md")

// Every point of the ABI has one row in its order, and every code that it allows
// one meaning.
func TestTable(t *testing.T) {
	var want, got []string
	for _, p := range abi.Points {
		if p.Point == abi.Describe || p.Point == abi.Configure {
			continue
		}
		for _, c := range p.Codes {
			want = append(want, p.Name+" "+c.String())
		}
	}
	for _, i := range Table() {
		for _, c := range i.Codes {
			got = append(got, i.Point.String()+" "+c.Code.String())
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("points and codes: want (-), got (+):\n%s", diff)
	}
}

// Each line says something, on one line that a Markdown table can hold.
func TestFields(t *testing.T) {
	for _, i := range Table() {
		for _, f := range i.Fields() {
			if f.Text == "" || strings.ContainsAny(f.Text, "\n|<>") {
				t.Errorf("%s: %s: want one line without marks, got %q", i.Point, f.Name, f.Text)
			}
		}
	}
}

// Intents that the ABI's table ties to a point are at that point only.
func TestIntents(t *testing.T) {
	for point, want := range map[abi.Point]string{
		abi.Filter:  "none",
		abi.PreBind: "activate, allow, reject, event, metric, state, patch",
		abi.Bind:    "activate, allow, reject, event, metric, state, bind",
	} {
		i, ok := Of(point)
		if got := listed(i.Intents()); !ok || got != want {
			t.Errorf("%s: want %s, got %s", point, want, got)
		}
	}
}

const begin, end = "<!-- points:begin -->\n", "<!-- points:end -->"

// docs/points.md holds the table.
func TestDocs(t *testing.T) {
	const file = "../../docs/points.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	got, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s: want the lines %q and %q", file, begin, end)
	}
	if got == Markdown() {
		return
	}
	if *update {
		if err := os.WriteFile(file, []byte(head+begin+Markdown()+end+tail), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s: want what go test ./host/points -update writes, got (+):\n%s", file, cmp.Diff(Markdown(), got))
}
