// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// watchlist holds the directories to watch, by path without links, and in each
// the names that matter; nil if all do. The paths are resolved because a watch
// stays with the directory that a link once led to.
type watchlist map[string]map[string]bool

// newWatchlist is what matters for the policies in root: the directory, those
// of the policies, and every link on the way to them or to their files.
func newWatchlist(root string) watchlist {
	w := watchlist{}
	w.follow(root, maxLinks)
	w.all(root)
	entries, _ := os.ReadDir(root) // the scan reports it
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		if hidden(e.Name()) || !isDir(dir) {
			continue
		}
		if e.Type()&fs.ModeSymlink != 0 {
			w.follow(dir, maxLinks)
		}
		w.all(dir)
		files, _ := os.ReadDir(dir)
		for _, f := range files {
			if f.Type()&fs.ModeSymlink != 0 {
				w.follow(filepath.Join(dir, f.Name()), maxLinks)
			}
		}
	}
	return w
}

// all makes every name in a directory matter.
func (w watchlist) all(dir string) {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		w[real] = nil
	}
}

func (w watchlist) name(dir, name string) {
	names, ok := w[dir]
	switch {
	case !ok:
		w[dir] = map[string]bool{name: true}
	case names != nil:
		names[name] = true
	}
}

// maxLinks is how many links are followed for one path, as Linux does.
const maxLinks = 40

// follow adds each link on an absolute path, and what the path leads to.
func (w watchlist) follow(path string, links int) {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != filepath.Separator {
			continue
		}
		prefix := path[:i]
		target, err := os.Readlink(prefix)
		if err != nil {
			continue // no link
		}
		dir := filepath.Dir(prefix)
		w.name(dir, filepath.Base(prefix))
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		if links > 0 {
			w.follow(filepath.Join(target, path[i:]), links-1)
		}
		return
	}
	w.name(filepath.Dir(path), filepath.Base(path))
}

// matters reports whether an event says that a policy may have changed.
func (w watchlist) matters(event fsnotify.Event) bool {
	if event.Op == fsnotify.Chmod {
		return false
	}
	names := w[filepath.Dir(event.Name)]
	return names == nil || names[filepath.Base(event.Name)]
}

// watchPolicies makes a watcher watch what matters in root now.
func watchPolicies(watcher *fsnotify.Watcher, root string) (watchlist, error) {
	w := newWatchlist(root)
	// What was made while the watches were not there yet shows up only by
	// looking again.
	for range 4 {
		if err := w.apply(watcher); err != nil {
			return w, err
		}
		again := newWatchlist(root)
		if reflect.DeepEqual(w, again) {
			break
		}
		w = again
	}
	return w, nil
}

// apply makes a watcher watch the list and nothing else.
func (w watchlist) apply(watcher *fsnotify.Watcher) error {
	watched := map[string]bool{}
	for _, path := range watcher.WatchList() {
		if _, ok := w[path]; !ok {
			_ = watcher.Remove(path) // it may be gone
		}
		watched[path] = true
	}
	var errs []string
	for path := range w {
		if watched[path] {
			continue
		}
		if err := watcher.Add(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Sprintf("watch %s: %v", path, err))
		}
	}
	if len(errs) > 0 {
		return errors.New(strings.Join(errs, "; "))
	}
	return nil
}
