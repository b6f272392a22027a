// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/test/lab"
)

// tools are the commands that an operator types: kubectl, of the version that
// go.mod pins, and berth. They are built for the tests that need them.
type tools struct {
	w              *world
	dir            string
	kubectl, berth string
}

func newTools(w *world) *tools {
	w.t.Helper()
	dir := w.t.TempDir()
	c := &tools{w: w, dir: dir, kubectl: filepath.Join(dir, "kubectl"), berth: filepath.Join(dir, "berth")}
	w.check(goBuild(nil, "-o", c.kubectl, "k8s.io/kubernetes/cmd/kubectl"))
	w.check(goBuild(nil, "-o", c.berth, "../../cmd/berth"))
	return c
}

// run runs a command and returns what it printed to stdout, to stderr, and
// whether it succeeded.
func (c *tools) run(stdin []byte, name string, args ...string) (stdout, stderr string, ok bool) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(c.w.ctx, name, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &out, &errs
	err := cmd.Run()
	return out.String(), errs.String(), err == nil
}

// must is run where anything but success is a failure.
func (c *tools) must(stdin []byte, name string, args ...string) string {
	c.w.t.Helper()
	stdout, stderr, ok := c.run(stdin, name, args...)
	if !ok {
		c.w.t.Fatalf("%s %s: %.2000s", filepath.Base(name), strings.Join(args, " "), stderr)
	}
	return stdout
}

func (c *tools) file(name string, content []byte) string {
	c.w.t.Helper()
	path := filepath.Join(c.dir, name)
	c.w.check(os.WriteFile(path, content, 0o600))
	return path
}

// What the documentation tells an operator to type works: a ConfigMap made by
// kubectl create from the two files and a label, and one made by berth pack and
// applied by the server. A client-side apply is refused, as the help says.
func TestKubectl(t *testing.T) {
	w := newWorld(t)
	w.start(lab.SchedulerOptions{})
	c := newTools(w)

	yaml := c.file("policy.yaml", []byte(poolsYAML(ruleOne)))
	module := c.file("policy.wasm.gz", gzipped(t, modules[v1]))
	if out := c.must(nil, c.berth, "check", yaml, "--module", module); !strings.Contains(out, "ok") {
		t.Errorf("berth check: want ok, got %q", out)
	}
	c.must(nil, c.kubectl, "-n", w.policies(), "create", "configmap", "team-pools", "--from-file="+yaml, "--from-file="+module)
	c.must(nil, c.kubectl, "-n", w.policies(), "label", "configmap", "team-pools", "berth.dev/policy=")
	w.active("team-pools", v1)
	w.createPods("created", 6, "team-a", "team-b")
	w.follow(w.running("created", 6), ruleOne)

	c.file("policy.yaml", []byte(poolsYAML(ruleTwo)))
	raw := c.file("policy.wasm", modules[v2])
	packed := []byte(c.must(nil, c.berth, "pack", "--pin", "-n", w.policies(), yaml, raw))
	if _, stderr, ok := c.run(packed, c.kubectl, "apply", "-f", "-"); ok || !strings.Contains(stderr, "Too long") {
		t.Errorf("client-side apply: want it refused for its annotation, got %.2000q", stderr)
	}
	c.must(packed, c.kubectl, "apply", "--server-side", "--force-conflicts", "-f", "-")
	w.active("team-pools", v2)
	w.createPods("packed", 6, "team-a", "team-b")
	w.follow(w.running("packed", 6), ruleTwo)
}

// What the scheduler says of a wrong policy, berth check said before.
func TestCheckAgrees(t *testing.T) {
	w := newWorld(t)
	w.start(lab.SchedulerOptions{})
	c := newTools(w)
	module := c.file("policy.wasm", modules[v1])
	for _, tt := range []struct{ name, yaml string }{
		{"unknown-field", "apiVersion: berth.dev/v1alpha1\nkind: Policy\nweigth: 3\n"},
		{"bad-config", "apiVersion: berth.dev/v1alpha1\nkind: Policy\nconfig: {pools: 3}\n"},
		{"other-digest", "apiVersion: berth.dev/v1alpha1\nkind: Policy\ndigest: sha256:" + strings.Repeat("0", 64) + "\nconfig: {pools: {a: [b]}}\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			yaml := c.file("policy.yaml", []byte(tt.yaml))
			stdout, stderr, ok := c.run(nil, c.berth, "check", yaml, "--module", module)
			said := stdout + stderr
			if ok {
				t.Fatalf("berth check: want a problem, got %q", said)
			}
			w.put(tt.name, tt.yaml, modules[v1])
			var st status
			w.until("the status of "+tt.name, func() bool { st, _ = w.status(tt.name); return st.State == "Failed" })
			if !strings.Contains(said, st.Message) {
				t.Errorf("want the same answer\nscheduler: %s\nberth check: %s", st.Message, said)
			}
		})
	}
}
