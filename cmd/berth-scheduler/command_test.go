// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// asCommand makes the test binary behave as the command, so that tests see
// exit codes and both streams without linking a second binary.
const asCommand = "BERTH_SCHEDULER_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// process returns the command with the given arguments, not started.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	return cmd
}

// execute runs the command to its end.
func execute(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := process(t, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// flagFacts is all that a user or a script can notice of a flag.
type flagFacts struct {
	Type, Default, Usage, Shorthand, NoOptDefault, Deprecated string
	Hidden                                                    bool
}

func flagsOf(cmd *cobra.Command) map[string]flagFacts {
	facts := map[string]flagFacts{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		facts[f.Name] = flagFacts{
			Type: f.Value.Type(), Default: f.DefValue, Usage: f.Usage, Shorthand: f.Shorthand,
			NoOptDefault: f.NoOptDefVal, Deprecated: f.Deprecated, Hidden: f.Hidden,
		}
	})
	return facts
}

func TestFlagsAreUpstreamsPlusOurs(t *testing.T) {
	want := flagsOf(app.NewSchedulerCommand())
	if len(want) < 50 {
		t.Fatalf("got %d flags of upstream, want all of them", len(want))
	}
	lease := want[leaseFlag]
	lease.Default = defaultLease
	want[leaseFlag] = lease
	help := want["help"]
	help.Usage = "help for " + commandName
	want["help"] = help

	command := newCommand()
	got := flagsOf(command)
	ours := []string{"berth-allow-kube-scheduler-lease", "berth-cache-dir", "berth-suspend-all"}
	for _, name := range ours {
		facts, ok := got[name]
		if !ok || facts.Usage == "" || facts.Default != "false" && facts.Default != "" {
			t.Errorf("flag --%s: got %+v, want it documented and off by default", name, facts)
		}
		if _, taken := want[name]; taken {
			t.Errorf("flag --%s is upstream's too", name)
		}
		if !strings.Contains(command.Long, "--"+name) {
			t.Errorf("flag --%s has no example in the long help", name)
		}
		delete(got, name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
	for name := range maps.Keys(got) {
		if strings.HasPrefix(name, "berth") && !slices.Contains(ours, name) {
			t.Errorf("flag --%s: want it in this test's list", name)
		}
	}
}

func TestProcess(t *testing.T) {
	broken := writeFile(t, "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nleaderElektion: {}\nparalelism: 4\n")
	tests := []struct {
		name           string
		args           []string
		stdout, stderr string // a part, none if empty
		code           int
	}{
		{name: "version", args: []string{"--version"}, stdout: "berth-scheduler "},
		{name: "raw version", args: []string{"--version=raw"}, stdout: "version.Info{"},
		{name: "help", args: []string{"--help"}, stdout: "Berth flags:"},
		{name: "completion", args: []string{"completion", "bash"}, stdout: "__start_berth-scheduler"},
		{name: "completion of a flag", args: []string{"__complete", "--berth-s"}, stdout: "--berth-suspend-all", stderr: "Completion ended"},
		{name: "help of completion", args: []string{"completion", "zsh", "--help"}, stdout: "berth-scheduler completion zsh"},
		{name: "unknown flag", args: []string{"--nonsense"}, stderr: "unknown flag: --nonsense", code: 1},
		{name: "argument", args: []string{"nonsense"}, stderr: `unknown command "nonsense"`, code: 1},
		{name: "feature gate", args: []string{"--feature-gates=Nonsense=true"}, stderr: "Nonsense", code: 1},
		{name: "no such file", args: []string{"--config=/nonexistent/file"}, stderr: "/nonexistent/file", code: 1},
		{name: "broken file", args: []string{"--config=" + broken}, stderr: `unknown field "leaderElektion"`, code: 1},
		{name: "logging", args: []string{"--logging-format=nonsense"}, stderr: "nonsense", code: 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := execute(t, test.args...)
			if code != test.code {
				t.Errorf("got exit code %d, want %d", code, test.code)
			}
			for _, stream := range []struct{ name, got, want string }{
				{"stdout", stdout, test.stdout}, {"stderr", stderr, test.stderr},
			} {
				if !strings.Contains(stream.got, stream.want) || (stream.want == "") != (stream.got == "") {
					t.Errorf("%s: got %q, want it to contain %q", stream.name, stream.got, stream.want)
				}
			}
			if lines := strings.Count(stderr, "\n"); test.code != 0 && lines != 1 {
				t.Errorf("got %d lines of error, want 1: %q", lines, stderr)
			}
		})
	}
}

// A requested termination is no error, as standby, leader or alone. There is
// no API server here, so the process is still waiting for its caches.
func TestTermination(t *testing.T) {
	for _, elect := range []string{"--leader-elect=false", "--leader-elect=true"} {
		t.Run(elect, func(t *testing.T) {
			t.Parallel()
			cmd := process(t, "--master=http://127.0.0.1:1", "--secure-port=0", elect)
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var log []string
			running := false
			lines := bufio.NewScanner(stderr)
			for lines.Scan() {
				log = append(log, lines.Text())
				if !running && strings.Contains(lines.Text(), "Starting Kubernetes Scheduler") {
					running = true
					if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
						t.Error(err)
					}
				}
			}
			if err := cmd.Wait(); err != nil || !running {
				t.Errorf("got %v, running %t, want exit code 0 after SIGTERM; log:\n%s", err, running, strings.Join(log, "\n"))
			}
		})
	}
}
