// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
)

// permanent reports whether trying again can't help.
func permanent(err error) bool {
	return errors.Is(err, ErrTooBig) || apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// errorLog logs each kind of failure once until the task works again: an API
// server that is down for an hour is one line, not hundreds.
type errorLog struct {
	mu      sync.Mutex
	failing map[taskKind]map[string]bool // reasons logged
}

func (l *errorLog) report(ctx context.Context, t task, err error) {
	logger := klog.FromContext(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		if len(l.failing[t.kind]) > 0 {
			logger.Info("State is written again", "task", t.kind)
			delete(l.failing, t.kind)
		}
		return
	}
	// A conflict is another's write in between; trying again settles it.
	if apierrors.IsConflict(err) || errors.Is(err, context.Canceled) {
		logger.V(4).Info("State is written once more", "task", t.kind, "key", t.key, "err", err)
		return
	}
	reason := string(apierrors.ReasonForError(err))
	if errors.Is(err, ErrTooBig) {
		reason = t.key
	}
	if l.failing[t.kind][reason] {
		return
	}
	if l.failing[t.kind] == nil {
		l.failing[t.kind] = map[string]bool{}
	}
	l.failing[t.kind][reason] = true
	logger.Error(err, "State can't be written; scheduling goes on", "task", t.kind, "key", t.key, "retried", !permanent(err))
}
