// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"context"
	"os"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"

	"github.com/berth-scheduler/berth/host"
)

// Engine is what a run is about: hosts whose policies run on one engine.
type Engine struct {
	Name string
	Host func(host.Options) *host.Host

	cache string // of compiled modules, shared by the run's hosts
}

// cases are all tests of a run.
var cases = []struct {
	name string
	run  func(*testing.T, Engine)
}{
	{"Idle", testIdle},
	{"Arguments", testArgs},
	{"Equal", testEqual},
	{"Gang", testGang},
	{"Placement", testPlacement},
	{"Group preemption", testGroupPreemption},
	{"Several", testSeveral},
	{"Mixing", testMixing},
	{"C1 rejected the first time only", testFirstCall},
	{"C2 state of a policy that skipped", testSkippedState},
	{"C3 score out of range", testScoreRange},
	{"C4 division by zero", testDivision},
	{"C4 C5 events of faults", testFaultEvents},
	{"C5 panic at each point", testPanic},
	{"C6 parallel", testParallel},
	{"C7 requeue", testRequeue},
	{"C8 waits without end", testWaits},
	{"C9 an ignorable bind", testBinder},
	{"Queueing", testQueueing},
	{"Permit", testPermit},
	{"Binding", testBinding},
	{"Gang that reserves", testReservedGang},
	{"C10 endless calls", testEndless},
	{"C10 Go guests", testGoGuest},
	{"C12 bad policies at start, and the start gate", testStart},
	{"Start gate", testGate},
	{"C12 bad update over a restart", testRestart},
	{"C12 bad update", testBadUpdate},
	{"C13 leak", testLeak},
	{"Soak", testSoak},
	{"Strings without end", testStrings},
	{"Strings without end while binding", testStringsWhileBinding},
	{"Many faults", testManyFaults},
	{"Swap", testSwap},
	{"Swap in a running scheduler", testRunningSwap},
	{"Eviction", testEviction},
	{"PostFilter", testPostFilter},
	{"PostFilter faults", testPostFilterFaults},
	{"PostFilter in a running scheduler", testRunningPostFilter},
	{"Names and reports", testNames},
	{"Views", testViews},
	{"Batching", testBatching},
	{"Batch", testBatch},
	{"Quarantine", testQuarantine},
	{"Hostile results", testHostile},
	{"Hostile modules", testLoad},
	{"State that can't be copied", testStateless},
}

// Run runs every case on an engine.
func Run(t *testing.T, e Engine) {
	// Preemption evicts before it answers, so that a test sees its victims.
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.SchedulerAsyncPreemption, false)
	e.cache = t.TempDir()
	if err := os.Chmod(e.cache, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { noneLeft(t) })
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(t, e) })
	}
}

// noneLeft waits until no goroutine of a host runs any more: the worlds are
// closed.
func noneLeft(t *testing.T) {
	var stacks string
	err := wait.PollUntilContextTimeout(context.Background(), 10*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		var b bytes.Buffer
		_ = pprof.Lookup("goroutine").WriteTo(&b, 2)
		for _, stack := range strings.Split(b.String(), "\n\n") {
			if strings.Contains(stack, "berth-scheduler/berth/host") && !strings.Contains(stack, "conformance.noneLeft") {
				stacks = stack
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		t.Errorf("a goroutine of a closed host runs on:\n%s", stacks)
	}
}
