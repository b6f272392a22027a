// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// scriptedLock answers as the test says.
type scriptedLock struct {
	resourcelock.Interface
	record *resourcelock.LeaderElectionRecord // what Get reads
	err    error                              // what each call returns
	delay  time.Duration                      // how long a write takes
	during func()                             // runs in a write
}

func (l *scriptedLock) Identity() string { return "us" }

func (l *scriptedLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return l.record, nil, l.err
}

func (l *scriptedLock) write() error {
	if l.during != nil {
		l.during()
	}
	time.Sleep(l.delay)
	return l.err
}

func (l *scriptedLock) Create(context.Context, resourcelock.LeaderElectionRecord) error {
	return l.write()
}

func (l *scriptedLock) Update(context.Context, resourcelock.LeaderElectionRecord) error {
	return l.write()
}

// leadership is what setLeading was told, in order.
type leadership struct{ told []bool }

func (l *leadership) set(leading bool) { l.told = append(l.told, leading) }

func TestWatchedLock(t *testing.T) {
	ours := resourcelock.LeaderElectionRecord{HolderIdentity: "us", LeaseDurationSeconds: 15}
	theirs := resourcelock.LeaderElectionRecord{HolderIdentity: "them", LeaseDurationSeconds: 15}
	released := resourcelock.LeaderElectionRecord{LeaseDurationSeconds: 1}
	denied := errors.New("denied")

	// A step is one call of the elector, or time that passes. Time is the
	// test's own (synctest).
	type step struct {
		do    string // create, update, get, pass
		with  resourcelock.LeaderElectionRecord
		err   error
		delay time.Duration
	}
	tests := []struct {
		name  string
		steps []step
		want  []bool
	}{
		{name: "nothing", want: nil},
		{name: "create", steps: []step{{do: "create", with: ours}}, want: []bool{true}},
		{name: "create refused", steps: []step{{do: "create", with: ours, err: denied}}, want: nil},
		{name: "take over", steps: []step{{do: "get", with: theirs}, {do: "update", with: ours}}, want: []bool{true}},
		{name: "take-over refused", steps: []step{{do: "get", with: theirs}, {do: "update", with: ours, err: denied}}, want: nil},
		{name: "told once while it is renewed", steps: []step{
			{do: "create", with: ours}, {do: "pass", delay: 10 * time.Second},
			{do: "update", with: ours}, {do: "pass", delay: 10 * time.Second},
			{do: "update", with: ours}, {do: "pass", delay: 10 * time.Second},
		}, want: []bool{true}},
		{name: "a failed renewal ends nothing by itself", steps: []step{
			{do: "create", with: ours}, {do: "pass", delay: 10 * time.Second}, {do: "update", with: ours, err: denied},
		}, want: []bool{true}},
		{name: "expiry", steps: []step{
			{do: "create", with: ours}, {do: "pass", delay: 10 * time.Second},
			{do: "update", with: ours, err: denied}, {do: "pass", delay: 5 * time.Second},
		}, want: []bool{true, false}},
		{name: "again after expiry", steps: []step{
			{do: "create", with: ours}, {do: "pass", delay: time.Minute}, {do: "update", with: ours},
		}, want: []bool{true, false, true}},
		{name: "the duration counts from the start of the write", steps: []step{
			{do: "create", with: ours, delay: 14 * time.Second}, {do: "pass", delay: time.Second},
		}, want: []bool{true, false}},
		{name: "a write that took longer than the lease", steps: []step{
			{do: "create", with: ours, delay: 16 * time.Second},
		}, want: nil},
		{name: "release", steps: []step{
			{do: "create", with: ours}, {do: "get", with: ours}, {do: "update", with: released}, {do: "pass", delay: time.Minute},
		}, want: []bool{true, false}},
		{name: "another holder is read", steps: []step{
			{do: "create", with: ours}, {do: "get", with: theirs}, {do: "pass", delay: time.Minute},
		}, want: []bool{true, false}},
		{name: "our own record is read", steps: []step{{do: "create", with: ours}, {do: "get", with: ours}}, want: []bool{true}},
		{name: "a failed read", steps: []step{{do: "create", with: ours}, {do: "get", err: denied}}, want: []bool{true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner, seen := &scriptedLock{}, &leadership{}
				lock := watchLock(inner, seen.set)
				for i, s := range test.steps {
					inner.err, inner.delay, inner.record = s.err, s.delay, &s.with
					var err error
					switch s.do {
					case "create":
						err = lock.Create(t.Context(), s.with)
					case "update":
						err = lock.Update(t.Context(), s.with)
					case "get":
						_, _, err = lock.Get(t.Context())
					case "pass":
						time.Sleep(s.delay)
						synctest.Wait()
					}
					if !errors.Is(err, s.err) {
						t.Fatalf("step %d, %s: got error %v, want %v", i, s.do, err, s.err)
					}
				}
				if diff := cmp.Diff(test.want, seen.told); diff != "" {
					t.Errorf("setLeading calls (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A standby may start as soon as the API server has the release.
func TestWatchedLockStopsBeforeRelease(t *testing.T) {
	inner, seen := &scriptedLock{}, &leadership{}
	lock := watchLock(inner, seen.set)
	if err := lock.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "us", LeaseDurationSeconds: 15}); err != nil {
		t.Fatal(err)
	}
	inner.during = func() {
		if diff := cmp.Diff([]bool{true, false}, seen.told); diff != "" {
			t.Errorf("setLeading calls before the release is sent (-want +got):\n%s", diff)
		}
	}
	if err := lock.Update(t.Context(), resourcelock.LeaderElectionRecord{LeaseDurationSeconds: 1}); err != nil {
		t.Fatal(err)
	}
}

// The sequences above are guesses about the elector; here is the elector
// itself, with two candidates for one lease.
func TestWatchedLockUnderElector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		start := func(identity string) (*leadership, context.CancelFunc) {
			seen := &leadership{}
			lock := &resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Namespace: "berth-system", Name: defaultLease},
				Client:     client.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
			}
			elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
				Lock:            watchLock(lock, seen.set),
				LeaseDuration:   15 * time.Second,
				RenewDeadline:   10 * time.Second,
				RetryPeriod:     2 * time.Second,
				ReleaseOnCancel: true,
				Callbacks: leaderelection.LeaderCallbacks{
					OnStartedLeading: func(context.Context) {},
					OnStoppedLeading: func() {},
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			go elector.Run(ctx)
			synctest.Wait()
			return seen, cancel
		}

		first, stopFirst := start("first")
		second, stopSecond := start("second")
		time.Sleep(time.Minute)
		synctest.Wait()
		if diff := cmp.Diff([][]bool{{true}, nil}, [][]bool{first.told, second.told}); diff != "" {
			t.Errorf("while the first holds the lease (-want +got):\n%s", diff)
		}
		stopFirst()
		time.Sleep(time.Minute)
		synctest.Wait()
		if diff := cmp.Diff([][]bool{{true, false}, {true}}, [][]bool{first.told, second.told}); diff != "" {
			t.Errorf("after the first was stopped (-want +got):\n%s", diff)
		}
		stopSecond()
		synctest.Wait()
		if diff := cmp.Diff([]bool{true, false}, second.told); diff != "" {
			t.Errorf("after the second was stopped (-want +got):\n%s", diff)
		}
	})
}
