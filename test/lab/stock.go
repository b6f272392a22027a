// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"os"
	"os/exec"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// execVariable tells this executable, started again, what to be.
const (
	execVariable  = "BERTH_LAB_EXEC"
	execScheduler = "kube-scheduler"
)

// MainHook turns this process into the stock kube-scheduler, and never returns,
// if the lab started it as one; otherwise it does nothing. A program that starts
// the stock scheduler calls it first in main, a test first in TestMain. That way
// the stock scheduler is a process of its own, with its own flags, signals and
// feature gates, and needs no second executable.
func MainHook() {
	if os.Getenv(execVariable) != execScheduler {
		return
	}
	os.Unsetenv(execVariable)
	os.Exit(cli.Run(app.NewSchedulerCommand())) //revive:disable-line:deep-exit it is main from here on
}

// stockCommand is the command that MainHook answers.
func stockCommand() (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), execVariable+"="+execScheduler)
	return cmd, nil
}
