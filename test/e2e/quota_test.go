// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/test/lab"
)

// Quota lends what a namespace doesn't use, and takes it back for it.
func TestQuota(t *testing.T) {
	g := openGallery(t, gallerySetup{Nodes: lab.Nodes("quota", 2, cores("2"))})
	g.load("quota", nil)
	other := g.name + "-other"
	_, err := cluster.Client.CoreV1().Namespaces().Create(g.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other}}, metav1.CreateOptions{})
	g.check(err)
	for _, namespace := range []string{g.name, other} {
		g.apply(fmt.Sprintf(`
apiVersion: berth.dev/v1alpha1
kind: Quota
metadata: {name: quota, namespace: %s}
spec:
  min: {cpu: "2"}
  max: {cpu: "3"}
`, namespace))
	}
	in := func(namespace string) func(p *corev1.Pod) { return func(p *corev1.Pod) { p.Namespace = namespace } }

	// The other namespace has its minimum, borrows one, and has reached its maximum.
	for i := range 4 {
		g.create(g.pod(fmt.Sprintf("borrower-%d", i), "1", in(other)))
	}
	placed := func(namespace string) (n int, pending string) {
		list, err := cluster.Client.CoreV1().Pods(namespace).List(g.ctx, metav1.ListOptions{})
		g.check(err)
		for _, p := range list.Items {
			if p.Spec.NodeName != "" {
				n++
			}
			for _, c := range p.Status.Conditions {
				if p.Spec.NodeName == "" && c.Type == corev1.PodScheduled {
					pending = c.Message
				}
			}
		}
		return n, pending
	}
	g.until("the quota's maximum to be reached", func() bool {
		n, pending := placed(other)
		return n == 3 && strings.Contains(pending, "quota: the namespace's quota is used up")
	})

	// This one needs its minimum: what was borrowed is given back.
	g.create(g.pod("owner-0", "1"))
	g.bound("owner-0")
	g.create(g.pod("owner-1", "1"))
	g.bound("owner-1")
	g.until("one borrower to be evicted", func() bool {
		n, _ := placed(other)
		return n == 2
	})
	// It may not borrow now: the other one uses its minimum.
	g.create(g.pod("owner-2", "1"))
	g.says("owner-2", "quota: the namespace's minimum is used up, and no other leaves anything to borrow")
}
