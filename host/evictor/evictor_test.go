// SPDX-License-Identifier: Apache-2.0

package evictor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
)

func held(s *stage) bool {
	_, held := s.evictor.Holding("high")
	return held
}

// Victims on several nodes are deleted with the condition set, and the
// preemptor is held until the last one is gone.
func TestHeldUntilGone(t *testing.T) {
	a, b := testPod("a", "n1", 1), testPod("b", "n2", 1)
	s := newStage(t, a, b)
	s.keep()
	s.preempt("n1", Victim{Pod: a, Node: "n1"}, Victim{Pod: b, Node: "n2"})
	s.until("two deletions", func() bool { return len(s.deleted()) == 2 })
	if diff := cmp.Diff([]string{"a", "b"}, s.deleted()); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"a", "b"} {
		p, err := s.client.CoreV1().Pods("default").Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonPreemptionByScheduler, Message: "berth: policy room preempts it to accommodate pod high"}
		if len(p.Status.Conditions) != 1 {
			t.Fatalf("want one condition, got %v", p.Status.Conditions)
		}
		got := p.Status.Conditions[0]
		got.LastTransitionTime = metav1.Time{}
		if got != want {
			t.Errorf("want %v, got %v", want, got)
		}
	}
	s.evictor.Gone("a")
	if why, held := s.evictor.Holding("high"); !held || why != "room: waiting for 1 victims to end" {
		t.Errorf("want it held for b, got %t, %q", held, why)
	}
	if len(s.activated) > 0 {
		t.Errorf("want nobody activated, got %v", s.activated)
	}
	s.evictor.Gone("b")
	s.until("the preemptor", func() bool { return slices.Equal(s.activated, []string{"high"}) })
	if held(s) {
		t.Error("want it free")
	}
}

// As long as the snapshot holds a victim, the preemptor has no new choice.
func TestRemaining(t *testing.T) {
	a := testPod("a", "n1", 1)
	s := newStage(t, a)
	s.preempt("n1", Victim{Pod: a, Node: "n1"})
	s.until("the preemptor", func() bool { return len(s.activated) == 1 })
	there := true
	holds := func(node string, uid types.UID) bool { return there && node == "n1" && uid == "a" }
	if n := s.evictor.Remaining("high", holds); n != 1 {
		t.Errorf("want the victim that the snapshot holds, got %d", n)
	}
	there = false
	if n := s.evictor.Remaining("high", holds); n != 0 {
		t.Errorf("want none, got %d", n)
	}
	if len(s.evictor.records) != 0 {
		t.Error("want nothing kept")
	}
}

// A pod that isn't on its node yet is called back, not deleted; one that can't
// be called back any more is deleted once it is bound.
func TestInMemory(t *testing.T) {
	for name, c := range map[string]struct {
		waiting, prebind map[types.UID]bool
		bound            bool
		deleted          int
		says             string
	}{
		"waits in Permit":         {map[types.UID]bool{"a": true}, nil, false, 0, "it was waiting to be bound"},
		"in PreBind":              {nil, map[types.UID]bool{"a": true}, false, 0, "it was about to be bound"},
		"past recall, then bound": {nil, map[types.UID]bool{"a": false}, true, 1, "Preempted by policy room for pod high on node n1"},
	} {
		t.Run(name, func(t *testing.T) {
			assumed := testPod("a", "n1", 1)
			s := newStage(t, testPod("a", "", 1))
			s.waiting, s.prebind = c.waiting, c.prebind
			if c.bound {
				gets := 0
				s.client.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
					if gets++; gets < 3 {
						return false, nil, nil
					}
					return true, assumed, nil
				})
			}
			s.preempt("n1", Victim{Pod: assumed, Node: "n1"})
			s.until("the preemptor", func() bool { return len(s.activated) == 1 })
			if n := len(s.deleted()); n != c.deleted {
				t.Errorf("want %d deletions, got %d", c.deleted, n)
			}
			if got := <-s.recorder.Events; !strings.Contains(got, "Preempted") || !strings.Contains(got, c.says) {
				t.Errorf("want an event with %q, got %q", c.says, got)
			}
		})
	}
}

// A victim that is on its way out by itself is not deleted.
func TestForgottenVictim(t *testing.T) {
	assumed := testPod("a", "n1", 1)
	s := newStage(t, testPod("a", "", 1)) // neither waiting nor in PreBind nor bound
	s.preempt("n1", Victim{Pod: assumed, Node: "n1"})
	s.until("the preemptor", func() bool { return len(s.activated) == 1 })
	if got := s.deleted(); len(got) > 0 {
		t.Errorf("want nothing deleted, got %v", got)
	}
}

// A pod that took the victim's name is left alone, also if it comes between the
// look and the deletion.
func TestReplacedVictim(t *testing.T) {
	a, other := testPod("a", "n1", 1), testPod("a", "n1", 1)
	other.UID = "other"
	t.Run("before", func(t *testing.T) {
		s := newStage(t, other)
		s.preempt("n1", Victim{Pod: a, Node: "n1"})
		s.until("the preemptor", func() bool { return len(s.activated) == 1 })
		if got := s.deleted(); len(got) > 0 {
			t.Errorf("want nothing deleted, got %v", got)
		}
	})
	for _, verb := range []string{"patch", "delete"} {
		t.Run("before "+verb, func(t *testing.T) {
			s := newStage(t, a)
			s.client.PrependReactor(verb, "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				if err := s.client.Tracker().Update(v1.SchemeGroupVersion.WithResource("pods"), other, "default"); err != nil {
					t.Error(err)
				}
				return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "a", fmt.Errorf("the UID in the precondition is another"))
			})
			s.preempt("n1", Victim{Pod: a, Node: "n1"})
			s.until("the preemptor", func() bool { return len(s.activated) == 1 })
			p, err := s.client.CoreV1().Pods("default").Get(context.Background(), "a", metav1.GetOptions{})
			if err != nil || p.UID != "other" {
				t.Errorf("want the other pod left, got %v, %v", p, err)
			}
			for _, uid := range s.deleted() {
				if uid != "a" {
					t.Errorf("want no deletion but of a's UID, got %s", uid)
				}
			}
		})
	}
}

// A pod that only changed is evicted in its new version.
func TestConflict(t *testing.T) {
	a := testPod("a", "n1", 1)
	s := newStage(t, a)
	conflicts := 2
	s.client.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		conflicts--
		return conflicts >= 0, nil, apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "a", fmt.Errorf("it changed"))
	})
	s.preempt("n1", Victim{Pod: a, Node: "n1"})
	s.until("the preemptor", func() bool { return len(s.activated) == 1 })
	if n := len(s.deleted()); n != 3 {
		t.Errorf("want three tries, got %d", n)
	}
	if _, err := s.client.CoreV1().Pods("default").Get(context.Background(), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("want it gone, got %v", err)
	}
}

// When an eviction fails the preemptor is tried again, and may choose anew at
// once if no other victim is ending.
func TestFailure(t *testing.T) {
	for _, verb := range []string{"patch", "delete"} {
		a := testPod("a", "n1", 1)
		s := newStage(t, a)
		s.fails(verb, 1)
		s.preempt("n1", Victim{Pod: a, Node: "n1"})
		s.until("the preemptor", func() bool { return len(s.activated) == 1 })
		if held(s) {
			t.Errorf("%s: want it free", verb)
		}
		if n := s.evictor.Remaining("high", func(string, types.UID) bool { return true }); n != 0 {
			t.Errorf("%s: want the pod that stays no obstacle, got %d", verb, n)
		}
		if got := <-s.recorder.Events; !strings.Contains(got, "PreemptionFailed policy room: evict pod default/a: the API server is ill") {
			t.Errorf("%s: want an event, got %q", verb, got)
		}
		s.preempt("n1", Victim{Pod: a, Node: "n1"})
		s.until("the preemptor", func() bool { return len(s.activated) == 2 })
		if _, err := s.client.CoreV1().Pods("default").Get(context.Background(), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s: want it evicted at the second try, got %v", verb, err)
		}
		if len(s.evictor.failures) != 0 {
			t.Errorf("%s: want the failure forgotten", verb)
		}
	}
}

// Failures in a row wait longer each time.
func TestFailureBackoff(t *testing.T) {
	a := testPod("a", "n1", 1)
	s := newStage(t, a)
	s.evictor.retry = 50 * time.Millisecond
	s.fails("delete", 3)
	start := time.Now()
	for i := range 3 {
		s.preempt("n1", Victim{Pod: a, Node: "n1"})
		s.until("the preemptor", func() bool { return len(s.activated) == i+1 })
	}
	if d := time.Since(start); d < 350*time.Millisecond {
		t.Errorf("want 50, 100 and 200 ms waited, got %s", d)
	}
}

// Nominations of lower priority to any node of the preemption are taken back,
// others stay.
func TestNominations(t *testing.T) {
	nominee := func(name, node string, priority int32) *v1.Pod {
		p := testPod(name, "", priority)
		p.Status.NominatedNodeName = node
		return p
	}
	target, second, elsewhere, higher := nominee("target", "n1", 5), nominee("second", "n2", 5), nominee("elsewhere", "n3", 5), nominee("higher", "n2", 10)
	a, b := testPod("a", "n1", 1), testPod("b", "n2", 1)
	s := newStage(t, a, b, target, second, elsewhere, higher)
	s.nominated = map[string][]*v1.Pod{"n1": {target}, "n2": {second, higher}, "n3": {elsewhere}}
	s.preempt("n1", Victim{Pod: a, Node: "n1"}, Victim{Pod: b, Node: "n2"})
	s.until("the preemptor", func() bool { return len(s.activated) == 1 })
	got := map[string]string{}
	for _, name := range []string{"target", "second", "elsewhere", "higher"} {
		p, err := s.client.CoreV1().Pods("default").Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got[name] = p.Status.NominatedNodeName
	}
	if diff := cmp.Diff(map[string]string{"target": "", "second": "", "elsewhere": "n3", "higher": "n2"}, got); diff != "" {
		t.Error(diff)
	}
}

// The end of the host ends evictions, and nobody is activated.
func TestClose(t *testing.T) {
	a := testPod("a", "n1", 1)
	s := newStage(t, a)
	s.keep()
	s.preempt("n1", Victim{Pod: a, Node: "n1"})
	s.evictor.Close()
	s.evictor.Gone("a")
	if len(s.activated) > 0 {
		t.Errorf("want nobody activated, got %v", s.activated)
	}
}

// A bound or deleted preemptor leaves nothing behind.
func TestForget(t *testing.T) {
	a := testPod("a", "n1", 1)
	s := newStage(t, a)
	s.fails("delete", 1)
	s.preempt("n1", Victim{Pod: a, Node: "n1"})
	s.until("the preemptor", func() bool { return len(s.activated) == 1 })
	s.evictor.Forget("high")
	if len(s.evictor.records)+len(s.evictor.failures) != 0 {
		t.Errorf("want nothing kept, got %v, %v", s.evictor.records, s.evictor.failures)
	}
}
