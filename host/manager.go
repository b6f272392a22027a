// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/host/data"
	"github.com/berth-scheduler/berth/host/engine"
	"github.com/berth-scheduler/berth/host/metrics"
	"github.com/berth-scheduler/berth/host/source"
	"github.com/berth-scheduler/berth/host/store"
)

// loaders is how many policies are loaded at once: compiling takes the memory
// and the processor that scheduling needs.
const loaders = 2

// batchAge is how long the framework may still use scores of the version
// before: a swap is reported only after it.
const batchAge = 500 * time.Millisecond

// manager turns documents of the sources into the active set. It loads
// policies off the scheduling path; a cycle sees only the pointer to the set.
type manager struct {
	host   *Host
	ctx    context.Context
	cancel context.CancelFunc
	logger klog.Logger
	engine engine.Engine
	store  *store.Store // nil without a state namespace
	mods   moduleCache
	handle fwk.Handle

	dynamic   dynamic.Interface // nil: no connection to the API server
	informers *data.Informers
	dataSets  *data.Feeds
	reloads   reloads

	live  liveCount
	queue workqueue.TypedInterface[string]
	wg    sync.WaitGroup

	mu        sync.Mutex // guards what follows
	pending   map[string]*source.Document
	slots     map[string]*slot
	unsettled map[string]struct{} // of the first lists
	unsynced  int                 // sources whose first list isn't complete
	serial    uint64
	stamp     uint64
	copies    []store.Copy // last-good copies as they were at start; nil until they are read
}

// startManager starts the sources, the loaders and the store. ctx ends them.
func startManager(ctx context.Context, h *Host, handle fwk.Handle) (*manager, error) {
	wazero, err := engine.NewWazero(ctx, engine.WazeroOptions{CacheDir: h.options.CacheDir})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	m := &manager{
		host: h, ctx: ctx, cancel: cancel, logger: h.logger, engine: wazero,
		queue:     workqueue.NewTyped[string](),
		pending:   map[string]*source.Document{},
		slots:     map[string]*slot{},
		unsettled: map[string]struct{}{},
	}
	m.mods.engine = m.engine
	m.handle, m.dynamic = handle, h.options.Dynamic
	if c := handle.KubeConfig(); m.dynamic == nil && c != nil {
		if m.dynamic, err = dynamic.NewForConfig(c); err != nil {
			return nil, fmt.Errorf("client for declared resources: %w", err)
		}
	}
	logged := klog.NewContext(ctx, m.logger)
	m.informers = data.NewInformers(logged, m.dynamic, handle.SharedInformerFactory())
	m.dataSets = data.NewFeeds(logged, h.clock)
	if h.args.StateNamespace != "" {
		m.store = store.New(store.Options{
			Client:    handle.ClientSet(),
			Namespace: h.args.StateNamespace,
			Recorder:  handle.EventRecorder(),
			OnCopy:    m.copied,
		})
		m.wg.Go(func() { m.store.Run(klog.NewContext(ctx, m.logger)) })
	}
	var sources []source.Source
	if ns := h.args.PolicyNamespace; ns != "" {
		sources = append(sources, source.NewConfigMaps(handle.ClientSet(), ns))
	}
	if dir := h.args.PolicyDir; dir != "" {
		sources = append(sources, source.NewDirectory(dir))
	}
	m.unsynced = len(sources)
	for range loaders {
		m.wg.Go(m.load)
	}
	for _, s := range sources {
		m.wg.Go(func() {
			if err := s.Run(klog.NewContext(ctx, m.logger), m); err != nil {
				m.logger.Error(err, "Source of policies ended")
				m.synced() // its policies will not come: don't hold pods for them
			}
		})
		m.wg.Go(func() {
			if s.WaitForSync(ctx) == nil {
				m.synced()
			}
		})
	}
	if len(sources) == 0 {
		h.openGate("no source of policies")
	}
	return m, nil
}

// Set takes a document from a source.
func (m *manager) Set(d source.Document) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pending[d.Key] = &d
	if !m.host.gate.isOpen() {
		m.unsettled[d.Key] = struct{}{}
		if m.slots[d.Key] == nil {
			m.newSlot(&d)
			m.publish()
		}
	}
	m.queue.Add(d.Key)
}

// Delete takes the news that a document is gone.
func (m *manager) Delete(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pending[key] = nil
	m.queue.Add(key)
}

// synced notes that one source has told its first list.
func (m *manager) synced() {
	m.mu.Lock()
	m.unsynced--
	all := m.unsynced == 0
	m.mu.Unlock()
	if all {
		m.prune()
	}
	m.tryGate()
}

// tryGate opens the start gate when every policy of the first lists is decided
// on.
func (m *manager) tryGate() {
	m.mu.Lock()
	ready := m.unsynced <= 0 && len(m.unsettled) == 0
	m.mu.Unlock()
	if !ready || m.host.gate.isOpen() {
		return
	}
	m.host.openGate("policies are decided on")
}

// load is a loader: it takes keys until the queue is closed. The queue never
// gives one key to two loaders.
func (m *manager) load() {
	for {
		key, closed := m.queue.Get()
		if closed {
			return
		}
		m.process(key)
		m.queue.Done(key)
		m.tryGate()
	}
}

// process brings one policy to what its source last said.
func (m *manager) process(key string) {
	m.mu.Lock()
	doc, known := m.pending[key]
	delete(m.pending, key)
	m.mu.Unlock()
	if !known || m.ctx.Err() != nil {
		return // an earlier round did it, or nobody waits for it
	}
	if doc == nil {
		m.remove(key)
	} else {
		m.apply(doc)
	}
	m.mu.Lock()
	if _, again := m.pending[key]; !again {
		delete(m.unsettled, key)
	}
	m.mu.Unlock()
}

// remove drops a policy whose source is gone. Pods that it turned down are
// free.
func (m *manager) remove(key string) {
	m.mu.Lock()
	s := m.slots[key]
	delete(m.slots, key)
	m.copies = slices.DeleteFunc(slices.Clone(m.copies), func(c store.Copy) bool { return c.Key == key })
	m.publish()
	m.refresh(nil)
	m.mu.Unlock()
	if m.store != nil {
		m.store.Delete(key)
	}
	if s == nil {
		return
	}
	m.reloads.next(key, true)
	m.logger.Info("Policy removed", "policy", s.name, "source", key)
	m.host.activate(m.host.rejections.ofPolicy(s.name))
	if s.current != nil {
		s.current.release()
	}
	m.forget(s.name)
	m.retryNamed(s.name, key)
}

// forget drops what is reported under a name, unless another policy has it by
// now.
func (m *manager) forget(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.slots {
		if s.name == name {
			return
		}
	}
	if m.store != nil {
		m.store.DeleteStatus(name)
	}
	m.host.state.drop(name)
	metrics.Forget(name)
	m.host.events.forget(name)
}

// forgetLast is forget for the metrics of a policy that was removed before its
// last cycles ended.
func (m *manager) forgetLast(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return // at the end of one scheduler another one in the process may use the name
	}
	for _, s := range m.slots {
		if s.name == name {
			return
		}
	}
	metrics.Forget(name)
	m.host.events.forget(name)
}

// retryNamed loads again the other policies that want a name: it became free,
// or is taken now.
func (m *manager) retryNamed(name, but string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, s := range m.slots {
		if key == but || s.doc.Name != name {
			continue
		}
		if _, newer := m.pending[key]; !newer {
			m.pending[key] = s.doc
		}
		m.queue.Add(key)
	}
}

// publish makes the active set anew from the slots. The caller holds mu.
func (m *manager) publish() {
	m.serial++
	entries := make([]*entry, 0, len(m.slots))
	for _, s := range m.slots {
		if e := s.entry(m.host.options.SuspendAll); e != nil {
			entries = append(entries, e)
		}
	}
	m.host.active.Store(newActiveSet(m.serial, entries))
	m.host.reviewHolds()
}

// nextStamp numbers versions.
func (m *manager) nextStamp() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stamp++
	return m.stamp
}

// setLeading starts or stops writing. A new leader writes what it knows.
func (m *manager) setLeading(leading bool) {
	if m.store != nil {
		m.store.SetLeading(leading)
	}
}

// close ends everything and waits for it.
func (m *manager) close() {
	m.cancel()
	m.queue.ShutDown()
	m.wg.Wait()
	m.mu.Lock()
	slots := m.slots
	m.slots = map[string]*slot{}
	m.publish()
	m.mu.Unlock()
	for _, s := range slots {
		if s.current != nil {
			s.current.release()
		}
	}
	if err := m.engine.Close(); err != nil {
		m.logger.Error(err, "Close engine")
	}
}

// prune drops the last-good copies whose sources are gone: a deletion made
// while no scheduler ran counts.
func (m *manager) prune() {
	if m.store == nil {
		return
	}
	m.mu.Lock()
	live := make(map[string]types.UID, len(m.slots)+len(m.pending))
	for key, s := range m.slots {
		live[key] = s.doc.UID
	}
	for key, d := range m.pending {
		if d == nil {
			delete(live, key)
		} else {
			live[key] = d.UID
		}
	}
	m.mu.Unlock()
	m.store.Prune(live)
}

// copied is told how saving a last-good copy ended.
func (m *manager) copied(key string, err error) {
	if err != nil {
		m.logger.Error(err, "Keep last-good copy: a restart won't find this version", "source", key)
	}
}

// storedCopy is the last-good copy of a document from before this process
// started; nil if there is none.
func (m *manager) storedCopy(d *source.Document) (*store.Copy, error) {
	if m.store == nil {
		return nil, nil
	}
	m.mu.Lock()
	copies := m.copies
	m.mu.Unlock()
	if copies == nil {
		var err error
		if copies, err = m.store.Load(m.ctx); err != nil {
			return nil, err
		}
		m.mu.Lock()
		m.copies = append([]store.Copy{}, copies...)
		m.mu.Unlock()
	}
	for i := range copies {
		if c := &copies[i]; c.Key == d.Key && c.UID == d.UID {
			return c, nil
		}
	}
	return nil, nil
}

// describeVersion names a version in messages.
func describeVersion(v *version) string {
	if v.desc.Version == "" {
		return v.module.Digest
	}
	return fmt.Sprintf("%s (%s)", v.desc.Version, v.module.Digest)
}
