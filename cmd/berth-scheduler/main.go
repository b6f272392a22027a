// SPDX-License-Identifier: Apache-2.0

// Command berth-scheduler is kube-scheduler with Berth's plugins built in.
//
// It takes every flag and the same configuration file as the kube-scheduler of
// the Kubernetes version that it is built from, and a few flags of its own
// that begin with --berth-. A configuration enables the plugin by the name
// Berth; without that it schedules as kube-scheduler does.
//
// What differs on purpose: the leader-election lease is called berth-scheduler
// unless named otherwise, the name kube-scheduler needs a flag that says that
// it is meant, and an error is one line on stderr. The exit code is 0 after
// SIGTERM or SIGINT and 1 after an error or a second signal.
package main

import (
	"fmt"
	"os"
	"strings"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics on /metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // kubernetes_build_info on /metrics
)

func main() {
	if err := cli.RunNoErrOutput(newCommand()); err != nil {
		fmt.Fprintln(os.Stderr, "berth-scheduler: "+oneLine(err))
		os.Exit(1)
	}
}

// oneLine is the error's message without line breaks, which YAML errors have.
func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}
