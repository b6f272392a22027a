// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"sync"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/engine"
	"github.com/berth-scheduler/berth/host/module"
	"github.com/berth-scheduler/berth/host/policy"
)

// moduleKey says when two policies can share compiled code.
type moduleKey struct {
	digest string
	memory policy.Bytes
}

// sharedModule is compiled code in use by refs versions.
type sharedModule struct {
	key    moduleKey
	module *module.Module
	desc   *abi.Description
	refs   int
}

// moduleCache keeps compiled modules while a version uses them: a change of
// config, or a second policy with the same bytes, compiles nothing. It is safe
// for concurrent use.
type moduleCache struct {
	engine engine.Engine
	mu     sync.Mutex
	mods   map[moduleKey]*sharedModule
}

// get loads a module and asks it what it is, or takes it from the cache. The
// caller gives it back with put.
func (c *moduleCache) get(ctx context.Context, wasm []byte, digest string, p *policy.Policy) (*sharedModule, error) {
	key := moduleKey{digest, p.Limits.Memory}
	c.mu.Lock()
	if s := c.mods[key]; s != nil {
		s.refs++
		c.mu.Unlock()
		return s, nil
	}
	c.mu.Unlock()
	mod, err := module.Load(ctx, wasm, module.Options{Engine: c.engine, Limits: module.LimitsFor(p)})
	if err != nil {
		return nil, err
	}
	desc, _, err := mod.Describe(ctx)
	if err != nil {
		_ = mod.Close()
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.mods[key]; s != nil { // another loader was quicker
		_ = mod.Close()
		s.refs++
		return s, nil
	}
	if c.mods == nil {
		c.mods = map[moduleKey]*sharedModule{}
	}
	s := &sharedModule{key, mod, desc, 1}
	c.mods[key] = s
	return s, nil
}

// put gives a module back; the last one closes it.
func (c *moduleCache) put(s *sharedModule) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.refs--; s.refs > 0 {
		return
	}
	delete(c.mods, s.key)
	_ = s.module.Close()
}

// linger keeps a module for a while though no version uses it: one will be tried
// soon.
func (c *moduleCache) linger(s *sharedModule) {
	c.mu.Lock()
	s.refs++
	c.mu.Unlock()
	time.AfterFunc(2*lastReload, func() { c.put(s) })
}
