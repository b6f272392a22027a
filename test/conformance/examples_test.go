// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host"
	"github.com/berth-scheduler/berth/host/module"
	"github.com/berth-scheduler/berth/host/weave"
)

// Limits of the examples' modules: they are to fit a ConfigMap with room to
// spare, which is 1 MiB and takes them gzipped.
//
// maxPlain is for those with no point but those of filtering and scoring: what
// other policies need must not cost them anything.
const (
	maxPlain         = 2_100_000
	maxExample       = 2_400_000
	maxExampleZipped = 700_000
)

const examples = "../../examples"

// exampleFile reads a file of an example.
func exampleFile(t *testing.T, name string, path ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{examples, name}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// exampleObjects reads the documents of a fixture.
func exampleObjects[T any](t *testing.T, name, file string) []*T {
	t.Helper()
	var objects []*T
	for doc := range strings.SplitSeq(string(exampleFile(t, name, "fixtures", file)), "\n---\n") {
		object := new(T)
		if err := yaml.UnmarshalStrict([]byte(doc), object); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		objects = append(objects, object)
	}
	return objects
}

// expectation is an entry of expected.yaml.
type expectation struct {
	Pod     string            `json:"pod"`
	Rejects map[string]string `json:"rejects"`
	Scores  map[string]int64  `json:"scores"`
}

// TestExamples builds each example, loads it with its policy.yaml, and compares
// what it answers in the real host with what its fixtures say, where it has some.
func TestExamples(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(examples, "*", "policy.yaml"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("want examples, got %v, %v", dirs, err)
	}
	e := Engine{Name: "wazero", Host: host.New, cache: t.TempDir()}
	if err := os.Chmod(e.cache, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		name := filepath.Base(filepath.Dir(dir))
		t.Run(name, func(t *testing.T) {
			wasm, err := buildModule("github.com/berth-scheduler/berth/examples/"+name, "")
			if err != nil {
				t.Fatal(err)
			}
			checkExampleModule(t, name, wasm)
			checkExampleAnswers(t, e, name, wasm)
		})
	}
}

func checkExampleModule(t *testing.T, name string, wasm []byte) {
	t.Helper()
	var zipped bytes.Buffer
	zip, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := zip.Write(wasm); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	i, err := weave.ParseInterface(wasm)
	if err != nil {
		t.Fatal(err)
	}
	exported := map[string]bool{}
	for _, x := range i.Exports {
		exported[x.Name] = true
	}
	most := maxPlain
	for _, f := range []abi.Point{abi.SignPod, abi.PostFilter, abi.PodGroupPostFilter, abi.Bind, abi.ScorePlacement} {
		if exported[f.String()] { // the family is in
			most = maxExample
		}
	}
	t.Logf("%s: %d bytes of at most %d, %d gzipped", name, len(wasm), most, zipped.Len())
	if len(wasm) > most || zipped.Len() > maxExampleZipped {
		t.Errorf("want at most %d bytes and %d gzipped, got %d and %d", most, maxExampleZipped, len(wasm), zipped.Len())
	}
	for _, f := range abi.Exports() {
		if !exported[f.Name] && (!f.Frame || f.Point == abi.Describe || f.Point == abi.Configure) {
			t.Errorf("export %q: want it, got none", f.Name)
		}
	}
	if _, err := module.Inspect(wasm, weave.DefaultLimits()); err != nil {
		t.Errorf("inspect: %v", err)
	}
}

func checkExampleAnswers(t *testing.T, e Engine, name string, wasm []byte) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(examples, name, "fixtures")); err != nil {
		return // it reads or asks for what only an API server has: test/e2e loads it
	}
	var lines []string
	for line := range strings.Lines(string(exampleFile(t, name, "policy.yaml"))) {
		if !strings.HasPrefix(line, "apiVersion:") && !strings.HasPrefix(line, "kind:") {
			lines = append(lines, line)
		}
	}
	w := e.NewWorld(t, Setting{})
	policy := w.Load(Policy{Name: name, Module: wasm, Fields: strings.Join(lines, "")})
	w.AddNodes(exampleObjects[v1.Node](t, name, "nodes.yaml")...)
	pods := map[string]*v1.Pod{}
	for _, p := range exampleObjects[v1.Pod](t, name, "pods.yaml") {
		p.Spec.SchedulerName, p.UID = profile, types.UID(p.Name)
		if pods[p.Namespace+"/"+p.Name] = p; p.Spec.NodeName != "" {
			w.AddPods(p)
		}
	}
	var expected []expectation
	if err := yaml.UnmarshalStrict(exampleFile(t, name, "fixtures", "expected.yaml"), &expected); err != nil {
		t.Fatal(err)
	}
	for _, x := range expected {
		p := pods[x.Pod]
		if p == nil {
			t.Fatalf("expected.yaml: pod %q: want one of pods.yaml", x.Pod)
		}
		a := w.Filter(p, 0)
		var rejects map[string]string
		for node, status := range a.Nodes {
			if status == "" {
				continue
			}
			if rejects == nil {
				rejects = map[string]string{}
			}
			rejects[node] = strings.Replace(status, ": "+policy+": ", ": ", 1)
		}
		if diff := cmp.Diff(x.Rejects, rejects); diff != "" {
			t.Errorf("%s: rejected nodes: want (-), got (+):\n%s", x.Pod, diff)
		}
		if x.Scores == nil {
			continue
		}
		if diff := cmp.Diff(x.Scores, a.RunScore().Scores); diff != "" {
			t.Errorf("%s: scores: want (-), got (+):\n%s", x.Pod, diff)
		}
	}
}
