// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/dump"
	"github.com/berth-scheduler/berth/host/intern"
	"github.com/berth-scheduler/berth/host/view"
)

var rewrite = flag.Bool("rewrite", false, "write the golden vectors instead of comparing them")

const vectorDir = "../../abi/testdata/vectors"

// TestVectors encodes each input into an empty table and compares the strings,
// the record and its dump with the files beside the input.
func TestVectors(t *testing.T) {
	inputs, err := filepath.Glob(filepath.Join(vectorDir, "*.yaml"))
	if err != nil || len(inputs) == 0 {
		t.Fatalf("inputs in %s: want some, got %v, %v", vectorDir, inputs, err)
	}
	for _, path := range inputs {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			input, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			table := intern.New(1<<20, 1<<16)
			enc := view.NewEncoder(table, vectorReads(input))
			var rec []byte
			switch kind, _, _ := strings.Cut(name, "-"); kind {
			case "node":
				rec, err = enc.Node(nil, readNode(t, input))
			case "pod":
				pod := readPod(t, input)
				rec, err = enc.Pod(nil, pod)
			case "value":
				rec, err = view.ValueOf(readValue(t, input))
			}
			if err != nil {
				t.Fatal(err)
			}
			text, stringsFile := dumpVector(t, rec, table, strings.HasPrefix(name, "value-"))
			compare(t, name+".bin", rec)
			compare(t, name+".txt", text)
			if stringsFile != nil {
				compare(t, name+".strings", stringsFile)
			}
		})
	}
}

func dumpVector(t *testing.T, rec []byte, table *intern.Table, value bool) (text, stringsFile []byte) {
	t.Helper()
	if value {
		s, err := dump.Value(rec)
		if err != nil {
			t.Fatal(err)
		}
		return []byte(s), nil
	}
	r, err := dump.View(rec, table.Since(0))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	for _, s := range table.Since(0) {
		if err := lines.Encode(s); err != nil {
			t.Fatal(err)
		}
	}
	return []byte(r.String()), b.Bytes()
}

func compare(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join(vectorDir, name)
	if *rewrite {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// allSections are the names of every section.
func allSections() []string {
	var names []string
	for _, table := range [][]abi.Section{abi.NodeSections, abi.PodSections} {
		for _, s := range table {
			names = append(names, s.Name)
		}
	}
	return names
}

func vectorReads(input []byte) []string {
	for line := range strings.Lines(string(input)) {
		if list, ok := strings.CutPrefix(line, "# reads:"); ok {
			return strings.Fields(list)
		}
	}
	return allSections()
}

func readNode(t testing.TB, input []byte) *framework.NodeInfo {
	t.Helper()
	docs := bytes.Split(input, []byte("\n---\n"))
	var node v1.Node
	if err := yaml.UnmarshalStrict(docs[0], &node); err != nil {
		t.Fatal(err)
	}
	var pods []*v1.Pod
	for _, doc := range docs[1:] {
		pods = append(pods, readPod(t, doc))
	}
	return nodeInfo(&node, pods...)
}

func readPod(t testing.TB, doc []byte) *v1.Pod {
	t.Helper()
	var pod v1.Pod
	if err := yaml.UnmarshalStrict(doc, &pod); err != nil {
		t.Fatal(err)
	}
	return &pod
}

func readValue(t testing.TB, input []byte) any {
	t.Helper()
	data, err := yaml.YAMLToJSON(input)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := view.FromJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := tree.(map[string]any); ok && m["kind"] == "Pod" {
		return readPod(t, input)
	}
	return tree
}

// nodeInfo is a node as the scheduler's cache shows it, its images being on no
// other node.
func nodeInfo(node *v1.Node, pods ...*v1.Pod) *framework.NodeInfo {
	ni := framework.NewNodeInfo(pods...)
	ni.SetNode(node)
	for _, image := range node.Status.Images {
		for _, name := range image.Names {
			s := &fwk.ImageStateSummary{Size: image.SizeBytes, Nodes: sets.New(node.Name)}
			ni.ImageStates[name] = s.Snapshot()
		}
	}
	return ni
}
