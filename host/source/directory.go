// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"k8s.io/klog/v2"
)

// settle is how long a directory must be quiet before it is read, and
// maxUnsettled how long changes may put that off: a module is written in many
// small writes.
const (
	settle       = 100 * time.Millisecond
	maxUnsettled = 2 * time.Second
)

// Directory is the source of the policies in a directory: one in each
// sub-directory, whose files are named like the keys of a ConfigMap. Hidden
// sub-directories and empty ones are left out. Symbolic links are followed, so
// that a volume of a ConfigMap, or a tree that is swapped by moving a link,
// works.
type Directory struct {
	root string
	firstList
	once sync.Once

	known   map[string][sha256.Size]byte // what the sink was told, by key
	missing bool                         // root is gone; reported once
}

var _ Source = (*Directory)(nil)

// NewDirectory returns the source of the policies in root.
func NewDirectory(root string) *Directory {
	return &Directory{root: filepath.Clean(root), firstList: make(firstList), known: map[string][sha256.Size]byte{}}
}

// Run reads the directory and then follows its changes until ctx ends. It is an
// error if the directory can't be read or watched at first. If it vanishes
// later, the policies stay until it is back: an empty directory says that they
// are gone, a missing one says nothing.
func (s *Directory) Run(ctx context.Context, sink Sink) error {
	logger := klog.FromContext(ctx).WithValues("source", "directory", "path", s.root)
	watcher, err := fsnotify.NewBufferedWatcher(64)
	if err != nil {
		return fmt.Errorf("watch %s: %w", s.root, err)
	}
	defer watcher.Close()

	root, err := filepath.Abs(s.root)
	if err != nil {
		return fmt.Errorf("watch %s: %w", s.root, err)
	}
	// Watches come before reading, so that no change falls between.
	watched, err := watchPolicies(watcher, root)
	if err != nil {
		return err
	}
	if err := s.scan(sink, logger); err != nil {
		return err
	}
	s.once.Do(func() { close(s.firstList) })

	var quiet <-chan time.Time // set while there are changes to read
	var deadline time.Time
	changed := func() {
		now := time.Now()
		if quiet == nil {
			deadline = now.Add(maxUnsettled)
		}
		quiet = time.After(min(settle, deadline.Sub(now)))
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, ok := <-watcher.Events:
			if ok && watched.matters(event) {
				changed()
			}
		case err, ok := <-watcher.Errors:
			if ok {
				logger.Info("Changes may have been missed; reading all again", "err", err)
				changed()
			}
		case <-quiet:
			quiet = nil
			if watched, err = watchPolicies(watcher, root); err != nil {
				logger.Error(err, "Later changes of policies may go unnoticed")
			}
			if err := s.scan(sink, logger); err != nil && !s.missing {
				s.missing = true
				logger.Error(err, "Policies stay as they are")
			}
		}
	}
}

// WaitForSync implements Source.
func (s *Directory) WaitForSync(ctx context.Context) error {
	if err := s.wait(ctx); err != nil {
		return fmt.Errorf("read %s: %w", s.root, err)
	}
	return nil
}

// scan reads the directory and tells the sink what differs from what it was
// told.
func (s *Directory) scan(sink Sink, logger klog.Logger) error {
	entries, err := os.ReadDir(s.root)
	if err != nil {
		return fmt.Errorf("policy directory: %w", err)
	}
	s.missing = false
	gone := make(map[string]bool, len(s.known))
	for key := range s.known {
		gone[key] = true
	}
	for _, e := range entries {
		d, ok := s.read(e.Name())
		if !ok {
			continue
		}
		delete(gone, d.Key)
		hash := fingerprint(d)
		if old, ok := s.known[d.Key]; ok && old == hash {
			continue
		}
		s.known[d.Key] = hash
		logger.V(2).Info("Policy found", "key", d.Key, "digest", d.ModuleDigest, "err", d.Err)
		sink.Set(d)
	}
	for key := range gone {
		delete(s.known, key)
		logger.V(2).Info("Policy deleted", "key", key)
		sink.Delete(key)
	}
	return nil
}

// read makes the document of an entry of the directory; false if there is
// nothing to say about it.
func (s *Directory) read(entry string) (Document, bool) {
	path := filepath.Join(s.root, entry)
	if entry == PolicyFile {
		// Easily done by mounting one policy's ConfigMap as the directory.
		name := filepath.Base(s.root)
		return Document{
			Key: "file/.", Name: name, Seen: time.Now(),
			Err: fmt.Errorf("want %s, got %s", filepath.Join(s.root, "NAME", PolicyFile), path),
		}, true
	}
	if hidden(entry) || !isDir(path) {
		return Document{}, false
	}
	files := directoryFiles(path)
	if len(files.Names()) == 0 {
		return Document{}, false
	}
	d := Assemble(entry, files)
	d.Key, d.Seen = "file/"+entry, time.Now()
	return d, true
}

// fingerprint identifies what a document of a directory says.
func fingerprint(d Document) [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%d %s %s %v", len(d.PolicyYAML), d.PolicyYAML, d.ModuleDigest, d.Err)
	return [sha256.Size]byte(h.Sum(nil))
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// directoryFiles are the files of a directory.
type directoryFiles string

func (dir directoryFiles) Names() []string {
	entries, _ := os.ReadDir(string(dir))
	var names []string
	for _, e := range entries {
		if !hidden(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}

func (dir directoryFiles) Read(name string, limit int) ([]byte, error) {
	path := filepath.Join(string(dir), name)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fs.ErrNotExist
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular(): // opening a pipe would wait for a writer
		return nil, fmt.Errorf("%s: want a file, got %s", name, info.Mode())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > limit:
		return nil, fmt.Errorf("%s: want at most %d bytes, got more", name, limit)
	}
	return data, nil
}
