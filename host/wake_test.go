// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// woken is what a waker did, by the time since the start.
type woken struct {
	start time.Time
	mu    sync.Mutex
	calls []string
}

func (w *woken) activate(pods []*v1.Pod) {
	if len(pods) == 0 {
		return
	}
	names := make([]string, len(pods))
	for i, p := range pods {
		names[i] = p.Name
	}
	slices.Sort(names)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, fmt.Sprint(time.Since(w.start), " ", names))
}

// Wake-ups are gathered, bounded for each policy, and none is lost to an earlier
// one.
func TestWaker(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(h *Host)
		want []string
	}{
		"gathered": {func(h *Host) {
			h.wake(testPod("a"))
			time.Sleep(wakeDelay / 2)
			h.wake(testPod("b"), testPod("a"))
		}, []string{"100ms [a]", "150ms [b]"}},
		"together": {func(h *Host) { h.wake(testPod("a")); h.wake(testPod("b")); h.wakePolicy("p") }, []string{"100ms [a b x y]"}},
		"a policy's are rare": {func(h *Host) {
			for range 20 {
				h.wakePolicy("p")
				time.Sleep(100 * time.Millisecond)
			}
		}, []string{"100ms [x y]", "1.1s [x y]", "2.1s [x y]"}},
		"policies don't wait for each other": {func(h *Host) {
			h.wakePolicy("p")
			time.Sleep(200 * time.Millisecond)
			h.wakePolicy("q")
		}, []string{"100ms [x y]", "300ms [z]"}},
		"later": {func(h *Host) {
			h.wakeAfter(3*time.Second, testPod("a"))
			h.wake(testPod("a"))
		}, []string{"100ms [a]", "3s [a]"}},
		"later takes the place of later": {func(h *Host) {
			h.wakeAfter(3*time.Second, testPod("a"))
			h.wakeAfter(2*time.Second, testPod("a"))
		}, []string{"2s [a]"}},
		"taken back": {func(h *Host) {
			h.wakeAfter(3*time.Second, testPod("a"))
			h.wakeAfter(3*time.Second, testPod("b"))
			h.wake(testPod("b"))
			h.waker.cancelLater("a")
			h.waker.cancelLater("b")
			h.waker.cancelLater("never known")
		}, []string{"100ms [b]"}},
		"a policy's later": {func(h *Host) {
			h.wakePolicyAfter(2500*time.Millisecond, "p")
			h.wakePolicyAfter(5*time.Second, "p")
			h.wakePolicy("p")
		}, []string{"100ms [x y]", "3s [x y]", "6s [x y]"}},
		"a change of a resource": {func(h *Host) { h.resourceChanged("p", nil, "helps y") }, []string{"100ms [y]"}},
		"many changes": {func(h *Host) {
			for range maxChanges + 1 {
				h.resourceChanged("p", nil, "helps nobody")
			}
		}, []string{"100ms [x y]"}},
		"nobody": {func(h *Host) { h.wakePolicy("r"); h.resourceChanged("p", nil, "helps nobody") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := New(Options{})
				w := &woken{start: time.Now()}
				h.waker.activate = w.activate
				h.waker.helps = func(_ string, pod *v1.Pod, changes []resourceChange) bool {
					return slices.ContainsFunc(changes, func(c resourceChange) bool { return c.after == "helps "+pod.Name })
				}
				for pod, policy := range map[string]string{"x": "p", "y": "p", "z": "q"} {
					h.rejections.add(testPod(pod), &entry{name: policy})
				}
				ctx, cancel := context.WithCancel(t.Context())
				go h.waker.run(ctx)
				c.do(h)
				time.Sleep(time.Minute)
				cancel()
				synctest.Wait()
				// Times of a policy's later wake-ups are whole seconds of the clock.
				if diff := cmp.Diff(c.want, w.calls); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
				h.wakePolicy("p") // nobody listens: it doesn't block
				if len(h.waker.policies) > 2 {
					t.Errorf("want what is done forgotten, got %v", h.waker.policies)
				}
			})
		})
	}
}

// A policy names pods; who has a node isn't tried again.
func TestWakeNamed(t *testing.T) {
	h := New(Options{})
	w := &woken{start: time.Now()}
	h.waker.activate = w.activate
	h.waker.find = func(_, name string) *v1.Pod {
		if name == "bound" {
			return nil
		}
		return testPod(name)
	}
	h.waker.forPolicy("p", func(p *duePolicy) {
		p.names = map[string]struct{}{"default/a": {}, "default/bound": {}}
	})
	h.waker.flush(time.Now().Add(time.Second))
	if len(w.calls) != 1 || w.calls[0][len(w.calls[0])-3:] != "[a]" {
		t.Errorf("want a tried again, got %v", w.calls)
	}
}
