// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi"
)

const head = "apiVersion: berth.dev/v1alpha1\nkind: Policy\n"

func TestParseDefaults(t *testing.T) {
	got, err := ParseNamed([]byte(head), "team-pools")
	if err != nil {
		t.Fatal(err)
	}
	want := &Policy{
		APIVersion: APIVersion, Kind: Kind, Name: "team-pools",
		Mode: Enforce, Weight: 1, Order: 100, FailurePolicy: Fail,
		Limits: Limits{Memory: 64 << 20, Fuel: Fuel{Base: DefaultFuelBase, PerNode: DefaultFuelPerNode}, Log: DefaultLog},
	}
	if diff := cmp.Diff(*want, *got, cmpopts.IgnoreUnexported(Policy{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	wantText := `{"apiVersion":"berth.dev/v1alpha1","kind":"Policy","name":"team-pools","mode":"Enforce",` +
		`"suspend":false,"weight":1,"order":100,"failurePolicy":"Fail","match":{},` +
		`"limits":{"memory":"64Mi","fuel":{"base":5000000,"perNode":50000},"log":"16Ki"}}`
	if diff := cmp.Diff(wantText, string(got.Effective())); diff != "" {
		t.Errorf("Effective: -want +got\n%s", diff)
	}
}

func TestParseAll(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	got, err := ParseNamed([]byte(head+`
name: cost
module: cost.wasm.gz
digest: `+digest+`
mode: Enforce
suspend: true
weight: 0
order: -5
failurePolicy: Ignore
failurePolicies: {filter: Fail, load: Fail}
match:
  profiles: [berth, "y"]
  namespaces: [a, b]
  podSelector:
    matchLabels: {app: web}
    matchExpressions:
    - {key: tier, operator: NotIn, values: [test]}
config:
  text: "no"
  int: 0x10
  float: 1.0
  none: null
  date: 2024-01-01
  list: [1, true, {a: b}]
limits:
  memory: 128Mi
  fuel: {base: 1000, perNode: 0}
  log: 0
`), "ignored")
	if err != nil {
		t.Fatal(err)
	}
	want := &Policy{
		APIVersion: APIVersion, Kind: Kind, Name: "cost", Module: "cost.wasm.gz", Digest: digest,
		Mode: Enforce, Suspend: true, Weight: 0, Order: -5, FailurePolicy: Ignore,
		FailurePolicies: map[string]FailurePolicy{"filter": Fail, "load": Fail},
		Match: Match{
			Profiles: []string{"berth", "y"}, Namespaces: []string{"a", "b"},
			PodSelector: &metav1.LabelSelector{
				MatchLabels:      map[string]string{"app": "web"},
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "NotIn", Values: []string{"test"}}},
			},
		},
		Config: map[string]any{
			"text": "no", "int": int64(16), "float": 1.0, "none": nil, "date": "2024-01-01",
			"list": []any{int64(1), true, map[string]any{"a": "b"}},
		},
		Limits: Limits{Memory: 128 << 20, Fuel: Fuel{Base: 1000}, Log: 0},
	}
	if diff := cmp.Diff(*want, *got, cmpopts.IgnoreUnexported(Policy{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got.OnFailure(abi.Filter) != Fail || got.OnFailure(abi.Score) != Ignore || got.OnLoadFailure() != Fail {
		t.Errorf("OnFailure: filter %s, score %s, load %s", got.OnFailure(abi.Filter), got.OnFailure(abi.Score), got.OnLoadFailure())
	}
}

func TestParseRefuses(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"empty", "", "policy.yaml: empty, want apiVersion: berth.dev/v1alpha1 and kind: Policy"},
		{"only a comment", "# nothing\n", "empty"},
		{"null", "~\n", "line 1: want an object, got null"},
		{"a list", "- a\n", "line 1: want an object, got a list"},
		{"not YAML", head + "match: {\n", "not YAML"},
		{"not YAML, with line", head + "a: b: c\n", "line 3: not YAML: mapping values"},
		{"not UTF-8", "a: \xff\n", "want UTF-8 text"},
		{"too long", strings.Repeat("#", MaxBytes+1), "want at most 262144 bytes, got 262145"},
		{"two documents", head + "---\n" + head, "line 3: want one document, got more"},
		{"other version", "apiVersion: berth.dev/v2\nkind: Policy\n", `line 1: apiVersion: want berth.dev/v1alpha1, got "berth.dev/v2"`},
		{"no kind", "apiVersion: berth.dev/v1alpha1\n", `kind: want Policy, got ""`},
		{"unknown field", head + "wieght: 3\n", `line 3: unknown field "wieght", want one of apiVersion, kind, name,`},
		{"unknown field inside", head + "match:\n  podSelectr: {}\n", `line 4: match: unknown field "podSelectr", want one of profiles, namespaces, podSelector`},
		{"field of a later version", head + "match: {namespaceSelector: {}}\n", `unknown field "namespaceSelector"`},
		{"duplicate", head + "weight: 3\nweight: 4\n", `line 4: duplicate field "weight", first on line 3`},
		{"duplicate in config", head + "config: {a: {b: 1, b: 2}}\n", `config.a: duplicate field "b"`},
		{"wrong case", head + "Weight: 3\n", `unknown field "Weight"`},
		{"string for int", head + "weight: '3'\n", `line 3: weight: want a whole number, got string "3"`},
		{"float for int", head + "weight: 3.5\n", `weight: want a whole number, got float 3.5`},
		{"int for string", head + "name: 5\n", `name: want a string, got int 5`},
		{"null for string", head + "name:\n", `name: want a string, got null`},
		{"yes for bool", head + "suspend: yes\n", `suspend: want true or false, got string "yes"`},
		{"object for list", head + "match: {namespaces: {a: b}}\n", `match.namespaces: want a list, got an object`},
		{"string for list", head + "match: {namespaces: a}\n", `match.namespaces: want a list, got string "a"`},
		{"null for object", head + "match:\n", `line 3: match: want an object, got null`},
		{"int in list", head + "match: {namespaces: [a, 5]}\n", `match.namespaces[1]: want a string, got int 5`},
		{"list as config", head + "config: [1]\n", `config: want an object, got a list`},
		{"anchor", head + "config: &a {b: c}\n", `config: anchors and aliases are not allowed`},
		{"alias", head + "config: {a: *b}\n", `not YAML: unknown anchor`},
		{"merge", head + "config: {<<: {a: b}}\n", `merge keys are not allowed`},
		{"tag", head + "config: {a: !!binary aGk=}\n", `tags are not allowed, got "!!binary"`},
		{"int as key", head + "config: {1: a}\n", `want a string as key, got int 1; quote it`},
		{"object as key", head + "config: {{a: b}: c}\n", `want a string as key`},
		{"control character in a key", head + "config: {\"a\\tb\": 1}\n", `without control characters`},
		{"ambiguous word", head + "config: {country: NO}\n", `config.country: NO may mean a boolean or text`},
		{"infinity", head + "config: {a: [.inf]}\n", `config.a[0]: want a finite number`},
		{"65 bits", head + "config: {a: 18446744073709551616}\n", `config.a: int 18446744073709551616 doesn't fit 64 bits; quote it`},
		{"64 bits unsigned", head + "config: {a: 9223372036854775808}\n", `config.a: int 9223372036854775808 doesn't fit 64 bits; quote it`},
		{"deep", head + "config: {a: " + strings.Repeat("[", 64) + strings.Repeat("]", 64) + "}\n", `config: nested deeper than 64`},
		{"name", head + "name: Team_Pools\n", `line 3: name: want a DNS subdomain`},
		{"empty name", head + "name: ''\n", `name: want a DNS subdomain`},
		{"module", head + "module: ../x.wasm\n", `module: want a key of the ConfigMap or a file beside policy.yaml, got "../x.wasm"`},
		{"empty module", head + "module: ''\n", `module: want a key`},
		{"digest", head + "digest: sha256:ABC\n", `digest: want sha256: and 64 lower case hex digits, got "sha256:ABC"`},
		{"shadow", head + "mode: Shadow\n", `mode: Shadow is not served by this version, want Enforce`},
		{"mode", head + "mode: enforce\n", `mode: want Enforce, got "enforce"`},
		{"weight", head + "weight: 101\n", `weight: want 0 to 100, got 101`},
		{"order", head + "order: 1000001\n", `order: want -1000000 to 1000000, got 1000001`},
		{"failure policy", head + "failurePolicy: fail\n", `failurePolicy: want Fail or Ignore, got "fail"`},
		{"failure policy of a point", head + "failurePolicies: {filter: no}\n", `failurePolicies.filter: want Fail or Ignore, got "no"`},
		{"unknown point", head + "failurePolicies: {preFilter: Fail}\n", `failurePolicies: unknown point "preFilter", want one of load, configure, pre_enqueue,`},
		{"empty list", head + "match: {profiles: []}\n", `match.profiles: an empty list matches nothing`},
		{"twice in a list", head + "match: {namespaces: [a, a]}\n", `match.namespaces[1]: duplicate "a"`},
		{"bad namespace", head + "match: {namespaces: [a.b]}\n", `match.namespaces[0]: want the name of a namespace, got "a.b"`},
		{"empty profile", head + "match: {profiles: ['']}\n", `match.profiles[0]: want the name of a profile`},
		{"bad operator", head + "match: {podSelector: {matchExpressions: [{key: a, operator: Near}]}}\n", `match.podSelector: "Near" is not a valid label selector operator`},
		{"bad label", head + "match: {podSelector: {matchLabels: {a: 'b c'}}}\n", `match.podSelector: `},
		{"memory", head + "limits: {memory: 1Gi}\n", `limits.memory: want 1Mi to 512Mi, got 1Gi`},
		{"memory in pages", head + "limits: {memory: 64M}\n", `limits.memory: want a multiple of 64Ki, got 62500Ki`},
		{"memory as text", head + "limits: {memory: much}\n", `limits.memory: want a quantity like 64Mi, got "much"`},
		{"memory as bool", head + "limits: {memory: true}\n", `limits.memory: want a quantity like 64Mi, got bool true`},
		{"memory in milli", head + "limits: {memory: 1500m}\n", `limits.memory: want a quantity in whole bytes, got "1500m"`},
		{"fuel", head + "limits: {fuel: {base: 0}}\n", `limits.fuel.base: want 1 to 500000000, got 0`},
		{"fuel per node", head + "limits: {fuel: {perNode: -1}}\n", `limits.fuel.perNode: want 0 to 5000000, got -1`},
		{"log", head + "limits: {log: 2Mi}\n", `limits.log: want 0 to 1Mi, got 2Mi`},
		{"intent", head + "grants: [{intent: fly}]\n", `grants[0]: intent: want one of activate, event, patch, bind, evict, reclaim, got "fly"`},
		{"resource", head + "grants: [{resource: PodDisruptionBudget}]\n", `grants[0]: resource: want group/version/resource, or version/resource of the core group, got "PodDisruptionBudget"`},
		{"grant twice", head + "grants: [{intent: evict}, {resource: v1/namespaces}, {intent: evict}]\n", `grants[2]: is given twice`},
		{"empty grant", head + "grants: [{}]\n", `grants[0]: want either intent or resource`},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := Parse([]byte(test.in))
			if err == nil {
				t.Fatalf("want an error, got %s", p.Effective())
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("want %q in\n%s", test.want, err)
			}
			if strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "policy.yaml: ") {
				t.Errorf("want one line with the file's name, got %q", err)
			}
		})
	}
}

func TestParseReportsAll(t *testing.T) {
	_, err := Parse([]byte(head + "weight: 1000\nfoo: 1\nmode: x\nname: Q\norder: a\nbar: 2\n"))
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatalf("want Problems, got %v", err)
	}
	var lines []int
	for _, p := range problems {
		lines = append(lines, p.Line)
	}
	if diff := cmp.Diff([]int{3, 4, 5, 6, 7, 8}, lines); diff != "" {
		t.Errorf("lines: -want +got\n%s\n%v", diff, err)
	}
	if !strings.HasSuffix(err.Error(), "; and 1 more") {
		t.Errorf("want the first five and a count, got %v", err)
	}
}

func TestHash(t *testing.T) {
	parse := func(in string) *Policy {
		t.Helper()
		p, err := ParseNamed([]byte(head+in), "p")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	base := parse("config: {a: 1, b: 2}\n")
	for _, test := range []struct {
		name, in string
		equal    bool
	}{
		{"order of keys and defaults", "weight: 1\nconfig: {b: 2, a: 1} # same\n", true},
		{"its own name", "name: p\nconfig: {a: 1, b: 2}\n", true},
		{"same memory", "limits: {memory: 65536Ki}\nconfig: {a: 1, b: 2}\n", true},
		{"empty things", "match: {podSelector: {}}\nfailurePolicies: {}\ngrants: []\nconfig: {a: 1, b: 2}\n", true},
		{"float for int", "config: {a: 1.0, b: 2}\n", false},
		{"other name", "name: q\nconfig: {a: 1, b: 2}\n", false},
		{"suspended", "suspend: true\nconfig: {a: 1, b: 2}\n", false},
		{"no config", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := base.Equal(parse(test.in)); got != test.equal {
				t.Errorf("Equal: want %t, got %t", test.equal, got)
			}
		})
	}
	if (*Policy)(nil).Equal(base) || base.Equal(nil) || !(*Policy)(nil).Equal(nil) {
		t.Error("nil equals only nil")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(head))
	f.Add([]byte(head + "config: {a: [1, 1.0, -0.0, 1e21, x, null, \"\\x85\\u2028\\uFEFF\"], \"<<\": \"<&>\"}\n"))
	f.Add([]byte(head + "match: {podSelector: {matchExpressions: [{key: a, operator: Exists}]}}\nlimits: {memory: 1.5Gi}\n"))
	f.Add([]byte(head + "? [a, b]\n: c\n"))
	f.Add([]byte(head + "config: &x {a: *x}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse(data)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("want one line, got %q", err)
			}
			return
		}
		again, err := Parse(p.Effective())
		if err != nil {
			t.Fatalf("effective policy is refused: %v\n%s", err, p.Effective())
		}
		if !p.Equal(again) {
			t.Errorf("effective policy differs:\n%s\n%s", p.Effective(), again.Effective())
		}
	})
}
