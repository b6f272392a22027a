// SPDX-License-Identifier: Apache-2.0

package data

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// Fetch gets all values of a data set, by key.
type Fetch func(ctx context.Context) (map[string]float64, error)

// maxValues bounds the values of a data set.
const maxValues = 100_000

// Query says where a data set comes from. Equal ones share the values.
type Query struct {
	Source   string // all that Fetch depends on, as text
	Interval time.Duration
	Timeout  time.Duration
	Fetch    Fetch
}

// Fetched are the values of a data set as they were fetched last.
type Fetched struct {
	Values map[string]float64 // must not be changed
	At     time.Time          // when they were asked for
}

// Feed is a version's hold on a data set. Its methods are safe for concurrent
// use.
type Feed struct {
	f    *fetcher
	in   *Feeds
	once sync.Once
}

// Feeds fetch data sets in the background for those who hold them.
type Feeds struct {
	ctx   context.Context
	clock func() time.Time

	mu       sync.Mutex
	fetchers map[fetcherKey]*fetcher
}

type fetcherKey struct {
	source            string
	interval, timeout time.Duration
}

// fetcher fetches one data set while anyone holds it.
type fetcher struct {
	key     fetcherKey
	stop    context.CancelFunc
	holders int           // guarded by Feeds.mu
	tried   chan struct{} // closed after the first try

	mu       sync.RWMutex // guards what follows
	fetched  *Fetched     // nil before the first success
	err      error        // of the last try
	watchers map[*Feed]func(age time.Duration, changed bool)
}

// NewFeeds makes Feeds, which end with ctx.
func NewFeeds(ctx context.Context, clock func() time.Time) *Feeds {
	return &Feeds{ctx: ctx, clock: clock, fetchers: map[fetcherKey]*fetcher{}}
}

// Acquire holds a data set. After each try tell is called with the age of the
// values, negative while there are none, and whether any changed.
func (in *Feeds) Acquire(q Query, tell func(age time.Duration, changed bool)) *Feed {
	key := fetcherKey{q.Source, q.Interval, q.Timeout}
	in.mu.Lock()
	defer in.mu.Unlock()
	f := in.fetchers[key]
	if f == nil {
		ctx, cancel := context.WithCancel(in.ctx)
		f = &fetcher{key: key, stop: cancel, tried: make(chan struct{}), watchers: map[*Feed]func(time.Duration, bool){}}
		in.fetchers[key] = f
		go f.run(ctx, q, in.clock)
	}
	f.holders++
	d := &Feed{f: f, in: in}
	f.mu.Lock()
	f.watchers[d] = tell
	f.mu.Unlock()
	return d
}

// Release gives the data set back. What nobody holds is fetched no longer.
func (d *Feed) Release() {
	d.once.Do(func() {
		d.f.mu.Lock()
		delete(d.f.watchers, d)
		d.f.mu.Unlock()
		d.in.mu.Lock()
		defer d.in.mu.Unlock()
		if d.f.holders--; d.f.holders == 0 {
			d.f.stop()
			delete(d.in.fetchers, d.f.key)
		}
	})
}

// Tried waits until the values were asked for once, or ctx ends.
func (d *Feed) Tried(ctx context.Context) {
	select {
	case <-d.f.tried:
	case <-ctx.Done():
	}
}

// Last is what was fetched last, nil while nothing was.
func (d *Feed) Last() *Fetched {
	d.f.mu.RLock()
	defer d.f.mu.RUnlock()
	return d.f.fetched
}

// Unready is an *Unready if the API server's last answer was that nodes' metrics
// may not be read, or aren't served.
func (d *Feed) Unready() error {
	d.f.mu.RLock()
	defer d.f.mu.RUnlock()
	if err := d.f.err; err != nil && lasting(err) {
		return unready("metrics.k8s.io/v1beta1/nodes", nodeMetrics, err)
	}
	return nil
}

// run fetches at once and then every interval, a tenth earlier or later, so that
// many data sets don't keep step.
func (f *fetcher) run(ctx context.Context, q Query, clock func() time.Time) {
	logger := klog.FromContext(ctx)
	for first := true; ; first = false {
		f.try(ctx, q, clock, logger)
		if first {
			close(f.tried)
		}
		jitter := time.Duration((rand.Float64() - 0.5) / 5 * float64(q.Interval)) //nolint:gosec // no secret
		select {
		case <-ctx.Done():
			return
		case <-time.After(q.Interval + jitter):
		}
	}
}

// try fetches once. A failure keeps the values, which grow old; the log says it
// when it begins, changes and ends.
func (f *fetcher) try(ctx context.Context, q Query, clock func() time.Time, logger klog.Logger) {
	timed, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	asked := clock()
	values, err := q.Fetch(timed)
	if ctx.Err() != nil {
		return
	}
	f.mu.Lock()
	changed := false
	switch {
	case err != nil:
		if f.err == nil || said(f.err) != said(err) {
			logger.Error(err, "Fetch data set", "source", q.Source)
		}
	default:
		if f.err != nil {
			logger.Info("Data set is fetched again", "source", q.Source)
		}
		changed = f.fetched == nil || !equal(f.fetched.Values, values)
		f.fetched = &Fetched{values, asked}
	}
	f.err = err
	age := time.Duration(-1)
	if f.fetched != nil {
		age = max(clock().Sub(f.fetched.At), 0)
	}
	watchers := make([]func(time.Duration, bool), 0, len(f.watchers))
	for _, w := range f.watchers {
		watchers = append(watchers, w)
	}
	f.mu.Unlock()
	for _, tell := range watchers {
		tell(age, changed)
	}
}

func equal(a, b map[string]float64) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}
