// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/guest"
)

func init() {
	checkers[abi.IntentBind] = func(_ *asking, v abi.Value) error {
		_, err := annotations(v)
		return err
	}
}

// Bind asks the policies in order, until one wants to bind the pod. The host does
// that as DefaultBinder does, and whether it succeeds or not: nobody else tries.
// If nobody wants to, the next plugin's turn is it.
func (b *Berth) Bind(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	cs := stateOf(state)
	if cs == nil || !cs.implements(abi.Bind) {
		return fwk.NewStatus(fwk.Skip)
	}
	if cs.done.Load() {
		return fwk.AsStatus(errClosed)
	}
	at, err := b.placeOf(abi.Bind, node)
	if err != nil {
		return fwk.AsStatus(err)
	}
	for i, cp := range cs.policies {
		wants, with, status := cp.bind(cs, i, at)
		if status != nil {
			return status
		}
		if wants {
			return fwk.AsStatus(b.bindPod(ctx, pod, node, with))
		}
	}
	return fwk.NewStatus(fwk.Skip)
}

// bind asks one policy. A fault, or an error, that is to be ignored is as Skip:
// what the guest asked for in such a call isn't done.
func (cp *cyclePolicy) bind(cs *cycleState, i int, at *place) (wants bool, with map[string]string, _ *fwk.Status) {
	if cp.version == nil || !cp.points[abi.Bind] {
		return false, nil, nil
	}
	cp.version.mu.Lock()
	defer cp.version.mu.Unlock()
	f := cp.ask(cs, i, abi.Bind, at)
	if f != nil {
		return false, nil, cp.onFault(abi.Bind, f)
	}
	if cp.result.Code == abi.Error {
		return false, nil, cp.judge(abi.Bind)
	}
	intents := intentsOf(&cp.result, abi.IntentBind)
	want := 0
	if cp.result.Code == abi.Success {
		want = 1
	}
	if len(intents) != want {
		err := fmt.Errorf("want %d intent %s with %s, got %d", want, abi.IntentBind, cp.result.Code, len(intents))
		return false, nil, cp.onFault(abi.Bind, cp.fail(cs.cycle, abi.Bind, &guest.Fault{Cause: guest.BadResult, Err: err}))
	}
	if want == 0 {
		return false, nil, nil
	}
	with, _ = annotations(intents[0]) // it was checked already
	return true, with, nil
}

// annotations are those of an intent bind.
func annotations(v abi.Value) (map[string]string, error) {
	values, _ := v.Get("annotations")
	m := make(map[string]string, values.Len())
	for i := range values.Len() {
		x := values.At(i)
		if x.Kind() != abi.String {
			return nil, fmt.Errorf("annotations: key %q: want a string, got %s", values.Key(i), x.Kind())
		}
		m[values.Key(i)] = x.Text()
	}
	return m, nil
}

// bindPod binds a pod, which the API server does at most once.
func (b *Berth) bindPod(ctx context.Context, pod *v1.Pod, node string, annotations map[string]string) error {
	binding := &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Annotations: annotations},
		Target:     v1.ObjectReference{Kind: "Node", Name: node},
	}
	if api := b.handle.APICacher(); api != nil { // with asynchronous API calls
		done, err := api.BindPod(binding)
		if err != nil {
			return err
		}
		return api.WaitOnFinish(ctx, done)
	}
	return util.BindPod(ctx, b.handle.ClientSet(), binding)
}
