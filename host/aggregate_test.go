// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/berth-scheduler/berth/abi"
)

// factoryHandle is a handle with informers.
type factoryHandle struct {
	fwk.Handle
	factory informers.SharedInformerFactory
}

func (h *factoryHandle) SharedInformerFactory() informers.SharedInformerFactory { return h.factory }

// Sums follow the pods that have a node, by namespace and by label.
func TestAggregates(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	client := fake.NewClientset(
		st.MakePod().Name("old").Namespace("a").UID("old").Label("team", "x").Node("n1").Req(map[v1.ResourceName]string{"cpu": "1500m", "example.com/gpu": "2"}).Obj(),
		st.MakePod().Name("ended").Namespace("a").UID("ended").Node("n1").Phase(v1.PodSucceeded).Req(map[v1.ResourceName]string{"cpu": "1"}).Obj(),
		st.MakePod().Name("waits").Namespace("a").UID("waits").Req(map[v1.ResourceName]string{"cpu": "1"}).Obj(),
	)
	factory := informers.NewSharedInformerFactory(client, 0)
	h, b, _ := testHost()
	h.first = &Berth{host: h, handle: &factoryHandle{factory: factory}, profile: "berth"}
	v := testVersion(t, "p", "")
	v.desc.Aggregates = []string{"namespace", "label/team"}
	read := func(name, value string) readAnswer {
		return readAggregate(&reading{host: h, version: v, key: []string{name, value}})
	}
	type tree = map[string]any
	want := func(what, name, value string, want tree) {
		t.Helper()
		var got any
		_ = wait.PollUntilContextTimeout(ctx, time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
			got = read(name, value).tree
			return cmp.Equal(any(want), got), nil
		})
		if diff := cmp.Diff(any(want), got); diff != "" {
			t.Errorf("%s: -want +got\n%s", what, diff)
		}
	}
	if a := read("namespace", "a"); a.code != abi.ReadNotReady {
		t.Errorf("nothing counts yet: want not ready, got %v", a)
	}
	h.aggregates.use(h, v.desc.Aggregates)
	h.aggregates.use(h, []string{"namespace"})
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	defer cancel()
	one := tree{"pods": int64(1), "requests": tree{"cpu": int64(1500), "example.com/gpu": int64(2)}}
	want("first list", "namespace", "a", one)
	want("first list", "label/team", "x", one)
	want("no such value", "label/team", "y", tree{"pods": int64(0), "requests": tree{}})
	if a := read("label/other", "x"); a.code != abi.ReadRefused {
		t.Errorf("not declared: want it refused, got %v", a)
	}

	waits, err := client.CoreV1().Pods("a").Get(ctx, "waits", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	two := tree{"pods": int64(2), "requests": tree{"cpu": int64(2500), "example.com/gpu": int64(2)}}
	b.Reserve(ctx, framework.NewCycleState(), waits, "n1")
	want("reserved", "namespace", "a", two)
	b.Unreserve(ctx, framework.NewCycleState(), waits, "n1")
	want("unreserved", "namespace", "a", one)
	b.Reserve(ctx, framework.NewCycleState(), waits, "n1")
	bound := waits.DeepCopy()
	bound.Spec.NodeName = "n1"
	bound.Labels = map[string]string{"team": "y"}
	if _, err := client.CoreV1().Pods("a").Update(ctx, bound, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	want("bound", "label/team", "y", tree{"pods": int64(1), "requests": tree{"cpu": int64(1000)}})
	b.Unreserve(ctx, framework.NewCycleState(), waits, "n1") // the answer to the binding was lost
	want("bound all the same", "namespace", "a", two)
	if err := client.CoreV1().Pods("a").Delete(ctx, "old", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	want("deleted", "label/team", "x", tree{"pods": int64(0), "requests": tree{}})
	want("deleted", "namespace", "a", tree{"pods": int64(1), "requests": tree{"cpu": int64(1000)}})

	h.aggregates.drop(h, v.desc.Aggregates)
	if a := read("label/team", "y"); a.tree == nil || len(h.aggregates.sums) != 1 {
		t.Errorf("want what one version still uses kept alone, got %v", h.aggregates.sums)
	}
	h.aggregates.drop(h, []string{"namespace"})
	if h.aggregates.used.Load() || len(h.aggregates.pods)+len(h.aggregates.sums) > 0 {
		t.Error("want nothing kept that no version uses")
	}
	h.aggregates.assume(waits)
	h.aggregates.use(h, []string{"label/team"})
	want("used again", "label/team", "y", tree{"pods": int64(1), "requests": tree{"cpu": int64(1000)}})
	h.aggregates.drop(h, []string{"label/team"})
}
