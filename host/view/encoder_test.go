// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/dump"
	"github.com/berth-scheduler/berth/host/intern"
	"github.com/berth-scheduler/berth/host/view"
)

func newTable() *intern.Table { return intern.New(64<<20, 1<<20) }

func vector(t testing.TB, name string) []byte {
	t.Helper()
	input, err := os.ReadFile(filepath.Join(vectorDir, name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return input
}

func fullNode(t testing.TB) *framework.NodeInfo { return readNode(t, vector(t, "node-full")) }
func fullPod(t testing.TB) *v1.Pod              { return readPod(t, vector(t, "pod-full")) }

// fresh is a node info of copies: upstream's PodLimits adds an overhead to
// pod-level limits in place where they are out of the range of int64, so
// reading an object twice may change it.
func fresh(ni *framework.NodeInfo) *framework.NodeInfo {
	var pods []*v1.Pod
	for _, pi := range ni.Pods {
		pods = append(pods, pi.GetPod().DeepCopy())
	}
	return nodeInfo(ni.Node().DeepCopy(), pods...)
}

// checkNode encodes a node, compares the record with the oracle's and returns
// the bytes.
func checkNode(t testing.TB, table *intern.Table, ni *framework.NodeInfo) []byte {
	t.Helper()
	rec, err := view.NewEncoder(table, allSections()).Node(nil, fresh(ni))
	if err != nil {
		t.Fatal(err)
	}
	r, err := dump.View(rec, table.Since(0))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(oracle{table}.node(fresh(ni)), plain(r)); diff != "" {
		t.Errorf("node (-want +got):\n%s", diff)
	}
	return rec
}

func checkPod(t testing.TB, table *intern.Table, pod *v1.Pod) []byte {
	t.Helper()
	rec, err := view.NewEncoder(table, allSections()).Pod(nil, pod.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	r, err := dump.View(rec, table.Since(0))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(oracle{table}.pod(pod.DeepCopy()), plain(r)); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
	return rec
}

func TestEncoderOracle(t *testing.T) {
	t.Run("node", func(t *testing.T) { checkNode(t, newTable(), fullNode(t)) })
	t.Run("pod", func(t *testing.T) { checkPod(t, newTable(), fullPod(t)) })
	t.Run("known strings in another order", func(t *testing.T) {
		table := newTable()
		for _, s := range []string{"zone", "topology.kubernetes.io/zone", "tier", "pods", "memory", "cpu", "job", "empty", "app", "UDP", "TCP"} {
			table.ID(s)
		}
		checkNode(t, table, fullNode(t))
		checkPod(t, table, fullPod(t))
	})
	t.Run("pod-level resources", func(t *testing.T) {
		pod := readPod(t, []byte("metadata: {name: p}\nspec: {resources: {requests: {cpu: '3'}, limits: {cpu: '5', memory: 1Gi}}, containers: [{name: a}, {name: b}]}"))
		rec := checkPod(t, newTable(), pod)
		r, _ := dump.View(rec, make([]string, 100))
		s, _ := r.Section("pod.resources")
		if got := s.Entries[0].Field("request"); got != int64(3000) {
			t.Errorf("request of cpu: want 3000, got %v", got)
		}
	})
}

// Every subset of one section gives that section's bytes as in the whole
// record, the meta section, and nothing else.
func TestEncoderReads(t *testing.T) {
	ni, pod, table := fullNode(t), fullPod(t), newTable()
	for _, tc := range []struct {
		sections []abi.Section
		encode   func(*view.Encoder) ([]byte, error)
	}{
		{abi.NodeSections, func(e *view.Encoder) ([]byte, error) { return e.Node(nil, ni) }},
		{abi.PodSections, func(e *view.Encoder) ([]byte, error) { return e.Pod(nil, pod) }},
	} {
		read := func(names []string) record {
			rec, err := tc.encode(view.NewEncoder(table, names))
			if err != nil {
				t.Fatal(err)
			}
			r, err := dump.View(rec, table.Since(0))
			if err != nil {
				t.Fatal(err)
			}
			return plain(r)
		}
		whole, meta := read(allSections()), tc.sections[0].Name
		for _, s := range tc.sections {
			want := record{meta: whole[meta], s.Name: whole[s.Name]}
			if diff := cmp.Diff(want, read([]string{s.Name})); diff != "" {
				t.Errorf("reads %s (-want +got):\n%s", s.Name, diff)
			}
		}
	}
}

// A record is appended, and position independent.
func TestEncoderAppends(t *testing.T) {
	table := newTable()
	enc := view.NewEncoder(table, allSections())
	want, err := enc.Node(nil, fullNode(t))
	if err != nil {
		t.Fatal(err)
	}
	got, err := enc.Node([]byte("head"), fullNode(t))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != "head"+string(want) {
		t.Error("appended record: want the bytes that it has alone")
	}
	dirty := bytes.Repeat([]byte{'?'}, 8192)[:0]
	if got, _ = enc.Node(dirty, fullNode(t)); !bytes.Equal(got, want) {
		t.Error("record in a used buffer: want the bytes that it has in a new one")
	}
}

// What doesn't concern a policy doesn't move a view.
func TestEncoderStable(t *testing.T) {
	table := newTable()
	enc := view.NewEncoder(table, allSections())
	before, err := enc.Node(nil, fullNode(t))
	if err != nil {
		t.Fatal(err)
	}
	ni := fullNode(t)
	node := ni.Node().DeepCopy()
	node.ResourceVersion = "999"
	node.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	for i := range node.Status.Conditions {
		node.Status.Conditions[i].LastHeartbeatTime = metav1.NewTime(time.Unix(1e9, 0))
	}
	ni.SetNode(node)
	if after, _ := enc.Node(nil, ni); !bytes.Equal(before, after) {
		t.Error("after a heartbeat: want the same bytes")
	}
	// A resource of a pod that is gone stays behind as 0 in the scheduler's sums.
	ni.Requested.SetScalar("example.com/gone", 0)
	if after, _ := enc.Node(nil, ni); !bytes.Equal(before, after) {
		t.Error("after a pod with another resource came and went: want the same bytes")
	}
	node.Labels["new"] = "x"
	if after, _ := enc.Node(nil, ni); bytes.Equal(before, after) {
		t.Error("after a new label: want other bytes")
	}
}

// Equal runs intern in the same order, whatever Go's maps do.
func TestEncoderDeterministic(t *testing.T) {
	encode := func() ([]byte, []byte, []string) {
		table := newTable()
		enc := view.NewEncoder(table, allSections())
		node, err := enc.Node(nil, fullNode(t))
		if err != nil {
			t.Fatal(err)
		}
		pod, err := enc.Pod(nil, fullPod(t))
		if err != nil {
			t.Fatal(err)
		}
		return node, pod, table.Since(0)
	}
	node, pod, texts := encode()
	for range 20 {
		n, p, s := encode()
		if !bytes.Equal(n, node) || !bytes.Equal(p, pod) || !cmp.Equal(s, texts) {
			t.Fatal("same objects, new table: want the same records and strings")
		}
	}
}

func TestEncoderErrors(t *testing.T) {
	long := strings.Repeat("x", view.MaxRecordBytes)
	for name, tc := range map[string]struct {
		table *intern.Table
		ni    fwk.NodeInfo
		pod   *v1.Pod
		is    error
		text  string
	}{
		"no node info":       {ni: nil, text: "want a node, got a node info without one"},
		"node info, no node": {ni: framework.NewNodeInfo(), text: "want a node, got a node info without one"},
		"no pod":             {text: "want a pod, got none"},
		"full, node":         {table: intern.New(1<<20, 3), ni: fullNode(t), is: view.ErrStringsFull, text: `view of node "worker-1.example.com": string table is full`},
		"full, pod":          {table: intern.New(10, 1000), pod: fullPod(t), is: view.ErrStringsFull, text: `view of pod "train-7"`},
		"large pod": {
			pod:  &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{"a": long}}},
			text: `view of pod "p": want at most 1048576 bytes, got `,
		},
		"large pods on a node": {
			ni: nodeInfo(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(long)}},
				&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "b"}}),
			text: `view of node "n": want at most 1048576 bytes, got `,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.table == nil {
				tc.table = newTable()
			}
			enc := view.NewEncoder(tc.table, allSections())
			dst := []byte("kept")
			var got []byte
			var err error
			if tc.ni != nil || strings.Contains(tc.text, "node info") {
				got, err = enc.Node(dst, tc.ni)
			} else {
				got, err = enc.Pod(dst, tc.pod)
			}
			if err == nil || !strings.Contains(err.Error(), tc.text) || tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("want error %q, got %v", tc.text, err)
			}
			if string(got) != "kept" {
				t.Errorf("dst: want it as it was, got %d bytes", len(got))
			}
			if _, err := view.NewEncoder(newTable(), nil).Pod(nil, fullPod(t)); err != nil {
				t.Errorf("next record: %v", err)
			}
		})
	}
}

// Counts that no one expects but the API server accepts.
func TestEncoderMany(t *testing.T) {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{}}}
	node.Status.Capacity = v1.ResourceList{}
	for i := range 5000 {
		s := fmt.Sprint("example.com/", i)
		node.Labels[s] = s
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: s, Effect: v1.TaintEffectNoSchedule})
		node.Status.Capacity[v1.ResourceName(s)] = *quantity("1")
	}
	checkNode(t, newTable(), nodeInfo(node))
}

// Every field of a volume source has its name.
func TestVolumeKinds(t *testing.T) {
	typ := reflect.TypeFor[v1.VolumeSource]()
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	for i := range typ.NumField() {
		v := v1.Volume{Name: typ.Field(i).Name}
		reflect.ValueOf(&v.VolumeSource).Elem().Field(i).Set(reflect.New(typ.Field(i).Type.Elem()))
		pod.Spec.Volumes = append(pod.Spec.Volumes, v)
	}
	checkPod(t, newTable(), pod)
}

// The wire names of the status codes are the framework's.
func TestCodeNames(t *testing.T) {
	snake := func(s string) string {
		var b strings.Builder
		for i, r := range s {
			if i > 0 && r >= 'A' && r <= 'Z' {
				b.WriteByte('_')
			}
			b.WriteString(strings.ToLower(string(r)))
		}
		return b.String()
	}
	for i, name := range abi.CodeNames {
		if got := snake(fwk.Code(i).String()); got != name {
			t.Errorf("code %d: want the framework's %q, got %q", i, got, name)
		}
	}
	defer func() {
		if recover() == nil {
			t.Errorf("code %d: want none in the framework, got %v", len(abi.CodeNames), fwk.Code(len(abi.CodeNames)))
		}
	}()
	_ = fwk.Code(len(abi.CodeNames)).String()
}
