// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"os/exec"
	"syscall"
)

// tie makes the kernel kill the child when its parent dies, and keeps the
// terminal's ctrl-C from the child: its parent decides when it ends.
func tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
