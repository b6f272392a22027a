// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/data"
)

// dataHandle has a snapshot, claims and CSI nodes.
type dataHandle struct {
	fakeHandle
	snapshot *internalcache.Snapshot
	dra      fwk.SharedDRAManager
	csi      fwk.CSIManager
}

func (h *dataHandle) SnapshotSharedLister() fwk.SharedLister       { return h.snapshot }
func (h *dataHandle) SharedDRAManager() fwk.SharedDRAManager       { return h.dra }
func (h *dataHandle) SharedCSIManager() fwk.CSIManager             { return h.csi }
func (h *dataHandle) Activate(_ klog.Logger, _ map[string]*v1.Pod) {}

type fakeClaims struct {
	fwk.SharedDRAManager
	fwk.ResourceClaimTracker
	claims []*resourceapi.ResourceClaim
}

func (f fakeClaims) ResourceClaims() fwk.ResourceClaimTracker    { return f }
func (f fakeClaims) List() ([]*resourceapi.ResourceClaim, error) { return f.claims, nil }
func (f fakeClaims) Get(ns, n string) (*resourceapi.ResourceClaim, error) {
	for _, c := range f.claims {
		if c.Namespace == ns && c.Name == n {
			return c, nil
		}
	}
	return nil, fmt.Errorf("none")
}

type fakeCSI []*storagev1.CSINode

func (f fakeCSI) CSINodes() fwk.CSINodeLister         { return f }
func (f fakeCSI) List() ([]*storagev1.CSINode, error) { return f, nil }
func (f fakeCSI) Get(name string) (*storagev1.CSINode, error) {
	for _, c := range f {
		if c.Name == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("none")
}

// dataPod is a pod that has a node.
func dataPod(node, namespace, name string, labels map[string]string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name), Labels: labels},
		Spec: v1.PodSpec{NodeName: node, Containers: []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{"cpu": resource.MustParse("250m")},
		}}}},
	}
}

// readWorld is a version that declared what the scheduler has itself.
func readWorld(t *testing.T, resources ...abi.Resource) *reading {
	t.Helper()
	v := testVersion(t, "p", "")
	v.log = func(_ uint32, line string) { t.Log(line) }
	v.desc.Resources = resources
	h, b, _ := testHost(entryOf(v))
	nodes := []*v1.Node{
		{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"zone": "a"}}, Status: v1.NodeStatus{Capacity: v1.ResourceList{"cpu": resource.MustParse("4")}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "n2", UID: "n2"}},
	}
	handle := &dataHandle{
		snapshot: internalcache.NewSnapshot([]*v1.Pod{
			dataPod("n2", "b", "late", map[string]string{"app": "x"}), dataPod("n1", "a", "early", map[string]string{"app": "y"}), dataPod("n1", "b", "early", map[string]string{"app": "x"}),
		}, nodes),
		dra: fakeClaims{claims: []*resourceapi.ResourceClaim{{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "claim", UID: "c"}}}},
		csi: fakeCSI{{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "csi"}}},
	}
	b.handle = handle
	m := &manager{host: h, handle: handle, informers: data.NewInformers(t.Context(), nil, nil)}
	if err := m.holdResources(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	pod := dataPod("", "b", "new", nil)
	return &reading{host: h, version: v, point: abi.PreFilter, pod: pod, cycle: &cycle{host: h, pod: pod, now: 5}}
}

// treeOf reads and opens the record.
func (r *reading) treeOf(t *testing.T, what abi.Read, key ...string) (any, int64) {
	t.Helper()
	record, code, work := r.read(what, strings.Join(key, "\x00"))
	if record == nil {
		if code >= 0 {
			t.Errorf("%s %q: want a negative answer without a record, got %d", readTable[what].Name, key, code)
		}
		return nil, code
	}
	if code != 0 || work < 0 {
		t.Errorf("%s %q: want 0 and no negative work, got %d, %d", readTable[what].Name, key, code, work)
	}
	v, err := abi.OpenValue(record)
	if err != nil {
		t.Fatal(err)
	}
	return v.Tree(), 0
}

// at walks a tree by keys.
func at(tree any, path ...string) any {
	for _, k := range path {
		m, _ := tree.(map[string]any)
		tree = m[k]
	}
	return tree
}

// objectNames are the namespace/name of a list's objects.
func objectNames(tree any) []string {
	list, _ := tree.([]any)
	out := []string{}
	for _, o := range list {
		ns, _ := at(o, "metadata", "namespace").(string)
		out = append(out, fmt.Sprint(ns, "/", at(o, "metadata", "name")))
	}
	return out
}

func TestReadObjectsOfTheSnapshot(t *testing.T) {
	r := readWorld(t)
	cpu := func(text string, milli int64) any {
		return abi.Quantity{Text: text, Value: (milli + 999) / 1000, Milli: milli}
	}
	if tree, _ := r.treeOf(t, abi.ReadPod); at(tree, "metadata", "name") != "new" || at(tree, "kind") != "Pod" {
		t.Errorf("pod: got %v", tree)
	}
	tree, _ := r.treeOf(t, abi.ReadNode, "n1")
	if diff := cmp.Diff(cpu("4", 4000), at(tree, "status", "capacity", "cpu")); diff != "" || at(tree, "metadata", "labels", "zone") != "a" {
		t.Errorf("node: %s\n%v", diff, tree)
	}
	tree, _ = r.treeOf(t, abi.ReadPodOnNode, "n1", "uid-early")
	containers, _ := at(tree, "spec", "containers").([]any)
	if len(containers) != 1 {
		t.Fatalf("pod on a node: got %v", tree)
	}
	if diff := cmp.Diff(cpu("250m", 250), at(containers[0], "resources", "requests", "cpu")); diff != "" {
		t.Errorf("pod on a node: %s", diff)
	}
	for _, test := range []struct {
		what abi.Read
		key  []string
		want int64
	}{
		{abi.ReadNode, []string{"n3"}, abi.ReadAbsent},
		{abi.ReadNode, []string{""}, abi.ReadAbsent},
		{abi.ReadPodOnNode, []string{"n2", "uid-early"}, abi.ReadAbsent},
		{abi.ReadPodOnNode, []string{"n1"}, abi.ReadAbsent},
		{abi.ReadObject, []string{"v1/pods", "a", "early"}, abi.ReadRefused}, // not declared
		{abi.ReadObjects, []string{"v1/namespaces"}, abi.ReadRefused},
		{abi.ReadDataSet, []string{"load"}, abi.ReadRefused},
		{abi.Read(99), nil, abi.ReadRefused},
	} {
		if _, code := r.treeOf(t, test.what, test.key...); code != test.want {
			t.Errorf("%d %q: want %d, got %d", test.what, test.key, test.want, code)
		}
	}
}

func TestReadDeclaredOfTheScheduler(t *testing.T) {
	r := readWorld(t,
		abi.Resource{Name: "v1/pods", Selector: "app", Fields: []string{"spec.nodeName"}}, abi.Resource{Name: "v1/nodes"},
		abi.Resource{Name: "resource.k8s.io/v1/resourceclaims"}, abi.Resource{Name: "storage.k8s.io/v1/csinodes"})
	tree, _ := r.treeOf(t, abi.ReadObject, "v1/pods", "b", "early")
	want := map[string]any{
		"apiVersion": "v1", "kind": "Pod", "spec": map[string]any{"nodeName": "n1"},
		"metadata": map[string]any{"namespace": "b", "name": "early", "uid": "uid-early", "labels": map[string]any{"app": "x"}},
	}
	if diff := cmp.Diff(any(want), tree); diff != "" {
		t.Errorf("a pod's declared fields (-want +got):\n%s", diff)
	}
	for _, test := range []struct {
		key  []string
		want []string
	}{
		{[]string{"v1/pods", "", ""}, []string{"a/early", "b/early", "b/late"}},
		{[]string{"v1/pods", "b", ""}, []string{"b/early", "b/late"}},
		{[]string{"v1/pods", "", "app=y"}, []string{"a/early"}},
		{[]string{"v1/pods", "none"}, []string{}},
		{[]string{"v1/nodes"}, []string{"/n1", "/n2"}},
		{[]string{"v1/nodes", "", "zone"}, []string{"/n1"}},
		{[]string{"resource.k8s.io/v1/resourceclaims"}, []string{"a/claim"}},
		{[]string{"storage.k8s.io/v1/csinodes"}, []string{"/n1"}},
	} {
		tree, _ := r.treeOf(t, abi.ReadObjects, test.key...)
		if diff := cmp.Diff(test.want, objectNames(tree)); diff != "" {
			t.Errorf("list %q (-want +got):\n%s", test.key, diff)
		}
	}
	for key, want := range map[string]string{
		"v1/nodes\x00\x00n2": "n2", "resource.k8s.io/v1/resourceclaims\x00a\x00claim": "claim", "storage.k8s.io/v1/csinodes\x00\x00n1": "n1",
	} {
		if tree, _ := r.treeOf(t, abi.ReadObject, strings.Split(key, "\x00")...); at(tree, "metadata", "name") != want {
			t.Errorf("%q: want %s, got %v", key, want, tree)
		}
	}
	for _, key := range []string{"v1/nodes\x00\x00n3", "v1/pods\x00a\x00late", "resource.k8s.io/v1/resourceclaims\x00b\x00claim", "storage.k8s.io/v1/csinodes\x00\x00n2"} {
		if _, code := r.treeOf(t, abi.ReadObject, strings.Split(key, "\x00")...); code != abi.ReadAbsent {
			t.Errorf("%q: want it absent, got %d", key, code)
		}
	}

	// The snapshot belongs to the serial cycle; claims and CSI nodes don't.
	for _, point := range append(bindingPoints, abi.PreEnqueue) {
		beside := *r
		if beside.point = point; point == abi.PreEnqueue {
			beside.cycle = nil
		}
		for _, resource := range []string{"v1/pods", "v1/nodes"} {
			if _, code := beside.treeOf(t, abi.ReadObjects, resource); code != abi.ReadRefused {
				t.Errorf("%s at %s: want it refused, got %d", resource, point, code)
			}
			if _, code := beside.treeOf(t, abi.ReadObject, resource, "a", "early"); code != abi.ReadRefused {
				t.Errorf("one of %s at %s: want it refused, got %d", resource, point, code)
			}
		}
		if _, code := beside.treeOf(t, abi.ReadNode, "n1"); code != abi.ReadRefused {
			t.Errorf("node at %s: want it refused, got %d", point, code)
		}
		if tree, _ := beside.treeOf(t, abi.ReadObjects, "resource.k8s.io/v1/resourceclaims"); len(objectNames(tree)) != 1 {
			t.Errorf("claims at %s: got %v", point, tree)
		}
	}
}

// Reading costs fuel by what it makes the host do: once for an object's tree,
// again and again for looking.
func TestReadWork(t *testing.T) {
	r := readWorld(t, abi.Resource{Name: "v1/pods"})
	_, _, first := r.read(abi.ReadObjects, "v1/pods")
	record, _, again := r.read(abi.ReadObjects, "v1/pods")
	if again >= first || again < int64(len(record))*fuelEncoded+3*fuelLooked {
		t.Errorf("want less for trees that are made, and no less than looking and encoding take, got %d and then %d", first, again)
	}
	if _, _, none := r.read(abi.ReadObjects, "v1/pods\x00\x00app=none"); none < 3*fuelLooked {
		t.Errorf("want a list without objects to cost its look at three, got %d", none)
	}
}

// What doesn't fit a record is told, not cut.
func TestReadTooLarge(t *testing.T) {
	r := readWorld(t, abi.Resource{Name: "v1/pods"}, abi.Resource{Name: "v1/nodes", Fields: []string{"spec.podCIDR"}})
	var pods []*v1.Pod
	for i := range 20 {
		p := dataPod("n1", "a", fmt.Sprint("p", i), nil)
		p.Annotations = map[string]string{"text": strings.Repeat("x", 100_000)}
		pods = append(pods, p)
	}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Annotations: map[string]string{"text": strings.Repeat("x", abi.MaxValueBytes)}}}
	r.host.first.handle.(*dataHandle).snapshot = internalcache.NewSnapshot(pods, []*v1.Node{node})
	if _, code := r.treeOf(t, abi.ReadObjects, "v1/pods"); code != abi.ReadTooLarge {
		t.Errorf("a list: want %d, got %d", abi.ReadTooLarge, code)
	}
	if _, code := r.treeOf(t, abi.ReadNode, "n1"); code != abi.ReadTooLarge {
		t.Errorf("an object: want %d, got %d", abi.ReadTooLarge, code)
	}
	if tree, _ := r.treeOf(t, abi.ReadObjects, "v1/nodes"); len(objectNames(tree)) != 1 {
		t.Errorf("with fields: want the node, got %v", tree)
	}
}

func TestHoldResourcesRefuses(t *testing.T) {
	for _, test := range []struct {
		resource abi.Resource
		want     string
	}{
		{abi.Resource{Name: "resource.k8s.io/v1/resourceclaims"}, "DynamicResourceAllocation"},
		{abi.Resource{Name: "resource.k8s.io/v1beta1/resourceclaims"}, "want resource.k8s.io/v1/resourceclaims"},
		{abi.Resource{Name: "storage.k8s.io/v1/csinodes"}, "CSI"},
		{abi.Resource{Name: "v1/pods", Selector: "a in"}, "selector"},
		{abi.Resource{Name: "v1/pods", Fields: []string{""}}, "fields"},
		{abi.Resource{Name: "example.com/v1/quotas"}, "connection to the API server"},
	} {
		v := testVersion(t, "p", "")
		v.desc.Resources = []abi.Resource{test.resource}
		m := &manager{host: New(Options{}), handle: &dataHandle{}, informers: data.NewInformers(t.Context(), nil, nil)}
		if err := m.holdResources(t.Context(), v); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: want an error with %q, got %v", test.resource, test.want, err)
		}
	}
}

func TestReadDataSet(t *testing.T) {
	r := readWorld(t)
	sets := data.NewFeeds(t.Context(), func() time.Time { return time.Unix(0, 2) })
	ready := make(chan struct{})
	q := data.Query{Source: "test", Interval: time.Hour, Timeout: time.Hour, Fetch: fetchAfter(ready)}
	d := sets.Acquire(q, func(time.Duration, bool) {})
	defer d.Release()
	r.version.dataSets = map[string]*data.Feed{"load": d}
	if _, code := r.treeOf(t, abi.ReadDataSet, "load", "n1"); code != abi.ReadNotReady {
		t.Errorf("before the first values: want %d, got %d", abi.ReadNotReady, code)
	}
	close(ready)
	d.Tried(t.Context())
	for _, test := range []struct {
		key  string
		want any
	}{
		{"n1", map[string]any{"value": 0.5, "age_ns": int64(3)}}, // by the cycle's clock
		{"", map[string]any{"values": map[string]any{"n1": 0.5, "n2": 2.0}, "age_ns": int64(3)}},
	} {
		tree, _ := r.treeOf(t, abi.ReadDataSet, "load", test.key)
		if diff := cmp.Diff(test.want, tree); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.key, diff)
		}
	}
	if _, code := r.treeOf(t, abi.ReadDataSet, "load", "n3"); code != abi.ReadAbsent {
		t.Errorf("no such key: want %d, got %d", abi.ReadAbsent, code)
	}
}

func fetchAfter(ready chan struct{}) data.Fetch {
	return func(context.Context) (map[string]float64, error) {
		<-ready
		return map[string]float64{"n1": 0.5, "n2": 2}, nil
	}
}
