// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// etcdTimeout bounds the start of etcd, which takes well under a second on an
// idle machine.
const etcdTimeout = 60 * time.Second

type etcdServer struct {
	url  string
	stop func() error
}

// startEtcd runs an etcd of one member whose data, like everything else, is
// thrown away at the end: nothing is synced to disk. Clients and peers reach it
// through sockets in dir, so that only this user can.
func startEtcd(ctx context.Context, dir, logFile string) (*etcdServer, error) {
	// A socket's path is limited to 104 bytes on macOS: keep the names short.
	client := url.URL{Scheme: "unix", Path: filepath.Join(dir, "etcd.sock")}
	peer := url.URL{Scheme: "unix", Path: filepath.Join(dir, "peer.sock")}

	cfg := embed.NewConfig()
	cfg.Dir = filepath.Join(dir, "etcd")
	cfg.ListenClientUrls = []url.URL{client}
	cfg.AdvertiseClientUrls = []url.URL{client}
	cfg.ListenPeerUrls = []url.URL{peer}
	cfg.AdvertisePeerUrls = []url.URL{peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name) // reads AdvertisePeerUrls
	cfg.UnsafeNoFsync = true
	cfg.LogLevel = "warn"
	cfg.LogOutputs = []string{logFile}

	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	select {
	case <-e.Server.ReadyNotify():
		return &etcdServer{url: client.String(), stop: func() error { e.Close(); return nil }}, nil
	case err = <-e.Err():
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-time.After(etcdTimeout):
		err = fmt.Errorf("not ready after %v", etcdTimeout)
	}
	e.Close()
	return nil, fmt.Errorf("etcd: %w", err)
}
