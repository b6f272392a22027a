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
)

// signKey names Berth's part of a pod's batching signature.
const signKey = "berth.dev/PodHash()"

// SignPod signs pods natively, without a guest: it runs under the queue's lock.
// Without policies there is nothing to add. A pod matched by a policy that
// isn't node-local, or reads what equal pods don't share, can't be batched.
// Else the fragment is a hash of labels, annotations and spec, so that only
// pods which every policy must treat alike share a signature.
func (b *Berth) SignPod(_ context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
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
	}
	if !matched {
		return nil, nil
	}
	hash, err := podHash(pod)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	return []fwk.SignFragment{{Key: signKey, Value: hash}}, nil
}

// unsignable says why a version's verdicts can't be shared among equal pods;
// "" if they can.
func (v *version) unsignable() string {
	for _, p := range []abi.Point{abi.PreFilter, abi.AddPod, abi.RemovePod, abi.PreScore} {
		if v.points[p] {
			return "a policy with " + p.String() + " isn't node-local"
		}
	}
	switch {
	case !v.desc.Pure:
		return "the policy isn't declared pure"
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
