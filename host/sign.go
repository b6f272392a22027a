// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/guest"
)

// signKey names Berth's part of a pod's batching signature.
const signKey = "berth.dev/PodHash()"

// SignPod signs pods. Without policies there is nothing to add. A pod matched by
// a policy that isn't node-local, or reads what equal pods don't share, can't be
// batched. Else the fragment is a hash of labels, annotations and spec, so that
// only pods which every policy must treat alike share a signature. A policy with
// sign_pod may tell more pods apart by a key, which becomes another fragment, or
// refuse; it can't make more pods alike. It runs under the queue's lock.
func (b *Berth) SignPod(_ context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	var keys []fwk.SignFragment
	matched := false
	for _, e := range b.host.active.Load().entries {
		if !e.matches(b.profile, pod) {
			continue
		}
		if e.version == nil {
			if e.fail {
				return nil, fwk.NewStatus(fwk.Unschedulable, e.name+": "+e.reason)
			}
			continue
		}
		if why := e.version.unsignable(); why != "" {
			return nil, fwk.NewStatus(fwk.Unschedulable, e.name+": "+why)
		}
		matched = true
		if !e.version.points[abi.SignPod] {
			continue
		}
		key, status := b.askSignPod(e.version, pod)
		if status != nil {
			return nil, status
		}
		if key != "" {
			keys = append(keys, fwk.SignFragment{Key: signKey + "/" + e.name, Value: key})
		}
	}
	if !matched {
		return nil, nil
	}
	hash, err := podHash(pod)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	return append([]fwk.SignFragment{{Key: signKey, Value: hash}}, keys...), nil
}

// askSignPod asks a policy for its key. A policy that can't be asked, or fails,
// has the pod not signed: then nothing is shared.
func (b *Berth) askSignPod(v *version, pod *v1.Pod) (key string, status *fwk.Status) {
	if v.health.quarantined(b.host.clock()) || !v.retain() {
		return "", fwk.NewStatus(fwk.Unschedulable, v.name+": sign_pod can't be asked")
	}
	defer b.host.giveBack(v)
	var said guest.Verdict
	f := b.host.beside(v, b.profile, abi.SignPod, pod, nil, func(r *guest.Result) {
		said = r.Verdict
		k, _ := r.Reply.Get("key")
		key = k.Text()
	})
	switch {
	case f != nil:
		return "", fwk.NewStatus(fwk.Unschedulable, faultReason(v.name, abi.SignPod, f))
	case said.Code != abi.Success:
		return "", fwk.NewStatus(fwk.Unschedulable, said.Reasons...)
	}
	return key, nil
}

// unsignable says why a version's verdicts can't be shared among equal pods;
// "" if they can.
func (v *version) unsignable() string {
	for _, p := range []abi.Point{abi.PreFilter, abi.AddPod, abi.RemovePod, abi.PreScore} {
		// In one call for all nodes, these two see the pod only.
		if v.points[p] && (v.chunked[p] || p != abi.PreFilter && p != abi.PreScore) {
			return "a policy with " + p.String() + " isn't node-local"
		}
	}
	switch {
	case !v.desc.Pure:
		return "the policy isn't declared pure"
	case len(v.desc.Resources)+len(v.desc.DataSets)+len(v.desc.Aggregates) > 0:
		return "the policy reads what changes between equal pods"
	case v.reads[abi.PodSections[abi.PodIdentity].Name]:
		return "the policy reads what tells equal pods apart"
	}
	return ""
}

// podHash hashes what pods of the same template share. encoding/json sorts the
// keys of maps.
func podHash(pod *v1.Pod) (string, error) {
	spec := pod.Spec
	spec.NodeName = ""
	b, err := json.Marshal([]any{pod.Namespace, pod.Labels, pod.Annotations, pod.OwnerReferences, spec})
	if err != nil {
		return "", fmt.Errorf("hash pod: %w", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}
