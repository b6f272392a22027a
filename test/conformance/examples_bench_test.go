// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/engine"
	"github.com/berth-scheduler/berth/host/guest"
	"github.com/berth-scheduler/berth/host/intern"
	"github.com/berth-scheduler/berth/host/module"
	"github.com/berth-scheduler/berth/host/view"
)

// BenchmarkExamples measures one call over 64 resident nodes, fuel counted.
func BenchmarkExamples(b *testing.B) {
	for _, x := range []struct {
		name   string
		point  abi.Point
		config map[string]any
	}{
		{"team-pools", abi.Filter, map[string]any{
			"pools":    map[string]any{"red": []any{"red", "shared"}, "blue": []any{"blue"}},
			"overflow": map[string]any{"pools": []any{"burst"}, "allow": "OptIn"},
		}},
		{"cost-aware", abi.Score, map[string]any{}},
		{"binpack", abi.Score, map[string]any{}},
	} {
		b.Run(x.name, func(b *testing.B) { benchmarkExample(b, x.name, x.point, x.config) })
	}
}

func benchmarkExample(b *testing.B, name string, point abi.Point, config map[string]any) {
	ctx := context.Background()
	wasm, err := buildModule("github.com/berth-scheduler/berth/examples/"+name, "")
	if err != nil {
		b.Fatal(err)
	}
	e, err := engine.NewWazero(ctx, engine.WazeroOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	m, err := module.Load(ctx, wasm, module.Options{Engine: e})
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	description, _, err := m.Describe(ctx)
	if err != nil {
		b.Fatal(err)
	}
	strings := intern.New(intern.MaxBytes, intern.MaxCount)
	const plenty = 1 << 30
	in, err := m.NewInstance(ctx, guest.Options{Strings: strings, Budgets: guest.Budgets{Life: plenty, GC: plenty, Call: plenty}})
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	record, err := abi.EncodeValue(config)
	if err != nil {
		b.Fatal(err)
	}
	before := in.SpentFuel()
	if err := in.Configure(record); err != nil {
		b.Fatal(err)
	}
	configure := in.SpentFuel() - before
	enc := view.NewEncoder(strings, description.Reads)
	call := &guest.Call{Point: point, Cycle: 1}
	for i := range 64 {
		n := st.MakeNode().Name(fmt.Sprint("node-", i)).Capacity(map[v1.ResourceName]string{"cpu": "8", "memory": "32Gi", "pods": "110"})
		for j := range 10 { // labels as a node of a cloud has them
			n.Label(fmt.Sprintf("example.com/label-%d", j), fmt.Sprint(i%(j+1)))
		}
		n.Label("berth.dev/pool", []string{"red", "blue", "burst", "other"}[i%4]).
			Label("berth.dev/price-per-hour", fmt.Sprintf("0.%02d", i+1)).Label("berth.dev/capacity", []string{"spot", "od"}[i%2])
		ni := framework.NewNodeInfo()
		ni.SetNode(n.Obj())
		rec, err := enc.Node(nil, fwk.NodeInfo(ni))
		if err != nil {
			b.Fatal(err)
		}
		ref, err := in.SetNode(uint32(i), uint64(i+1), rec)
		if err != nil {
			b.Fatal(err)
		}
		call.Nodes = append(call.Nodes, ref)
	}
	pod := st.MakePod().Name("p").Namespace("default").Label("berth.dev/team", "red").Label("berth.dev/spot", "prefer").
		Req(map[v1.ResourceName]string{"cpu": "1", "memory": "1Gi"}).Obj()
	rec, err := enc.Pod(nil, pod)
	if err != nil {
		b.Fatal(err)
	}
	if err := in.SetPod(rec); err != nil {
		b.Fatal(err)
	}
	var result guest.Result
	memory := in.MemoryBytes()
	for b.Loop() {
		if err := in.Call(call, &result); err != nil {
			b.Fatal(err)
		}
	}
	if grown := in.MemoryBytes() - memory; grown > 1<<20 {
		b.Errorf("%d calls: want no garbage, got %d more bytes of memory", b.N, grown)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(call.Nodes)), "ns/node")
	b.ReportMetric(float64(in.LastFuel())/float64(len(call.Nodes)), "fuel/node")
	if err := in.GC(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(in.LastFuel())/1000, "kfuel/gc")
	b.ReportMetric(float64(configure)/1000, "kfuel/configure")
}
