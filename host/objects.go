// SPDX-License-Identifier: Apache-2.0

package host

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/host/data"
)

// everything keeps all of an object.
var everything data.Fields

// readPod is the pod of the call.
func readPod(r *reading) readAnswer {
	if r.pod == nil {
		return absent
	}
	return r.object(r.pod)
}

// readNode is a node of the cycle's snapshot.
func readNode(r *reading) readAnswer {
	ni := r.snapshotNode(r.part(0))
	if ni == nil {
		return absent
	}
	return r.object(ni.Node())
}

// readPodOnNode is a pod that the snapshot has on a node: bound, or assumed.
func readPodOnNode(r *reading) readAnswer {
	ni := r.snapshotNode(r.part(0))
	if ni == nil {
		return absent
	}
	for _, p := range ni.GetPods() {
		if p.GetPod().UID == types.UID(r.part(1)) {
			return r.object(p.GetPod())
		}
	}
	return absent
}

func (r *reading) object(obj runtime.Object) readAnswer {
	return r.one(data.NewObject(obj, everything))
}

// snapshotNode finds a node in the scheduler's snapshot.
func (r *reading) snapshotNode(name string) fwk.NodeInfo {
	ni, err := r.host.first.handle.SnapshotSharedLister().NodeInfos().Get(name)
	if err != nil || ni.Node() == nil {
		return nil
	}
	return ni
}
