// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
)

// Defaults of Options.
const (
	DefaultNamespace  = "berth-state"
	DefaultStatusName = "berth-status"
	DefaultOwner      = "berth-scheduler"
)

const (
	// statusInterval bounds how often the status document is written.
	statusInterval = 250 * time.Millisecond
	// statusResync is how often the status document is looked at, so that what
	// others did to it doesn't last.
	statusResync = 30 * time.Second
	// requestTimeout bounds one request. Nobody waits for it but later ones.
	requestTimeout = 15 * time.Second
	// Bounds of the back-off after a request that failed.
	minBackoff = 200 * time.Millisecond
	maxBackoff = 30 * time.Second
	// workers is two so that the status document isn't behind a slow copy.
	workers = 2
)

// Options are the settings of a Store. Client is required.
type Options struct {
	Client kubernetes.Interface
	// Namespace is where state is kept.
	Namespace string
	// StatusName is the name of the status document.
	StatusName string
	// Owner tells schedulers apart that share a namespace: each sees only its
	// own copies. It must stay the same over restarts, and on all replicas.
	Owner string
	// Recorder writes Events; nil writes none.
	Recorder events.EventRecorder
	// OnCopy, if set, is told how saving the copy of a key ended: nil, or an
	// error that isn't tried again, like [ErrTooBig]. It is called by Run.
	OnCopy func(key string, err error)
}

// Store keeps what outlives a process. Its methods may be called by any
// goroutine.
type Store struct {
	options Options
	client  corev1.ConfigMapInterface
	queue   workqueue.TypedRateLimitingInterface[task]
	errors  errorLog

	mu      sync.Mutex
	leading bool
	// copies that are not written yet.
	pending map[string]pendingCopy
	// live are the sources that exist, nil before Prune.
	live map[string]types.UID
	// generation counts changes of pending.
	generation uint64

	status map[string]statusEntry
	// deleted are names that must not be in the document any more.
	deleted map[string]bool
	// statusKnown says that announced tells what the last leader said, so
	// that Events can be written without repeating it.
	statusKnown bool
	announced   map[string]string
	// written is the status document as last read or written, nil if that
	// isn't known.
	written   *v1.ConfigMap
	writtenAt time.Time
}

// task is something to write. Equal tasks are coalesced.
type task struct {
	kind taskKind
	key  string // of writeCopy
}

type taskKind string

const (
	writeStatus taskKind = "write status"
	writeCopy   taskKind = "write last good copy"
	pruneCopies taskKind = "prune last good copies"
)

// New returns a Store that writes nothing before Run and SetLeading.
func New(o Options) *Store {
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	if o.StatusName == "" {
		o.StatusName = DefaultStatusName
	}
	if o.Owner == "" {
		o.Owner = DefaultOwner
	}
	return &Store{
		options: o,
		client:  o.Client.CoreV1().ConfigMaps(o.Namespace),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[task](minBackoff, maxBackoff)),
		errors:    errorLog{failing: map[taskKind]map[string]bool{}},
		pending:   map[string]pendingCopy{},
		status:    map[string]statusEntry{},
		deleted:   map[string]bool{},
		announced: map[string]string{},
	}
}

// Run writes what is wanted until ctx ends. It is called once.
func (s *Store) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() { s.work(ctx) })
	}
	resync := time.NewTicker(statusResync)
	defer resync.Stop()
	for ctx.Err() == nil {
		select {
		case <-resync.C:
			s.resync()
		case <-ctx.Done():
		}
	}
	s.queue.ShutDown()
	wg.Wait()
}

// resync reads the status document again and writes it if it isn't what it
// should be.
func (s *Store) resync() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written = nil
	s.statusChanged()
}

// SetLeading says whether this process is the one that writes. On becoming it,
// everything that differs from what is wanted here is written again.
func (s *Store) SetLeading(leading bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leading == leading {
		return
	}
	s.leading = leading
	s.written, s.statusKnown = nil, false
	if !leading {
		return
	}
	s.queue.Add(task{kind: writeStatus})
	if s.live != nil {
		s.queue.Add(task{kind: pruneCopies})
	}
	for key := range s.pending {
		s.queue.Add(task{writeCopy, key})
	}
}

func (s *Store) work(ctx context.Context) {
	for {
		t, shutdown := s.queue.Get()
		if shutdown {
			return
		}
		s.do(ctx, t)
		s.queue.Done(t)
	}
}

func (s *Store) do(ctx context.Context, t task) {
	s.mu.Lock()
	leading := s.leading
	s.mu.Unlock()
	if !leading {
		s.queue.Forget(t) // SetLeading adds it again
		return
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var err error
	switch t.kind {
	case writeStatus:
		err = s.writeStatus(ctx)
	case writeCopy:
		err = s.writeCopy(ctx, t.key)
	case pruneCopies:
		err = s.pruneCopies(ctx)
	}
	s.errors.report(ctx, t, err)
	if err != nil && !permanent(err) {
		s.queue.AddRateLimited(t)
		return
	}
	s.queue.Forget(t)
}
