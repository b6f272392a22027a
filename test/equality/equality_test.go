// SPDX-License-Identifier: Apache-2.0

package equality

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"
	"pgregory.net/rapid"
)

var full = flag.Bool("full", false, "as many scenes as make equality plays, and its last line")

// Scenes for each subject: fullScenes in make equality, shortScenes in go test.
const (
	fullScenes  = 3000
	shortScenes = 150
)

// total is what the process compared.
var total struct{ policies, clusters, comparisons, differences int }

func TestMain(m *testing.M) {
	flag.Parse()
	set := func(name, value string) {
		given := false
		flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
		if given {
			return
		}
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	set("rapid.seed", strconv.FormatUint(rand.Uint64N(1<<32)+1, 10))
	scenes := shortScenes
	if *full {
		scenes = fullScenes
	}
	set("rapid.checks", strconv.Itoa(scenes))
	fmt.Fprintf(os.Stderr, "equality: seed %s, %s scenes a policy\n", flag.Lookup("rapid.seed").Value, flag.Lookup("rapid.checks").Value)
	code := m.Run()
	if *full {
		fmt.Printf("equality: policies=%d clusters=%d comparisons=%d differences=%d\n", total.policies, total.clusters, total.comparisons, total.differences)
	}
	os.Exit(code)
}

// TestEquality plays random scenes with each port and its original. With -full
// it fails, too, if they are so poor that a plugin hardly says anything.
func TestEquality(t *testing.T) {
	gates := utilfeature.DefaultFeatureGate
	// The SDK compares numbers in tolerations whatever the gate says, since the
	// API server lets them pass only with it.
	featuregatetesting.SetFeatureGateDuringTest(t, gates, features.TaintTolerationComparisonOperators, true)
	for i := range subjects {
		s := &subjects[i]
		t.Run(s.name, func(t *testing.T) {
			r := newRig(t, s)
			total.policies++
			generator := scenes(s.focus)
			said := variety{}
			rapid.Check(t, func(t *rapid.T) {
				sc := generator.Draw(t, "scene")
				answers, differences := r.compare(sc)
				total.clusters++
				total.comparisons += answers
				total.differences += len(differences)
				said.note(r.said)
				if len(differences) > 0 {
					t.Fatalf("%d differences:\n%s", len(differences), strings.Join(differences[:min(len(differences), 10)], "\n"))
				}
			})
			t.Log(said)
			if err := said.check(s); *full && err != nil && !t.Failed() { // few scenes may be poor
				t.Error(err)
			}
		})
	}
}

// variety counts the original's answers by what they are.
type variety struct {
	answers, rejections, scores int
	reasons, values             sets.Set[string]
}

func (v *variety) note(lines []string) {
	if v.reasons == nil {
		v.reasons, v.values = sets.New[string](), sets.New[string]()
	}
	for _, line := range lines {
		v.answers++
		what, answer, _ := strings.Cut(line, ": ")
		switch {
		case strings.HasPrefix(answer, "Unschedulable"):
			v.rejections++
			v.reasons.Insert(answer)
		case strings.HasPrefix(what, "score ") && answer != "0" && answer != "skipped":
			v.scores++
			v.values.Insert(answer)
		}
	}
}

func (v variety) String() string {
	return fmt.Sprintf("%d answers: %d rejections for %d lists of reasons, %d scores of %d values but 0", v.answers, v.rejections, len(v.reasons), v.scores, len(v.values))
}

// check wants one answer in two hundred to be a rejection, and a score, as far as the
// plugin gives them.
func (v variety) check(s *subject) error {
	switch least := v.answers / 200; {
	case s.filters && v.rejections < least:
		return fmt.Errorf("want at least %d rejections, got %d of %d answers", least, v.rejections, v.answers)
	case s.scores && (v.scores < least || len(v.values) < 3):
		return fmt.Errorf("want at least %d scores that aren't 0, of 3 values, got %s", least, v)
	}
	return nil
}
