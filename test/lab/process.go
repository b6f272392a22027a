// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// stopTimeout is how long a child may take to end after SIGTERM: a scheduler
// gives its open requests up to five seconds.
const stopTimeout = 10 * time.Second

// Process is a child process whose output goes to a file. Its methods may be
// called concurrently. On Linux the child is killed when this process ends in
// whatever way.
type Process struct {
	// LogPath is the file that has the child's stdout and stderr.
	LogPath string

	cmd  *exec.Cmd
	done chan struct{}
	err  error // how the child ended; set before done is closed
}

// startProcess starts cmd with its output appended to logPath.
func startProcess(cmd *exec.Cmd, logPath string) (*Process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	tie(cmd)
	p := &Process{LogPath: logPath, cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// Linux ends the child when the thread that made it ends, and Go ends
		// threads: hold on to this one.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer log.Close()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// PID is the child's process id, also after its end.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Alive reports whether the child is still running.
func (p *Process) Alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Wait waits for the child's end and returns how it ended: nil for exit code 0,
// an *exec.ExitError otherwise, ctx's error if that ended first.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// LogTail returns the last lines of the child's output, after the file's name.
func (p *Process) LogTail() string { return logTail(p.LogPath) }

// Kill ends the child like a crash would (SIGKILL) and waits until it is gone.
func (p *Process) Kill() error { return p.signal(os.Kill, stopTimeout) }

// Stop asks the child to end (SIGTERM), kills it after ten seconds, and waits
// until it is gone. Stopping an ended child does nothing.
func (p *Process) Stop() error {
	if err := p.signal(syscall.SIGTERM, stopTimeout); err != nil {
		return errors.Join(err, p.Kill())
	}
	return nil
}

func (p *Process) signal(s os.Signal, timeout time.Duration) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("process %d: %w", p.PID(), err)
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(timeout):
		return fmt.Errorf("process %d: still there %v after signal %q", p.PID(), timeout, s)
	}
}
