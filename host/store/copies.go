// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// pendingCopy is what is wanted for a key and not written yet.
type pendingCopy struct {
	generation uint64
	remove     bool
	copy       *Copy
	// quarantine is written after copy; nil with setQuarantine lifts it.
	setQuarantine bool
	quarantine    *Quarantine
}

// Load reads all copies, in order of their keys. Which of them stand is the
// caller's to decide by [Copy.Stands]. One that was damaged is logged and left
// out. The error is of the API server; Load doesn't try again.
func (s *Store) Load(ctx context.Context) ([]Copy, error) {
	list, err := s.client.List(ctx, metav1.ListOptions{LabelSelector: copySelector(s.options.Owner)})
	if err != nil {
		return nil, fmt.Errorf("list last good copies in %s: %w", s.options.Namespace, err)
	}
	var copies []Copy
	for i := range list.Items {
		c, err := decode(&list.Items[i])
		if err != nil {
			klog.FromContext(ctx).Error(err, "Last good copy can't be used", "configMap", klog.KObj(&list.Items[i]))
			continue
		}
		copies = append(copies, *c)
	}
	slices.SortFunc(copies, func(a, b Copy) int { return strings.Compare(a.Key, b.Key) })
	return copies, nil
}

// Save makes c the copy of its key. If the copy that is there has the same
// content, its quarantine stays; another version begins without.
func (s *Store) Save(c Copy) {
	s.want(c.Key, func(p *pendingCopy) {
		*p = pendingCopy{copy: &c}
		if s.live != nil {
			s.live[c.Key] = c.UID
		}
	})
}

// SetQuarantine notes with the copy of key that it is in quarantine, or, with
// nil, no longer. Without a copy it does nothing.
func (s *Store) SetQuarantine(key string, q *Quarantine) {
	s.want(key, func(p *pendingCopy) {
		if !p.remove {
			p.setQuarantine, p.quarantine = true, q
		}
	})
}

// Delete removes the copy of key, whose source is gone.
func (s *Store) Delete(key string) {
	s.want(key, func(p *pendingCopy) {
		*p = pendingCopy{remove: true}
		delete(s.live, key)
	})
}

// Prune removes the copies that don't stand among live, the UIDs of the sources
// that exist by key, and the status of policies whose source isn't among them.
// It is called once the sources are listed: what was deleted while no scheduler
// ran stays deleted. Later calls of Save and Delete keep live up to date.
func (s *Store) Prune(live map[string]types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = maps.Clone(live)
	if s.live == nil {
		s.live = map[string]types.UID{}
	}
	if s.leading {
		s.queue.Add(task{kind: pruneCopies})
	}
	s.statusChanged()
}

func (s *Store) want(key string, change func(*pendingCopy)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pending[key]
	change(&p)
	s.generation++
	p.generation = s.generation
	s.pending[key] = p
	if s.leading {
		s.queue.Add(task{writeCopy, key})
	}
}

// writeCopy does what is wanted for a key.
func (s *Store) writeCopy(ctx context.Context, key string) error {
	s.mu.Lock()
	p, ok := s.pending[key]
	s.mu.Unlock()
	if !ok {
		return nil
	}
	err := s.writePending(ctx, key, p)
	if err != nil && !permanent(err) {
		return err
	}
	s.mu.Lock()
	if s.pending[key].generation == p.generation {
		delete(s.pending, key)
	}
	s.mu.Unlock()
	if p.copy != nil && s.options.OnCopy != nil {
		s.options.OnCopy(key, err)
	}
	return err
}

func (s *Store) writePending(ctx context.Context, key string, p pendingCopy) error {
	name := copyName(s.options.Owner, key)
	if p.remove {
		return ignoreNotFound(s.client.Delete(ctx, name, metav1.DeleteOptions{}))
	}
	if p.copy != nil {
		if err := s.writeVersion(ctx, name, p.copy); err != nil {
			return err
		}
	}
	if p.setQuarantine {
		return s.writeQuarantine(ctx, name, p.quarantine)
	}
	return nil
}

func (s *Store) writeVersion(ctx context.Context, name string, c *Copy) error {
	old, err := s.client.Get(ctx, name, metav1.GetOptions{})
	found := err == nil
	if ignoreNotFound(err) != nil {
		return err
	}
	if found {
		if is, err := decode(old); err == nil && is.Key == c.Key && is.UID == c.UID && is.Name == c.Name &&
			is.ModuleDigest == c.ModuleDigest && bytes.Equal(is.PolicyYAML, c.PolicyYAML) {
			return nil
		}
	}
	cm, err := c.encode(s.options.Namespace, s.options.Owner, time.Now())
	if err != nil {
		// An older version must not come back in its place.
		if err := ignoreNotFound(s.client.Delete(ctx, name, metav1.DeleteOptions{})); err != nil {
			return err
		}
		return err
	}
	if !found {
		_, err = s.client.Create(ctx, cm, metav1.CreateOptions{})
		return err
	}
	cm.ResourceVersion, cm.UID = old.ResourceVersion, old.UID
	_, err = s.client.Update(ctx, cm, metav1.UpdateOptions{})
	return err
}

func (s *Store) writeQuarantine(ctx context.Context, name string, q *Quarantine) error {
	var value any // null removes the annotation
	if q != nil {
		text, err := json.Marshal(q)
		if err != nil {
			return err
		}
		value = string(text)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotationQuarantine: value}}})
	if err != nil {
		return err
	}
	_, err = s.client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return ignoreNotFound(err)
}

func (s *Store) pruneCopies(ctx context.Context) error {
	list, err := s.client.List(ctx, metav1.ListOptions{LabelSelector: copySelector(s.options.Owner)})
	if err != nil {
		return err
	}
	for i := range list.Items {
		cm := &list.Items[i]
		c := Copy{Key: cm.Annotations[annotationSource], UID: types.UID(cm.Annotations[annotationSourceUID])}
		s.mu.Lock()
		stands := c.Stands(s.live)
		s.mu.Unlock()
		if stands {
			continue
		}
		// A copy that was written since the list is another matter.
		err := s.client.Delete(ctx, cm.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &cm.UID, ResourceVersion: &cm.ResourceVersion},
		})
		if ignoreNotFound(err) != nil {
			return err
		}
		klog.FromContext(ctx).Info("Last good copy removed: its source is gone", "configMap", klog.KObj(cm), "source", c.Key)
	}
	return nil
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
