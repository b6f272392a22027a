// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	clienttesting "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/berth-scheduler/berth/host"
)

// Attempt is one pod's scheduling cycle, point by point as schedulePod runs
// them, but over every node.
type Attempt struct {
	w     *World
	fw    framework.Framework
	State fwk.CycleState
	Pod   *v1.Pod

	// PreFilter and Nodes are statuses as "Code: message", "" for Success.
	PreFilter string
	Nodes     map[string]string
	// Scores are what the plugin under test gave, weighted; nil if it skipped.
	Scores map[string]int64
	// Score is the status of PreScore, Score and NormalizeScore.
	Score string

	statuses *framework.NodeToStatus
	feasible []fwk.NodeInfo
}

// Outcome is what an attempt came to, for comparing.
type Outcome struct {
	PreFilter string
	Nodes     map[string]string
	Scores    map[string]int64
	Score     string
}

// Outcome leaves out the framework's own objects.
func (a *Attempt) Outcome() Outcome { return Outcome{a.PreFilter, a.Nodes, a.Scores, a.Score} }

// Refresh brings the snapshot to the cache's state.
func (w *World) Refresh() {
	if err := w.Scheduler.Cache.UpdateSnapshot(w.logger, w.snapshot); err != nil {
		w.Fatal(err)
	}
}

// framework is that of a pod's profile.
func (w *World) framework(pod *v1.Pod) framework.Framework {
	fw := w.Scheduler.Profiles[pod.Spec.SchedulerName]
	if fw == nil {
		w.Fatalf("pod %s: there is no profile %q", pod.Name, pod.Spec.SchedulerName)
	}
	return fw
}

// Filter runs PreFilter and, from the node at start on, Filter for a pod.
func (w *World) Filter(pod *v1.Pod, start int) *Attempt {
	w.Helper()
	w.Refresh()
	return w.filterIn(framework.NewCycleState(), pod, start)
}

func (w *World) filterIn(state fwk.CycleState, pod *v1.Pod, start int) *Attempt {
	a := &Attempt{w: w, fw: w.framework(pod), State: state, Pod: pod, Nodes: map[string]string{}, statuses: framework.NewDefaultNodeToStatus()}
	all, err := w.snapshot.ListNodesInPlacement()
	if err != nil {
		w.Fatal(err)
	}
	result, status, by := a.fw.RunPreFilterPlugins(w.ctx, a.State, pod)
	if a.PreFilter = describe(status); !status.IsSuccess() {
		a.statuses.SetAbsentNodesStatus(status)
		return a
	}
	nodes := all
	if !result.AllNodes() {
		nodes = nil
		for _, ni := range all {
			if result.NodeNames.Has(ni.Node().Name) {
				nodes = append(nodes, ni)
			}
		}
		a.statuses.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(by))))
	}
	found := make([]*fwk.Status, len(nodes))
	a.fw.Parallelizer().Until(w.ctx, len(nodes), func(i int) {
		i = (start + i) % len(nodes)
		found[i] = a.fw.RunFilterPluginsWithNominatedPods(w.ctx, a.State, pod, nodes[i])
	}, "Filter")
	for i, ni := range nodes {
		a.Nodes[ni.Node().Name] = describe(found[i])
		if found[i].IsSuccess() {
			a.feasible = append(a.feasible, ni)
		} else {
			a.statuses.Set(ni.Node().Name, found[i])
		}
	}
	return a
}

// RunScore runs PreScore, Score and NormalizeScore for the nodes that passed.
func (a *Attempt) RunScore() *Attempt {
	if status := a.fw.RunPreScorePlugins(a.w.ctx, a.State, a.Pod, a.feasible); !status.IsSuccess() {
		a.Score = describe(status)
		return a
	}
	nodes, status := a.fw.RunScorePlugins(a.w.ctx, a.State, a.Pod, a.feasible)
	if a.Score = describe(status); !status.IsSuccess() {
		return a
	}
	for _, n := range nodes {
		for _, s := range n.Scores {
			if s.Name == host.Name {
				if a.Scores == nil {
					a.Scores = map[string]int64{}
				}
				a.Scores[n.Name] = s.Score
			}
		}
	}
	return a
}

// Evaluate is Filter and RunScore.
func (w *World) Evaluate(pod *v1.Pod) *Attempt {
	w.Helper()
	a := w.Filter(pod, 0)
	if len(a.feasible) > 0 {
		a.RunScore()
	}
	return a
}

// Preempt runs PostFilter, as after a cycle without a feasible node.
func (a *Attempt) Preempt() (node string, _ *fwk.Status) {
	result, status := a.fw.RunPostFilterPlugins(a.w.ctx, a.State, a.Pod, a.statuses)
	if result != nil && result.NominatingInfo != nil {
		node = result.NominatedNodeName
	}
	return node, status
}

// Schedule runs the scheduler's own algorithm, which stops early and begins
// where it ended the last time. The error is a *framework.FitError if no node
// fits.
func (w *World) Schedule(pod *v1.Pod) (scheduled string, feasible int, err error) {
	w.Helper()
	w.Refresh()
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		w.Fatal(err)
	}
	r, err := w.Scheduler.SchedulePod(w.ctx, w.framework(pod), framework.NewCycleState(), &framework.QueuedPodInfo{PodInfo: info})
	return r.SuggestedHost, r.FeasibleNodes, err
}

// Nominate notes that a pod is to go to a node where room is being made.
func (w *World) Nominate(pod *v1.Pod, node string) {
	w.Publish(pod)
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		w.Fatal(err)
	}
	w.Scheduler.SchedulingQueue.Add(w.ctx, pod) // nominated pods are found there
	w.Scheduler.SchedulingQueue.AddNominatedPod(w.logger, info, &fwk.NominatingInfo{NominatedNodeName: node, NominatingMode: fwk.ModeOverride})
}

// evicted are the pods that were deleted on the API server.
func (w *World) evicted() sets.Set[string] {
	names := sets.New[string]()
	for _, action := range w.Client.Actions() {
		if d, ok := action.(clienttesting.DeleteAction); ok && action.Matches("delete", "pods") {
			names.Insert(d.GetName())
		}
	}
	return names
}

// describe writes a status as "Code: message", "" for Success.
func describe(s *fwk.Status) string {
	if s.IsSuccess() {
		return ""
	}
	return s.Code().String() + ": " + s.Message()
}

// fitMessage is what a pod's event says when no node fits.
func fitMessage(err error) string {
	var fit *framework.FitError
	if errors.As(err, &fit) {
		return fit.Error()
	}
	return fmt.Sprint("no FitError: ", err)
}

// pod begins a pod of the World's profile.
func pod(name string) *st.PodWrapper {
	return st.MakePod().Name(name).Namespace("default").UID(name).SchedulerName(profile)
}

// node makes a node in a zone, with cpu in whole cores.
func node(name, zone string, cpu int) *v1.Node {
	n := st.MakeNode().Name(name).Label(v1.LabelTopologyZone, zone).Label(v1.LabelHostname, name)
	return n.Capacity(map[v1.ResourceName]string{v1.ResourceCPU: fmt.Sprint(cpu), v1.ResourceMemory: "64Gi", v1.ResourcePods: "110"}).Obj()
}

// lines joins what should be one message.
func lines(parts ...string) string { return strings.Join(parts, ", ") }
