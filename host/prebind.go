// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
)

func init() {
	checkers[abi.IntentPatch] = func(_ *asking, v abi.Value) error {
		return (&metadata{}).add(v)
	}
}

// PreBindPreFlight asks the policies whether they have work in PreBind. Without
// any it says that Berth has none, and doesn't stand in the way of plugins that
// run in parallel. The framework may leave the call out.
func (b *Berth) PreBindPreFlight(_ context.Context, state fwk.CycleState, _ *v1.Pod, node string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	cs := stateOf(state)
	if cs == nil || !cs.implements(abi.PreBind) {
		return &fwk.PreBindPreFlightResult{AllowParallel: true}, fwk.NewStatus(fwk.Skip)
	}
	if cs.done.Load() {
		return nil, fwk.AsStatus(errClosed)
	}
	at, err := b.placeOf(abi.PreBindPreFlight, node)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	work := false
	for i, cp := range cs.policies {
		some, status := cp.preFlight(cs, i, at)
		if status != nil {
			return nil, status
		}
		work = work || some
	}
	if !work {
		return &fwk.PreBindPreFlightResult{AllowParallel: true}, fwk.NewStatus(fwk.Skip)
	}
	return nil, nil
}

// preFlight says whether the policy has work in PreBind: it has, if it doesn't
// say otherwise.
func (cp *cyclePolicy) preFlight(cs *cycleState, i int, at *place) (work bool, _ *fwk.Status) {
	if cp.version == nil || !cp.points[abi.PreBind] {
		return false, nil
	}
	cp.version.mu.Lock()
	defer cp.version.mu.Unlock()
	if !cp.points[abi.PreBindPreFlight] {
		return true, nil
	}
	cp.idle = true
	if f := cp.ask(cs, i, abi.PreBindPreFlight, at); f != nil {
		return false, cp.onFault(abi.PreBindPreFlight, f)
	}
	switch cp.result.Code {
	case abi.Skip:
		return false, nil
	case abi.Error:
		return false, cp.judge(abi.PreBindPreFlight)
	}
	cp.idle = false
	return true, nil
}

// PreBind asks the policies in order for their work on the pod. When all agree
// the host carries it out: one patch of the pod's metadata.
func (b *Berth) PreBind(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	cs := stateOf(state)
	if cs == nil || !cs.implements(abi.PreBind) {
		return nil
	}
	if cs.done.Load() {
		return fwk.AsStatus(errClosed)
	}
	at, err := b.placeOf(abi.PreBind, node)
	if err != nil {
		return fwk.AsStatus(err)
	}
	var patch metadata
	for i, cp := range cs.policies {
		if err := ctx.Err(); err != nil {
			return fwk.AsStatus(err)
		}
		if status := cp.preBind(cs, i, at, &patch); status != nil {
			return status
		}
	}
	if err := patch.send(ctx, b.handle, pod); err != nil {
		return fwk.AsStatus(err)
	}
	return nil
}

func (cp *cyclePolicy) preBind(cs *cycleState, i int, at *place, patch *metadata) *fwk.Status {
	if cp.version == nil || !cp.points[abi.PreBind] {
		return nil
	}
	cp.version.mu.Lock()
	defer cp.version.mu.Unlock()
	if cp.idle {
		return nil
	}
	if f := cp.ask(cs, i, abi.PreBind, at); f != nil {
		return cp.onFault(abi.PreBind, f)
	}
	if cp.result.Code != abi.Success {
		return cp.judge(abi.PreBind)
	}
	for _, v := range intentsOf(&cp.result, abi.IntentPatch) {
		if err := patch.add(v); err != nil {
			return fwk.AsStatus(fmt.Errorf("%s: %w", cp.name, err)) // it was checked already
		}
	}
	return nil
}

// metadata are changes of a pod's metadata; nil removes a key. Of two changes of
// one key the later counts.
type metadata struct {
	Labels      map[string]*string `json:"labels,omitempty"`
	Annotations map[string]*string `json:"annotations,omitempty"`
}

// add takes over what an intent patch asks for.
func (m *metadata) add(v abi.Value) error {
	for _, part := range []struct {
		key string
		to  *map[string]*string
	}{{"labels", &m.Labels}, {"annotations", &m.Annotations}} {
		values, _ := v.Get(part.key)
		for i := range values.Len() {
			var text *string
			switch x := values.At(i); x.Kind() {
			case abi.String:
				s := x.Text()
				text = &s
			case abi.Null:
			default:
				return fmt.Errorf("%s: key %q: want a string or null, got %s", part.key, values.Key(i), x.Kind())
			}
			if *part.to == nil {
				*part.to = map[string]*string{}
			}
			(*part.to)[values.Key(i)] = text
		}
	}
	return nil
}

// send patches the pod, and only this one: not another of its name.
func (m *metadata) send(ctx context.Context, handle fwk.Handle, pod *v1.Pod) error {
	if len(m.Labels)+len(m.Annotations) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": struct {
		UID types.UID `json:"uid"`
		*metadata
	}{pod.UID, m}})
	if err != nil {
		return err
	}
	if _, err := handle.ClientSet().CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("patch pod: %w", err)
	}
	return nil
}
