// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	configv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"
)

func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Case C14: a second scheduler that shares the default lease name stalls the
// first. The name is read from the effective configuration that the process
// itself writes, so all of upstream's defaulting is in it.
func TestC14LeaseName(t *testing.T) {
	const head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
	const allow = "--berth-allow-kube-scheduler-lease"
	const named = "--leader-elect-resource-name="
	tests := []struct {
		name    string
		file    string // after head; no --config if empty
		args    []string
		want    string // the lease name
		refused string // a part of the error, if it is one
	}{
		{name: "nothing given", want: defaultLease},
		{name: "flag", args: []string{named + "mine"}, want: "mine"},
		{name: "flag says the default", args: []string{named + defaultLease}, want: defaultLease},
		{name: "file without leaderElection", file: "parallelism: 4", want: defaultLease},
		{name: "file with leaderElect only", file: "leaderElection: {leaderElect: true}", want: defaultLease},
		{name: "file with an empty name", file: `leaderElection: {resourceName: ""}`, want: defaultLease},
		{name: "file with a name", file: "leaderElection: {resourceName: theirs}", want: "theirs"},
		{name: "flag over file", file: "leaderElection: {resourceName: theirs}", args: []string{named + "mine"}, want: "mine"},
		{name: "flag with the default over file", file: "leaderElection: {resourceName: theirs}", args: []string{named + defaultLease}, want: defaultLease},

		{name: "the default scheduler's by flag", args: []string{named + "kube-scheduler"}, refused: allow},
		{name: "the default scheduler's in the file", file: "leaderElection: {resourceName: kube-scheduler}", refused: allow},
		{name: "the default scheduler's by flag over file", file: "leaderElection: {resourceName: theirs}", args: []string{named + "kube-scheduler"}, refused: allow},
		{name: "in another namespace too", args: []string{named + "kube-scheduler", "--leader-elect-resource-namespace=other"}, refused: allow},
		{name: "file says no election, flag does", file: "leaderElection: {leaderElect: false, resourceName: kube-scheduler}", args: []string{"--leader-elect"}, refused: allow},
		{name: "another name by flag over the file's", file: "leaderElection: {resourceName: kube-scheduler}", args: []string{named + "mine"}, want: "mine"},

		{name: "allowed", args: []string{named + "kube-scheduler", allow}, want: "kube-scheduler"},
		{name: "allowed in the file", file: "leaderElection: {resourceName: kube-scheduler}", args: []string{allow}, want: "kube-scheduler"},
		{name: "allowed but not asked for", args: []string{allow}, want: defaultLease},
		{name: "no election, no lease to share", args: []string{named + "kube-scheduler", "--leader-elect=false"}, want: "kube-scheduler"},
		{name: "no election in the file", file: "leaderElection: {leaderElect: false, resourceName: kube-scheduler}", want: "kube-scheduler"},

		// Upstream's candidate names the lease kube-scheduler whatever the flags say.
		{name: "coordinated election", args: []string{"--feature-gates=CoordinatedLeaderElection=true"}, refused: "CoordinatedLeaderElection"},
		{name: "coordinated election under another name", args: []string{"--feature-gates=CoordinatedLeaderElection=true", named + "mine", allow}, refused: "CoordinatedLeaderElection"},
		{name: "coordinated election in place of kube-scheduler", args: []string{"--feature-gates=CoordinatedLeaderElection=true", named + "kube-scheduler", allow}, want: "kube-scheduler"},
		{name: "coordinated election but none", args: []string{"--feature-gates=CoordinatedLeaderElection=true", "--leader-elect=false"}, want: defaultLease},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			effective := filepath.Join(t.TempDir(), "effective.yaml")
			args := append([]string{"--master=http://127.0.0.1:1", "--secure-port=0", "--write-config-to=" + effective}, test.args...)
			if test.file != "" {
				args = append(args, "--config="+writeFile(t, head+test.file+"\n"))
			}
			_, stderr, code := execute(t, args...)

			if test.refused != "" {
				if code != 1 || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, test.refused) {
					t.Errorf("got exit code %d and %q, want 1 and one line that contains %q", code, stderr, test.refused)
				}
				return
			}
			if code != 0 {
				t.Fatalf("got exit code %d, want 0: %s", code, stderr)
			}
			data, err := os.ReadFile(effective)
			if err != nil {
				t.Fatal(err)
			}
			var config configv1.KubeSchedulerConfiguration
			if err := yaml.Unmarshal(data, &config); err != nil {
				t.Fatal(err)
			}
			if got := config.LeaderElection.ResourceName; got != test.want {
				t.Errorf("got lease name %q, want %q", got, test.want)
			}
		})
	}
}
