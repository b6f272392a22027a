// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
)

// trial is one question of dry_run.
type trial struct {
	node   fwk.NodeInfo
	remove []placedPod
}

// placedPod is a pod on a node of the snapshot.
type placedPod struct {
	pod  fwk.PodInfo
	node fwk.NodeInfo
}

// dryRuns answers whether the pod would fit nodes without some pods. Questions
// are independent of each other. The error is a fault of the guest.
func (q *postFilter) dryRuns(list abi.Value) ([]any, error) {
	if list.Len() > abi.MaxDryRuns {
		return nil, fmt.Errorf("dry_run: want at most %d questions, got %d", abi.MaxDryRuns, list.Len())
	}
	trials := make([]trial, list.Len())
	for i := range trials {
		var err error
		if trials[i], err = trialOf(q.nodes, list.At(i)); err != nil {
			return nil, fmt.Errorf("dry_run: question %d: %w", i, err)
		}
	}
	answers := make([]any, len(trials))
	q.handle.Parallelizer().Until(q.ctx, len(trials), func(i int) {
		answers[i] = statusTree(q.dryRun(trials[i]))
	}, Name)
	return answers, nil
}

// statusTree is a status, nil included, for a value record.
func statusTree(s *fwk.Status) map[string]any {
	reasons := []string{}
	if s != nil {
		for _, r := range s.Reasons() {
			reasons = append(reasons, strings.ToValidUTF8(r, "?"))
		}
	}
	return map[string]any{"code": int(s.Code()), "reasons": reasons}
}

// trialOf reads a question.
func trialOf(nodes fwk.NodeInfoLister, v abi.Value) (trial, error) {
	err := abi.CheckKeys(v, []abi.KeyInfo{{Key: "node", Type: "string", Required: true}, {Key: "remove", Type: "list of maps"}})
	if err != nil {
		return trial{}, err
	}
	name, _ := v.Get("node")
	t := trial{}
	if t.node, err = nodes.Get(name.Text()); err != nil {
		return trial{}, fmt.Errorf("node: want one of the snapshot, got %q", name.Text())
	}
	list, _ := v.Get("remove")
	seen := map[types.UID]bool{}
	for i := range list.Len() {
		p, err := findPod(nodes, list.At(i))
		if err != nil {
			return trial{}, err
		}
		if uid := p.pod.GetPod().UID; !seen[uid] {
			seen[uid] = true
			t.remove = append(t.remove, p)
		}
	}
	return t, nil
}

// findPod finds the pod that a map of node and uid means.
func findPod(nodes fwk.NodeInfoLister, v abi.Value) (placedPod, error) {
	err := abi.CheckKeys(v, []abi.KeyInfo{{Key: "node", Type: "string", Required: true}, {Key: "uid", Type: "string", Required: true}})
	if err != nil {
		return placedPod{}, err
	}
	node, _ := v.Get("node")
	uid, _ := v.Get("uid")
	if ni, err := nodes.Get(node.Text()); err == nil {
		if p := podOn(ni, types.UID(uid.Text())); p != nil {
			return placedPod{p, ni}, nil
		}
	}
	return placedPod{}, fmt.Errorf("want a pod that is on node %q, got UID %q", node.Text(), uid.Text())
}

// podOn finds a pod on a node.
func podOn(ni fwk.NodeInfo, uid types.UID) fwk.PodInfo {
	for _, p := range ni.GetPods() {
		if p.GetPod().UID == uid {
			return p
		}
	}
	return nil
}

// dryRun runs the filters of all plugins on a copy of a node without some pods.
// A node that no change of pods can help isn't tried: what PreFilter left out
// isn't filtered either.
func (q *postFilter) dryRun(t trial) *fwk.Status {
	if s := q.cs.statuses.Get(t.node.Node().Name); s.Code() == fwk.UnschedulableAndUnresolvable {
		return s.Clone()
	}
	logger := klog.FromContext(q.ctx)
	state := q.state.Clone()
	copies := map[string]fwk.NodeInfo{t.node.Node().Name: t.node.Snapshot()}
	for _, p := range t.remove {
		name := p.node.Node().Name
		ni := copies[name]
		if ni == nil {
			ni = p.node.Snapshot()
			copies[name] = ni
		}
		if err := ni.RemovePod(logger, p.pod.GetPod()); err != nil {
			return fwk.AsStatus(err)
		}
		if s := q.handle.RunPreFilterExtensionRemovePod(q.ctx, state, q.pod, p.pod, ni); !s.IsSuccess() {
			return s
		}
	}
	return q.handle.RunFilterPluginsWithNominatedPods(q.ctx, state, q.pod, copies[t.node.Node().Name])
}
