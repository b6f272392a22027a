// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
)

// PostBind tells the policies in order that the pod is bound. It ends the cycle
// and forgets why the pod was rejected before.
func (b *Berth) PostBind(_ context.Context, state fwk.CycleState, pod *v1.Pod, node string) {
	b.host.rejections.forget(pod.UID)
	b.host.evictor.Forget(pod.UID)
	cs := stateOf(state)
	if cs == nil {
		return
	}
	if !cs.done.Load() && cs.implements(abi.PostBind) {
		if at, err := b.placeOf(abi.PostBind, node); err != nil {
			b.host.logger.Error(err, "PostBind")
		} else {
			for i, cp := range cs.policies {
				cp.postBind(cs, i, at)
			}
		}
	}
	cs.end()
}

// postBind can't fail: a fault is counted and reported.
func (cp *cyclePolicy) postBind(cs *cycleState, i int, at *place) {
	if cp.version == nil || !cp.points[abi.PostBind] {
		return
	}
	cp.version.mu.Lock()
	defer cp.version.mu.Unlock()
	_ = cp.ask(cs, i, abi.PostBind, at)
}
