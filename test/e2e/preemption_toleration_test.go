// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/test/lab"
)

// A pod of a class that tolerates preemption outlives one that doesn't, until its
// time is over, or somebody comes who needn't wait.
func TestPreemptionToleration(t *testing.T) {
	g := openGallery(t, gallerySetup{Nodes: lab.Nodes("tolerant", 1, lab.Capacity("cpu", "2"))})
	training := func(seconds string) {
		g.apply(fmt.Sprintf(`apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata:
  name: training
  annotations: {berth.dev/minimum-preemptable-priority: "100000", berth.dev/toleration-seconds: %q}
value: 1000
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: scratch}
value: 500
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: normal}
value: 5000
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 100000
`, seconds))
	}
	t.Cleanup(func() {
		for _, name := range []string{"training", "scratch", "normal", "urgent"} {
			_ = cluster.Client.SchedulingV1().PriorityClasses().Delete(context.Background(), name, metav1.DeleteOptions{})
		}
	})
	training("3600")
	g.load("preemption-toleration", nil)
	g.create(g.pod("scratch", "1", class("scratch")), g.pod("training", "1", class("training")))
	g.bound("scratch")
	g.bound("training")

	g.create(g.pod("normal", "1", class("normal")))
	g.gone("scratch")
	g.bound("normal")

	// Nobody but training is less important now.
	g.create(g.pod("waits", "1", class("normal")))
	g.says("waits", "preemption-toleration: preemption: the pods in the way still tolerate it")
	g.create(g.pod("urgent", "1", class("urgent")))
	g.gone("training")
	g.bound("urgent")

	// Room for training again, whose time is over soon: who waits hears of it.
	g.delete("waits", "normal")
	g.create(g.pod("training-again", "1", class("training")))
	g.bound("training-again")
	g.create(g.pod("waits-again", "1", class("normal")))
	g.says("waits-again", "still tolerate it")
	training("10")
	g.gone("training-again")
	g.bound("waits-again")
}
