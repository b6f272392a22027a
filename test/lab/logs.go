// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"

	"k8s.io/klog/v2"
)

// klogFiles is where klog writes. It is a package variable because klog's
// output is one too.
var klogFiles fanOut

// klogTo adds file to where klog writes until the returned function is called.
// The first call takes klog away from the terminal, for good: goroutines of an
// ended server still log now and then.
func klogTo(file string) (detach func() error, err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if err := klogFiles.takeOver(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	klogFiles.add(f)
	return func() error {
		klog.Flush()
		klogFiles.remove(f)
		return f.Close()
	}, nil
}

// fanOut writes to all of its files. Its methods may be called concurrently.
type fanOut struct {
	once sync.Once
	err  error

	mu    sync.Mutex
	files []*os.File
}

func (f *fanOut) takeOver() error {
	f.once.Do(func() {
		flags := flag.NewFlagSet("klog", flag.ContinueOnError)
		klog.InitFlags(flags)
		f.err = errors.Join(
			flags.Set("logtostderr", "false"),
			flags.Set("alsologtostderr", "false"),
			flags.Set("stderrthreshold", "FATAL"),
			flags.Set("one_output", "true"), // else an error is written once a severity
		)
		klog.SetOutput(f)
	})
	return f.err
}

func (f *fanOut) add(file *os.File) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files = append(f.files, file)
}

func (f *fanOut) remove(file *os.File) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.files {
		if f.files[i] == file {
			f.files = append(f.files[:i:i], f.files[i+1:]...)
			return
		}
	}
}

// Write never fails: klog ends the process when its output does.
func (f *fanOut) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, file := range f.files {
		_, _ = file.Write(p)
	}
	return len(p), nil
}

// logTailSize is how much of a log goes into an error: enough for a stack
// trace's head and the lines before it.
const logTailSize = 4 << 10

// logTail returns the last lines of file, or why there are none.
func logTail(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err.Error()
	}
	offset := max(0, info.Size()-logTailSize)
	tail, err := io.ReadAll(io.NewSectionReader(f, offset, logTailSize))
	if err != nil {
		return err.Error()
	}
	if i := bytes.IndexByte(tail, '\n'); offset > 0 && i >= 0 {
		tail = tail[i+1:]
	}
	return fmt.Sprintf("%s:\n%s", file, bytes.TrimSpace(tail))
}
