// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	fwk "k8s.io/kube-scheduler/framework"
)

func TestGate(t *testing.T) {
	h, b, handle := testHost()
	ctx := context.Background()
	for _, name := range []string{"a", "b", "a"} {
		if s := b.PreEnqueue(ctx, testPod(name)); s.Code() != fwk.UnschedulableAndUnresolvable || s.Message() != gateReason {
			t.Errorf("want the pod held, got %v", s)
		}
	}
	h.openGate("test")
	slices.Sort(handle.activated)
	if diff := cmp.Diff([]string{"default/a", "default/b"}, handle.activated); diff != "" {
		t.Errorf("activated: -want +got\n%s", diff)
	}
	if s := b.PreEnqueue(ctx, testPod("c")); !s.IsSuccess() {
		t.Errorf("want the gate open, got %v", s)
	}
	h.openGate("again")
	if len(handle.activated) != 2 {
		t.Errorf("want pods activated once, got %v", handle.activated)
	}
}

// Every pod passes the gate or is activated, whenever it comes.
func TestGateLosesNoPod(t *testing.T) {
	h, b, handle := testHost()
	const workers, pods = 8, 200
	passed := make([]int, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range pods {
				if b.PreEnqueue(context.Background(), testPod(fmt.Sprint(w, "-", i))).IsSuccess() {
					passed[w]++
				}
				if w == 0 && i == pods/2 {
					h.openGate("test")
				}
			}
		})
	}
	wg.Wait()
	sum := len(handle.activated)
	for _, n := range passed {
		sum += n
	}
	if sum != workers*pods {
		t.Errorf("want %d pods passed or activated, got %d", workers*pods, sum)
	}
}
