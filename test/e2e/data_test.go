// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/berth-scheduler/berth/test/lab"
)

const gatesCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gates.e2e.berth.dev}
spec:
  group: e2e.berth.dev
  scope: Namespaced
  names: {kind: Gate, listKind: GateList, plural: gates, singular: gate}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

const gatesRights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: e2e-gates}
rules:
- apiGroups: [e2e.berth.dev]
  resources: [gates]
  verbs: [list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: e2e-gates}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: e2e-gates}
subjects:
- {kind: ServiceAccount, name: berth-scheduler, namespace: berth-system}
`

// gate sets a gate of the pods' namespace.
func (g *gallery) gate(name string, open bool) {
	g.t.Helper()
	g.apply(fmt.Sprintf("apiVersion: e2e.berth.dev/v1\nkind: Gate\nmetadata: {name: %s, namespace: %s, labels: {kind: door}}\nspec: {open: %t}\n", name, g.name, open))
}

// A policy reads objects of a CustomResourceDefinition, a query's values and what
// it kept. What it may not read it says in one line, and it comes into force by
// itself when the definition and the right are there; what it reads wakes the
// pods that it turned down.
func TestReader(t *testing.T) {
	var hot atomic.Bool
	prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.FormValue("query"); got != "avg by (node) (heat)" {
			t.Errorf("want the query of policy.yaml, got %q", got)
		}
		degrees := 20
		if hot.Load() {
			degrees = 90
		}
		_, _ = fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"node":"reader-000"},"value":[1,"%d"]}]}}`, degrees)
	}))
	defer prometheus.Close()

	g := openGallery(t, gallerySetup{Nodes: lab.Nodes("reader", 1)})
	g.put("reader", fmt.Sprintf(`
apiVersion: berth.dev/v1alpha1
kind: Policy
grants: [{resource: e2e.berth.dev/v1/gates}]
dataSets:
- name: heat
  intervalSeconds: 5
  prometheus: {url: %q, query: "avg by (node) (heat)", label: node}
`, prometheus.URL), g.buildAt("../conformance/guests/reader"))
	failed := func(parts ...string) {
		t.Helper()
		var last status
		g.until(fmt.Sprintf("reader to be Failed with %q", parts), func() bool {
			last, _ = g.status("reader")
			for _, p := range parts {
				if !strings.Contains(last.Message, p) {
					return false
				}
			}
			return last.State == "Failed"
		})
		if strings.Contains(last.Message, "\n") {
			t.Errorf("want one line, got %q", last.Message)
		}
	}
	// The API server asks for the right first: it doesn't tell a stranger what exists.
	failed("resource e2e.berth.dev/v1/gates", fmt.Sprintf("system:serviceaccount:%s:berth-scheduler", g.policies()), `{apiGroups: ["e2e.berth.dev"], resources: [gates], verbs: [list, watch]}`)
	g.apply(gatesRights)
	failed("resource e2e.berth.dev/v1/gates", "CustomResourceDefinition")
	g.apply(gatesCRD)
	g.active("reader", "1")

	// What was changed just now may be news to the scheduler: pods are created
	// until one is turned down for it. An object's change and its end wake the pod.
	next := 0
	pending := func(reason string) (name string) {
		t.Helper()
		g.until("a pod to be told "+reason, func() bool {
			next++
			name = fmt.Sprintf("pod-%d", next)
			g.create(g.pod(name, "10m"))
			told := ""
			g.until(name+" to be decided on", func() bool {
				pod, err := cluster.Client.CoreV1().Pods(g.name).Get(g.ctx, name, metav1.GetOptions{})
				g.check(err)
				for _, c := range pod.Status.Conditions {
					told = c.Message
				}
				return lab.Bound(pod) || strings.Contains(told, reason)
			})
			return strings.Contains(told, reason)
		})
		return name
	}
	g.gate("front", false)
	first := pending("reader: a gate is closed")
	g.gate("front", true)
	g.bound(first)
	// What the policy kept turns the next one down, until it expires.
	second := pending("reader: a pod was bound just now")
	g.bound(second)

	g.gate("back", false)
	third := pending("reader: a gate is closed")
	client, err := dynamic.NewForConfig(cluster.Config)
	g.check(err)
	g.check(client.Resource(schema.GroupVersionResource{Group: "e2e.berth.dev", Version: "v1", Resource: "gates"}).Namespace(g.name).Delete(g.ctx, "back", metav1.DeleteOptions{}))
	g.bound(third)

	// Values that are fetched.
	hot.Store(true)
	fourth := pending("reader: the node is hot")
	hot.Store(false)
	g.bound(fourth)
}

// buildAt builds the guest of a folder.
func (g *gallery) buildAt(folder string) []byte {
	g.t.Helper()
	command, err := berth()
	g.check(err)
	file := filepath.Join(g.t.TempDir(), "guest.wasm")
	if out, err := exec.CommandContext(g.ctx, command, "build", "-o", file, folder).CombinedOutput(); err != nil {
		g.t.Fatalf("berth build %s: %v\n%s", folder, err, out)
	}
	wasm, err := os.ReadFile(file)
	g.check(err)
	return wasm
}
