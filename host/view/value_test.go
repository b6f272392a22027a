// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"bytes"
	"math"
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/view"
)

func TestFromJSON(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want any
		err  string
	}{
		{in: `null`},
		{in: `true`, want: true},
		{in: `0`, want: int64(0)},
		{in: `9223372036854775807`, want: int64(math.MaxInt64)},
		{in: `-9223372036854775808`, want: int64(math.MinInt64)},
		{in: `9223372036854775808`, want: 9223372036854775808.0},
		{in: `1.0`, want: 1.0},
		{in: `1e2`, want: 100.0},
		{in: `"10Gi"`, want: "10Gi"},
		{in: `["a", 1, {"b": []}]`, want: []any{"a", int64(1), map[string]any{"b": []any{}}}},
		{in: "\"a\xff\"", want: "a\uFFFD"},
		{in: `1e999`, err: "want a number in the range of a double, got 1e999"},
		{in: `[1e999]`, err: "1e999"},
		{in: `{"a": 1e999}`, err: "1e999"},
		{in: `1 2`, err: "want one value, got more"},
		{in: `{"a": 1`, err: "unexpected EOF"},
		{in: ``, err: "EOF"},
	} {
		got, err := view.FromJSON([]byte(tc.in))
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: want error %q, got %v", tc.in, tc.err, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.in, err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.in, diff)
		}
	}
}

func TestTree(t *testing.T) {
	pvc := &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "c", Labels: map[string]string{"storage": "1Gi"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}},
		Spec: v1.PersistentVolumeClaimSpec{Resources: v1.VolumeResourceRequirements{
			Requests: v1.ResourceList{"storage": resource.MustParse("1500m")},
		}},
	}
	want := map[string]any{
		"metadata": map[string]any{"name": "c", "labels": map[string]any{"storage": "1Gi"}},
		"spec": map[string]any{"resources": map[string]any{"requests": map[string]any{
			"storage": abi.Quantity{Text: "1500m", Value: 2, Milli: 1500},
		}}},
		"status": map[string]any{},
	}
	got, err := view.Tree(pvc)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("typed (-want +got):\n%s", diff)
	}
	if len(pvc.ManagedFields) != 1 {
		t.Error("Tree changed its object")
	}

	content := map[string]any{"kind": "Rack", "spec": map[string]any{"capacity": map[string]any{"cpu": "10"}, "n": int64(3), "f": 1.5}, "bad": "\xff"}
	got, err = view.Tree(&unstructured.Unstructured{Object: content})
	if err != nil {
		t.Fatal(err)
	}
	want = runtime.DeepCopyJSON(content)
	want["bad"] = "\uFFFD"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unstructured (-want +got):\n%s", diff)
	}
}

// Pointers to quantities, quantities in lists, and those of huge size.
func TestTreeQuantities(t *testing.T) {
	limit, huge := resource.MustParse("1Mi"), resource.MustParse("1e30")
	pod := &v1.Pod{
		Spec: v1.PodSpec{
			Volumes:  []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{SizeLimit: &limit}}}},
			Overhead: v1.ResourceList{"cpu": huge},
		},
		Status: v1.PodStatus{StartTime: &metav1.Time{}},
	}
	tree, err := view.Tree(pod)
	if err != nil {
		t.Fatal(err)
	}
	spec := tree.(map[string]any)["spec"].(map[string]any)
	want := map[string]any{"sizeLimit": abi.Quantity{Text: "1Mi", Value: 1 << 20, Milli: 1000 << 20}}
	if diff := cmp.Diff(want, spec["volumes"].([]any)[0].(map[string]any)["emptyDir"]); diff != "" {
		t.Errorf("sizeLimit (-want +got):\n%s", diff)
	}
	want = map[string]any{"cpu": abi.Quantity{Text: "1e30", Value: math.MaxInt64, Milli: math.MaxInt64}}
	if diff := cmp.Diff(want, spec["overhead"]); diff != "" {
		t.Errorf("overhead (-want +got):\n%s", diff)
	}
	if _, err := abi.EncodeValue(tree); err != nil {
		t.Error(err)
	}
}

func TestValueOf(t *testing.T) {
	for name, v := range map[string]any{"no object": (*v1.Pod)(nil), "chan": make(chan int), "list object": &unstructured.Unstructured{Object: map[string]any{"a": struct{}{}}}} {
		if _, err := view.ValueOf(v); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
	rec, err := view.ValueOf(map[string]any{"a": int64(1)})
	if err != nil {
		t.Fatal(err)
	}
	v, err := abi.OpenValue(rec)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(any(map[string]any{"a": int64(1)}), v.Tree()); diff != "" {
		t.Error(diff)
	}
	if _, err := view.Tree(nil); err == nil {
		t.Error("Tree(nil): want an error")
	}
}

// TestFromJSONMutated is in place of a fuzz test, as TestRandomObjects is.
func TestFromJSONMutated(t *testing.T) {
	seed := []byte(`{"a": [1, 2.5, null, "x\u00e9"], "b": {"c": true, "d": -1e3}, "": 9223372036854775807}`)
	r := rand.New(rand.NewSource(1))
	read := 0
	for range 50_000 {
		data := bytes.Clone(seed)
		for range 1 + r.Intn(3) {
			data[r.Intn(len(data))] = `{}[]",:0123456789.eE-+ntfalsru\ `[r.Intn(32)]
		}
		tree, err := view.FromJSON(data)
		if err != nil {
			continue
		}
		read++
		rec, err := abi.EncodeValue(tree)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		v, err := abi.OpenValue(rec)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if got := v.Tree(); !reflect.DeepEqual(tree, got) {
			t.Fatalf("%s: want %v, got %v", data, tree, got)
		}
	}
	if read < 1000 {
		t.Errorf("mutations that are JSON: want at least 1000, got %d", read)
	}
}
