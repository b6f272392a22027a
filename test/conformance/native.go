// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/berth-scheduler/berth/host"
)

// Go plugins of the same logic as the guests. They stand in the host's place,
// and begin their reasons with the name of the policy that they are compared
// with.

func factory(p fwk.Plugin) frameworkruntime.PluginFactory {
	return func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) { return p, nil }
}

// nativeChameleon is a Filter and a Score without state.
type nativeChameleon struct {
	filter func(*v1.Pod, fwk.NodeInfo) *fwk.Status
	score  func(*v1.Pod, fwk.NodeInfo) int64
}

func (n *nativeChameleon) Name() string { return host.Name }

func (n *nativeChameleon) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, ni fwk.NodeInfo) *fwk.Status {
	return n.filter(pod, ni)
}

func (n *nativeChameleon) Score(_ context.Context, _ fwk.CycleState, pod *v1.Pod, ni fwk.NodeInfo) (int64, *fwk.Status) {
	return n.score(pod, ni), nil
}

func (n *nativeChameleon) ScoreExtensions() fwk.ScoreExtensions { return nil }

// nativeLabel is filter: label.
func nativeLabel(policy, label string) func(*v1.Pod, fwk.NodeInfo) *fwk.Status {
	return func(pod *v1.Pod, ni fwk.NodeInfo) *fwk.Status {
		if pod.Labels[label] != ni.Node().Labels[label] {
			return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, policy+": node and pod have different labels")
		}
		return nil
	}
}

// nativeRoom is filter: room.
func nativeRoom(policy string) func(*v1.Pod, fwk.NodeInfo) *fwk.Status {
	return func(pod *v1.Pod, ni fwk.NodeInfo) *fwk.Status {
		var want int64
		for _, c := range pod.Spec.Containers {
			want += c.Resources.Requests.Cpu().MilliValue()
		}
		if want > ni.GetAllocatable().GetMilliCPU()-ni.GetRequested().GetMilliCPU() {
			return fwk.NewStatus(fwk.Unschedulable, policy+": too little room")
		}
		return nil
	}
}

// nativeCount is filter: count.
func nativeCount(policy string, most int) func(*v1.Pod, fwk.NodeInfo) *fwk.Status {
	return func(_ *v1.Pod, ni fwk.NodeInfo) *fwk.Status {
		if len(ni.GetPods()) > most {
			return fwk.NewStatus(fwk.Unschedulable, policy+": too little room")
		}
		return nil
	}
}

// nativeFree is score: free.
func nativeFree(_ *v1.Pod, ni fwk.NodeInfo) int64 {
	all := ni.GetAllocatable().GetMilliCPU()
	return (all - ni.GetRequested().GetMilliCPU()) * 100 / all
}

// nativeStateful is the guest stateful.
type nativeStateful struct {
	policy string
	most   int64
	refuse bool // PreFilter keeps its state and rejects the pod
}

const countsKey fwk.StateKey = "counts"

type nativeCounts struct {
	group string
	zones map[string]int64
}

func (c *nativeCounts) Clone() fwk.StateData { return &nativeCounts{c.group, maps.Clone(c.zones)} }

func (c *nativeCounts) add(pod *v1.Pod, node *v1.Node, n int64) {
	if g, ok := pod.Labels["group"]; ok && g == c.group {
		c.zones[node.Labels[v1.LabelTopologyZone]] += n
	}
}

func (n *nativeStateful) counts(state fwk.CycleState) *nativeCounts {
	d, err := state.Read(countsKey)
	if err != nil {
		panic(err) // a Go plugin without state is a bug of this test
	}
	return d.(*nativeCounts)
}

func (n *nativeStateful) Name() string { return host.Name }

func (n *nativeStateful) PreFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	c := &nativeCounts{pod.Labels["group"], map[string]int64{}}
	for _, ni := range nodes {
		for _, p := range ni.GetPods() {
			c.add(p.GetPod(), ni.Node(), 1)
		}
	}
	state.Write(countsKey, c)
	if n.refuse {
		return nil, fwk.NewStatus(fwk.Unschedulable, n.policy+": told to reject")
	}
	return nil, nil
}

func (n *nativeStateful) PreFilterExtensions() fwk.PreFilterExtensions { return n }

func (n *nativeStateful) AddPod(_ context.Context, state fwk.CycleState, _ *v1.Pod, other fwk.PodInfo, ni fwk.NodeInfo) *fwk.Status {
	n.counts(state).add(other.GetPod(), ni.Node(), 1)
	return nil
}

func (n *nativeStateful) RemovePod(_ context.Context, state fwk.CycleState, _ *v1.Pod, other fwk.PodInfo, ni fwk.NodeInfo) *fwk.Status {
	n.counts(state).add(other.GetPod(), ni.Node(), -1)
	return nil
}

func (n *nativeStateful) Filter(_ context.Context, state fwk.CycleState, _ *v1.Pod, ni fwk.NodeInfo) *fwk.Status {
	if c := n.counts(state); c.group != "" && c.zones[ni.Node().Labels[v1.LabelTopologyZone]] >= n.most {
		return fwk.NewStatus(fwk.Unschedulable, n.policy+": the zone has enough pods of the group")
	}
	return nil
}

func (n *nativeStateful) Score(_ context.Context, state fwk.CycleState, _ *v1.Pod, ni fwk.NodeInfo) (int64, *fwk.Status) {
	return n.counts(state).zones[ni.Node().Labels[v1.LabelTopologyZone]] * 1000, nil
}

func (n *nativeStateful) ScoreExtensions() fwk.ScoreExtensions { return n }

func (n *nativeStateful) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	lo, hi := scores[0].Score, scores[0].Score
	for _, s := range scores {
		lo, hi = min(lo, s.Score), max(hi, s.Score)
	}
	for i, s := range scores {
		if hi == lo {
			scores[i].Score = fwk.MaxNodeScore
		} else {
			scores[i].Score = 100 - 100*(s.Score-lo)/(hi-lo)
		}
	}
	return nil
}

// nativeRefusal is a PreFilter that rejects every pod, and nothing else.
type nativeRefusal struct{ reason string }

func (n *nativeRefusal) Name() string { return host.Name }

func (n *nativeRefusal) PreFilter(context.Context, fwk.CycleState, *v1.Pod, []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	return nil, fwk.NewStatus(fwk.Unschedulable, n.reason)
}

func (n *nativeRefusal) PreFilterExtensions() fwk.PreFilterExtensions { return nil }
